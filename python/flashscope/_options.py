"""The options of the commands, as in `flashscope COMMAND --help`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from os import PathLike
from typing import Literal, Union

from typing_extensions import TypedDict

from ._workloads import Workload

Size = Union[int, str]
"""Bytes, or a text such as ``4KiB``."""
Time = Union[timedelta, str]
"""A time, or a text such as ``1h30m``."""
Share = Union[float, str]
"""A share such as ``0.02``, or a text such as ``2%``."""
Path = Union[str, PathLike[str]]


class BenchOptions(TypedDict, total=False):
    """Options of `flashscope bench`."""

    resume: Path
    """Resume this interrupted result at the run where it stopped"""
    plan: Path
    """Run this plan, as `flashscope plan` saved it"""
    only: Sequence[str | int]
    """Run only these micro-benchmarks, by name and separated by commas"""
    trace: str | Workload
    """Play a trace instead of the micro-benchmarks: a file, with any field of a trace after `?`"""
    fio_job: Path
    """Run a job file of fio instead of the micro-benchmarks"""
    test: str | int
    """Run a test of the SNIA Solid State Storage Performance Test Specification (PTS 2.0) instead of micro-benchmarks"""
    round: Time
    """Length of each run in a round of --test"""
    max_rounds: int
    """Maximum number of rounds of --test [default: 25, or 1440 for pts-write-saturation]"""
    queue_depth: int
    """IOs in flight in --test; always 1 in pts-latency [default: 128 (32 for each of four threads), or fewer if the drive accepts fewer]"""
    grid: bool
    """Measure uniform writes instead of the micro-benchmarks, over a grid of mean lengths and of free space"""
    grid_lengths: Sequence[int]
    """Mean lengths of --grid in pages, separated by commas [default: 1,4,16,64,256]"""
    grid_spaces: Sequence[Share]
    """Free space of --grid relative to the space written, separated by commas [default: the drive's own, then every 1, 2 and 5 times a power of ten up to 100, as far as the longest writes allow]"""
    grid_page: Size
    """Page size of --grid"""
    state: Literal["random", "sequential", "purged", "formatted", "sanitized", "steady", "keep"]
    """The state to bring the drive into first [default: random; keep with --read-only or --fio-job; purged with --test; sequential with --grid]"""
    capacity_inside: Size
    """Bytes of flash in the drive, including free space, for --grid and --state steady [default: as the simulated drive reports; for a real drive the next usual size, such as 64GiB for 64 GB]"""
    precision: Share
    """Required precision of each run's mean: half the width of its interval, relative to the mean"""
    confidence: Share
    """Confidence level of the intervals"""
    statistic: str | int
    """The statistic that must reach the precision: `mean`, or a percentile such as `p99` or `p99.9`"""
    max_ios: int
    """Maximum number of counted IOs in a run, even if the run has not reached its precision"""
    max_time: Time
    """Maximum duration of a run"""
    max_bytes: Size
    """Maximum number of bytes that a run writes [default: no limit]"""
    repeats: int
    """Number of repeats of each run, each with different random addresses"""
    io_count: str | int
    """Set the number of IOs in a run (IOCount) instead of finding it by measurement: one number, or some of SR, RR, SW, RW"""
    io_ignore: str | int
    """IOs at the start of a run that the statistics leave out (IOIgnore) [default: found by the preparation, or 0 with --io-count]"""
    run_pause: Time
    """Pause between runs [default: found by the preparation; 1s with --io-count; none with --test, --fio-job and --grid]"""
    preparation_io_count: int
    """IOs in each run of the preparation"""
    io_size: Size
    """Size of an IO (uFLIP's IOSize), except in experiments that vary it"""
    burst_pause: Time
    """Pause between bursts"""
    target_offset: Size
    """Use the drive from this byte on (TargetOffset)"""
    target_size: Size
    """Use this much of the drive (TargetSize) [default: all of it]"""
    seed: int
    """Seed of all random choices, unless the workload has its own; the same seed gives the same IOs"""
    budget_time: Time
    """Time limit, on the clock of the drive; runs that do not fit are left out"""
    budget_bytes: Size
    """Limit on bytes written, including those that bring the drive into its state"""
    on_error: Literal["continue", "stop"]
    """Effect of an IO error on the runs after it"""
    read_only: bool
    """Open the drive for reading only, and run only experiments that do not write"""
    memory: Size
    """Limit the total memory of simulated drives; a drive that needs more is refused [default: half of this machine's memory]"""
    keep: bool
    """Keep the file that flashscope created as a drive; by default it is removed once the plan is complete"""
    destroy_data_on: str | int
    """Confirm that all data on the drive may be destroyed, by typing its serial number or path"""
    ignore_open_by_others: bool
    """Write even if another program has the drive open for writing, as long as that program holds no lock on it"""
    output: Path
    """Write the result to this folder, which must not exist yet [default: named after the drive and the time]"""


class CompareOptions(TypedDict, total=False):
    """Options of `flashscope compare`."""

    fail_on_regression: Share
    """Exit with status 3 if a latency, a rate or write amplification is worse than that of the baseline by more than this share, beyond uncertainty"""


class ImportOptions(TypedDict, total=False):
    """Options of `flashscope import`."""

    logs: Path
    """The folder of fio's logs [default: the folder of FILE]"""
    smart_before: Path
    """The output of `nvme smart-log --output-format=json` before fio ran"""
    smart_after: Path
    """The output of the same command after fio ran, to show the change"""
    output: Path
    """Write the result to this folder, which must not exist yet [default: NAME.flashscope for NAME.json, in the current folder]"""


class PredictOptions(TypedDict, total=False):
    """Options of `flashscope predict`."""

    memory: Size
    """Limit the total memory of simulated drives; a drive that needs more is refused [default: half of this machine's memory]"""
    model: str | int
    """The model [default: the best for the drive]; `--list` shows all of them"""
    grid: Path
    """Predict from measurements: a result of `flashscope bench DRIVE --grid`, of any drive"""
    like: Literal["bast", "fast", "page-map"]
    """FTL of the drive of --grid: log blocks that each serve one data block, log blocks for any data block, or a page map [default: the FTL of a simulated drive, or fast for a real drive]"""
    block_size: Size
    """Size of an erase block of the drive of --grid [default: as the drive or the profile states it, or 1 MiB]"""
    ranges: Literal["whole", "written"]
    """With a model of uniform writes: count the complete logical block of a range as its space, or only the written pages"""
    stretches: Literal["log-list", "stationary", "own-time"]
    """With a model of uniform writes: divide time into intervals as long as the log list, for all ranges together or for each range separately, or at changes of the workload"""
    ios: int
    """IOs in a pass of an endless workload; passes repeat until the prediction has converged"""
    confidence: Share
    """Confidence level of the intervals. The default is lower than that of `bench`: intervals at 95 % need more validation cases than most models have"""
    compare: bool
    """Simulate the same workload as well, and show the error of the prediction"""
    lifetime: bool
    """Predict the lifetime of the drive, and the bytes that can still be written to it"""
    per_day: Size
    """Bytes that the host writes in a day [default: the rate of the trace]"""
    worn: int
    """Erases of each block so far"""
    seed: int
    """Seed of all random choices, unless the workload has its own; the same seed gives the same IOs"""
    output: Path
    """Write the result to this folder, which must not exist yet [default: none, nothing is written]"""


class ProbeOptions(TypedDict, total=False):
    """Options of `flashscope probe`."""

    only: Sequence[str | int]
    """Probe only these parameters, by name and separated by commas, and the parameters that they depend on"""
    budget_time: Time
    """Time limit, on the clock of the drive; runs that do not fit are left out"""
    read_only: bool
    """Open the drive for reading only, and run only experiments that do not write"""
    seed: int
    """Seed of all random choices, unless the workload has its own; the same seed gives the same IOs"""
    memory: Size
    """Limit the total memory of simulated drives; a drive that needs more is refused [default: half of this machine's memory]"""
    profile: Path
    """Save the findings as the profile of a simulated drive, for `sim:`"""
    destroy_data_on: str | int
    """Confirm that all data on the drive may be destroyed, by typing its serial number or path"""
    ignore_open_by_others: bool
    """Write even if another program has the drive open for writing, as long as that program holds no lock on it"""
    budget_bytes: Size
    """Limit on bytes written, including those that fill the drive [default: 10 times its capacity]"""
    output: Path
    """Write the result to this folder, which must not exist yet [default: named after the drive and the time]"""


class QueryOptions(TypedDict, total=False):
    """Options of `flashscope query`."""

    limit: int
    """The number of slowest IOs to show"""


class SimulateOptions(TypedDict, total=False):
    """Options of `flashscope simulate`."""

    ios: int
    """IOs to measure [default: 1000000, or all of a workload that ends]"""
    warmup: str | int
    """Run the workload before it is measured: `steady`, `none`, a number of IOs, or a number of times the capacity, as in `10x` [default: steady, or none for a workload that ends]"""
    queue_depth: int
    """IOs in flight at once, unless the workload sets it [default: 1, or in an open loop as many as the drive accepts]"""
    seed: int
    """Seed of all random choices, unless the workload has its own; the same seed gives the same IOs"""
    duration: Time
    """Time to measure, in simulated time"""
    fill: Literal["none", "sequential", "random", "steady"]
    """Contents of the drive at the start"""
    tenant: str | int
    """Run several workloads at once: NAME=WORKLOAD or NAME:CLASS=WORKLOAD, once for each tenant"""
    weights: str | int
    """Commands that the classes high, medium and low may send in a round [default: round robin without classes]"""
    burst: int
    """Maximum number of commands that the drive fetches from a queue in each turn"""
    no_alone: bool
    """Do not run each tenant alone as well: saves time, but there are no slowdowns and no fairness"""
    memory: Size
    """Limit the total memory of simulated drives; a drive that needs more is refused [default: half of this machine's memory]"""
    observe: Sequence[str | int]
    """Observe the drive during the measurement: names of observers, separated by commas"""
    trace_events: Path
    """Write every flash command and every request to this file, in the format that ui.perfetto.dev and chrome://tracing open"""
    trace_from: Time
    """Start the trace this long after the start of the measurement, in simulated time [default: at once]"""
    trace_for: Time
    """Length of the trace, in simulated time [default: 100ms]"""
    output: Path
    """Write the result to this folder, which must not exist yet [default: none, nothing is written]"""


class SweepOptions(TypedDict, total=False):
    """Options of `flashscope sweep`."""

    resume: Path
    """Resume a sweep that was interrupted; rows that exist are not simulated again"""
    jobs: str | int
    """Simulate this many drives at once [default: all processors]; the outcome does not depend on it"""
    memory: Size
    """Limit the total memory of simulated drives; a drive that needs more is refused [default: half of this machine's memory]"""
    output: Path
    """Write the result to this folder, which must not exist yet [default: the file name of SPACE with `.flashscope` instead of `.toml`]"""


class TraceCollectionOptions(TypedDict, total=False):
    """Options of `flashscope trace collection`."""

    resume: Path
    """Resume a collection that was interrupted; finished parts are not read again"""
    output: Path
    """Write the result to this folder, which must not exist yet"""
    separate_files: bool
    """Treat volumes of the same name in different files as different volumes, named FILE:VOLUME"""
    on_bad_file: Literal["stop", "skip"]
    """If a file cannot be read: stop, or leave the file out and name it in the result"""
    sample_pages: int
    """Maximum number of 4 KiB pages to track per volume; the footprint of larger volumes is estimated from a sample"""
    part_size: Size
    """Divide uncompressed text into parts of about this size, which are read at the same time"""
    memory: Size
    """Maximum memory for the partial statistics of all jobs; when it is full, they are moved to the folder. The result does not depend on this limit"""
    format: str | int
    """The format of the trace: see `flashscope trace formats` [default: found by content]"""
    on_bad_line: str | int
    """What to do at a line or record that cannot be read: `stop`, or `skip` and count it [default: stop]"""
    sector: str | int
    """Bytes in a sector or block, if the format counts in sectors or blocks [default: that of the format, mostly 512]"""
    time: str | int
    """The column of the issue time in delimited text (format `csv`), by its number from 0 or its name in the first line, and its unit, such as `0:us`: s, ms, us, ns, or filetime (100 ns since 1601)"""
    offset: str | int
    """The column of the offset, with a unit after a colon: bytes (the default), sectors, or a length such as `4KiB`"""
    size: str | int
    """The column of the length, with a unit as for `offset`"""
    op: str | int
    """The column of the operation, with words such as `R` or `write`; or this column, a colon and the text of reads, such as `1:28`, if every other text is a write"""
    ops: str | int
    """Only these operations, separated by commas: `read`, `write`, `trim` and `flush`"""
    jobs: str | int
    """Read this many parts at once [default: all processors]; the result does not depend on it"""


class TwinCheckOptions(TypedDict, total=False):
    """Options of `flashscope twin check`."""

    jobs: str | int
    """Simulate this many drives at once [default: all processors]; the outcome does not depend on it"""
    memory: Size
    """Limit the total memory of simulated drives; a drive that needs more is refused [default: half of this machine's memory]"""


class TwinFitOptions(TypedDict, total=False):
    """Options of `flashscope twin fit`."""

    output: Path
    """Write the profile here, and all details beside it to NAME.twin.json (schema: docs/schemas/twin.schema.json)"""
    confidence: Share
    """Confidence level of the intervals. The default is lower than that of `bench`: intervals at 95 % need more validation cases than most models have"""
    sample: Size
    """Fit the structure of the drive to a sample of runs that read and write at most this much, preparation included"""
    queue_depth: int
    """IOs in flight during a fill sweep, unless its table has a column `queue_depth` [default: unknown; predictions assume 32]"""
    seed: int
    """Seed of all random choices, unless the workload has its own; the same seed gives the same IOs"""
    jobs: str | int
    """Simulate this many drives at once [default: all processors]; the outcome does not depend on it"""
    memory: Size
    """Limit the total memory of simulated drives; a drive that needs more is refused [default: half of this machine's memory]"""


class TwinPredictOptions(TypedDict, total=False):
    """Options of `flashscope twin predict`."""

    ios: int
    """IOs to measure [default: 1000000, or all of a workload that ends]"""
    warmup: str | int
    """Run the workload before it is measured: `steady`, `none`, a number of IOs, or a number of times the capacity, as in `10x` [default: steady, or none for a workload that ends]"""
    seed: int
    """Seed of all random choices, unless the workload has its own; the same seed gives the same IOs"""
    filled: Size
    """Bytes of the drive that hold data [default: as at its fullest measured level]"""
    draws: int
    """Number of alternative drives to simulate in addition to the twin [default: until the ends of intervals are known]"""
    jobs: str | int
    """Simulate this many drives at once [default: all processors]; the outcome does not depend on it"""
    memory: Size
    """Limit the total memory of simulated drives; a drive that needs more is refused [default: half of this machine's memory]"""
    output: Path
    """Write the result to this folder, which must not exist yet [default: none, nothing is written]"""
    queue_depth: int
    """IOs in flight at once, unless the workload sets it [default: as in the measurements that the twin was fitted to]"""


class VerifyOptions(TypedDict, total=False):
    """Options of `flashscope verify`."""

    journal: Path
    """Keep the journal in this file, which must not exist yet, on another medium than the drive; or read it, with --resume"""
    resume: bool
    """Judge the drive after a power cut, from its blocks and the journal; write nothing"""
    target_offset: Size
    """Start of the target space"""
    target_size: Size
    """Size of the target space, at most 64GiB [default: 1GiB, or up to the end of a smaller drive]"""
    io_size: Size
    """Longest random write; lengths are random, from one logical block up to this size"""
    queue_depth: int
    """Writes in flight"""
    flush_every: int
    """Writes from one flush to the next"""
    writes: int
    """Random writes after which the writing ends without a power cut"""
    duration: Time
    """Time after which the writing ends without a power cut"""
    seed: int
    """Seed of all random choices, unless the workload has its own; the same seed gives the same IOs"""
    atomic_write: Size
    """Longest write that the drive guarantees to write completely or not at all in a power cut [default: as an NVMe drive states (NAWUPF or AWUPF), or the logical block]"""
    destroy_data_on: str | int
    """Confirm that all data on the drive may be destroyed, by typing its serial number or path"""
    ignore_open_by_others: bool
    """Write even if another program has the drive open for writing, as long as that program holds no lock on it"""


class WhatIfOptions(TypedDict, total=False):
    """Options of `flashscope what-if`."""

    ios: int
    """IOs to measure [default: 1000000, or all of a workload that ends]"""
    warmup: str | int
    """Run the workload before it is measured: `steady`, `none`, a number of IOs, or a number of times the capacity, as in `10x` [default: steady, or none for a workload that ends]"""
    queue_depth: int
    """IOs in flight at once, unless the workload sets it [default: 1, or in an open loop as many as the drive accepts]"""
    seed: int
    """Seed of all random choices, unless the workload has its own; the same seed gives the same IOs"""
    duration: Time
    """Time to measure, in simulated time"""
    fill: Literal["none", "sequential", "random", "steady"]
    """Contents of the drive at the start"""
    repeats: int
    """Simulations of each variant, with consecutive seeds [default: 3, or 1 for a trace, in which nothing is random]"""
    jobs: str | int
    """Simulate this many drives at once [default: all processors]; the outcome does not depend on it"""
    memory: Size
    """Limit the total memory of simulated drives; a drive that needs more is refused [default: half of this machine's memory]"""
    output: Path
    """Write the result to this folder, which must not exist yet [default: none, nothing is written]"""
