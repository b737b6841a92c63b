"""The options of the commands, as the command line has them: `flashscope COMMAND --help`."""

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
    """Go on with this result, which was stopped or cut off, at the run where it stopped"""
    plan: Path
    """Run this plan, as `flashscope plan` saved it"""
    only: Sequence[str | int]
    """Run only these micro-benchmarks, by name and separated by commas"""
    test: str | int
    """Run a test of the SNIA Solid State Storage Performance Test Specification (PTS 2.0) instead"""
    round: Time
    """Length of each run in a round of --test"""
    most_rounds: int
    """Rounds of --test at most [default: 25, or 1440 for pts-write-saturation]"""
    queue_depth: int
    """IOs in flight in --test [default: 128 (32 for each of four threads), or what the drive takes]"""
    trace: str | Workload
    """Play a trace instead: a file, with any field of a trace after `?`"""
    grid: bool
    """Measure uniform writes instead, over a grid of mean lengths and of free space"""
    grid_lengths: Sequence[int]
    """Mean lengths of --grid in pages, separated by commas [default: 1,4,16,64,256]"""
    grid_spaces: Sequence[Share]
    """Free space of --grid relative to what is written, separated by commas [default: that of the drive, and from there to 100 in steps of 1, 2 and 5, as far as the longest writes allow]"""
    grid_page: Size
    """The page of --grid"""
    capacity_inside: Size
    """What the flash of the drive holds, its free space included [default: what a simulated drive has; of others the next usual size, such as 64GiB for 64 GB]"""
    read_only: bool
    """Open the drive for reading alone, and run only what reads"""
    state: Literal["random", "sequential", "purged", "formatted", "sanitized", "keep"]
    """The state to bring the drive into first [default: random; keep with --read-only; purged with --test; sequential with --grid]"""
    precision: Share
    """How well each run is to know its mean: half the width of its interval, as a share of it"""
    confidence: Share
    """How often the intervals are to hold the truth"""
    statistic: str | int
    """What is to be known so well: `mean`, or a percentile such as `p99` or `p99.9`"""
    most_ios: int
    """IOs that count in a run at most, however well its mean is known then"""
    most_time: Time
    """Time of a run at most"""
    most_bytes: Size
    """Bytes that a run writes at most [default: no limit]"""
    repeats: int
    """How often each run is done, each time with other random addresses"""
    io_count: str | int
    """Give the IOs in a run (IOCount) rather than let them be found: one number, or some of SR, RR, SW, RW"""
    io_ignore: str | int
    """IOs at the start of a run that the statistics leave out (IOIgnore) [default: found by the preparation, or 0 with --io-count]"""
    run_pause: Time
    """Pause between runs [default: found by the preparation; 1s with --io-count; none with --test and --grid]"""
    preparation_io_count: int
    """IOs in each run of the preparation"""
    io_size: Size
    """Size of an IO wherever it is not what varies (uFLIP's IOSize)"""
    burst_pause: Time
    """Pause between bursts"""
    target_offset: Size
    """Use the drive from this byte on (TargetOffset)"""
    target_size: Size
    """Use so much of the drive (TargetSize) [default: all of it]"""
    budget_time: Time
    """Take no longer than this: what does not fit is left out, and what is left then is skipped"""
    budget_bytes: Size
    """Write no more than this, the state of the drive included"""
    on_error: Literal["continue", "stop"]
    """What an IO error does to the runs after it"""
    seed: int
    """Seed of everything random; the same seed gives the same IOs"""
    memory: Size
    """Let simulated drives take so much memory together; one that needs more is refused [default: half of this machine's]"""
    output: Path
    """Write the result here [default: named after the drive and the time]"""
    keep: bool
    """Leave the file that was created as a drive; without this it is removed once the plan is complete"""
    destroy_data_on: str | int
    """Confirm that all data on the drive may be destroyed, by typing its serial number or path"""
    ignore_open_by_others: bool
    """Write although another program has the drive open for writing, if that holds no lock on it"""


class PredictOptions(TypedDict, total=False):
    """Options of `flashscope predict`."""

    memory: Size
    """Let simulated drives take so much memory together; one that needs more is refused [default: half of this machine's]"""
    model: str | int
    """What predicts [default: the best for the drive]; `--list` shows what there is"""
    grid: Path
    """Predict by what was measured: a result of `flashscope bench DRIVE --grid`, of whatever drive"""
    like: Literal["bast", "fast"]
    """How the drive of --grid shares out its free space: a log block for a data block, or all for all"""
    block_size: Size
    """What an erase block of the drive of --grid holds [default: what it told, or 1 MiB]"""
    ranges: Literal["whole", "written"]
    """With equations: take the space of a range to be its logical block, or what of it is written"""
    stretches: Literal["log-list", "stationary", "own-time"]
    """With equations: divide time into stretches of the log list's length, at changes of the workload, or of each range by itself"""
    ios: int
    """Take so many IOs of a workload without an end at a time"""
    confidence: Share
    """How often intervals are to hold the truth"""
    compare: bool
    """Simulate the same beside it, and say how far the prediction is off"""
    lifetime: bool
    """Say how long the drive lasts, and what can still be written to it"""
    per_day: Size
    """Bytes that the host writes in a day [default: as many as the trace does]"""
    worn: int
    """Erases that each block has seen"""
    seed: int
    """Seed of everything random"""


class ProbeOptions(TypedDict, total=False):
    """Options of `flashscope probe`."""

    only: Sequence[str | int]
    """Look for these parameters alone, by name and separated by commas, and for what they go by"""
    budget_bytes: Size
    """Write at most so much, filling the drive included [default: 10 times its capacity]"""
    budget_time: Time
    """Take at most so long, on the clock of the drive"""
    read_only: bool
    """Write nothing: find what reads tell"""
    seed: int
    """Seed of everything random"""
    memory: Size
    """Let simulated drives take so much memory together; one that needs more is refused [default: half of this machine's]"""
    output: Path
    """Write the result here [default: named after the drive and the time]"""
    profile: Path
    """Save a simulated drive with what was found as a profile, which `sim:` takes"""
    destroy_data_on: str | int
    """Confirm that all data on the drive may be destroyed, by typing its serial number or path"""
    ignore_open_by_others: bool
    """Write although another program has the drive open for writing, if that holds no lock on it"""


class SimulateOptions(TypedDict, total=False):
    """Options of `flashscope simulate`."""

    ios: int
    """Measure so many IOs [default: 1000000, or all of a workload that ends]"""
    duration: Time
    """Measure for so long, in simulated time"""
    fill: Literal["none", "sequential", "random"]
    """What the drive holds at first"""
    warmup: str | int
    """Run the workload before it is measured: `steady`, `none`, a number of IOs, or a number of times the capacity, as in `10x` [default: steady, or none for a workload that ends]"""
    queue_depth: int
    """IOs in flight at once, unless the workload says [default: 1, or in an open loop all that the drive takes]"""
    seed: int
    """Seed of everything random, unless the workload has its own; the same seed gives the same IOs"""
    memory: Size
    """Let simulated drives take so much memory together; one that needs more is refused [default: half of this machine's]"""
    observe: Sequence[str | int]
    """Look inside the drive while it is measured: names of observers, separated by commas"""
    output: Path
    """Write what came of it to this folder, as `simulation.json`, with what all observers saw and how latencies are distributed over time: what the screens of a simulation show"""
    trace_events: Path
    """Write every flash command and every request to this file, in the format that ui.perfetto.dev and chrome://tracing open"""
    trace_from: Time
    """Begin the trace so long after the measurement has begun, in simulated time [default: at once]"""
    trace_for: Time
    """Let the trace last so long, in simulated time [default: 100ms]"""


class SweepOptions(TypedDict, total=False):
    """Options of `flashscope sweep`."""

    output: Path
    """Write what came of it to this folder, which must not be there yet [default: the name of the space with `.flashscope`]"""
    resume: Path
    """Go on with a sweep that was interrupted: what is there is not simulated again"""
    jobs: str | int
    """Simulate so many drives at once [default: all processors]; the outcome does not depend on it"""
    memory: Size
    """Let simulated drives take so much memory together; one that needs more is refused [default: half of this machine's]"""


class TwinCheckOptions(TypedDict, total=False):
    """Options of `flashscope twin check`."""

    jobs: str | int
    """Simulate so many drives at once [default: all processors]; the outcome does not depend on it"""
    memory: Size
    """Let simulated drives take so much memory together; one that needs more is refused [default: half of this machine's]"""


class TwinFitOptions(TypedDict, total=False):
    """Options of `flashscope twin fit`."""

    output: Path
    """Where the profile goes; all about it goes beside it, to NAME.twin.json (schema: docs/schemas/twin.schema.json)"""
    confidence: Share
    """How often intervals are to hold the truth"""
    sample: Size
    """Look for the structure of the drive by as many of the runs as read and write so much in all, its state included; its times are fitted to all of them. More finds it more often, and takes longer"""
    seed: int
    """Seed of everything random"""
    jobs: str | int
    """Simulate so many drives at once [default: all processors]; the outcome does not depend on it"""
    memory: Size
    """Let simulated drives take so much memory together; one that needs more is refused [default: half of this machine's]"""


class TwinPredictOptions(TypedDict, total=False):
    """Options of `flashscope twin predict`."""

    ios: int
    """Measure so many IOs [default: 1000000, or all of a workload that ends]"""
    warmup: str | int
    """Run the workload before it is measured, as `flashscope simulate --warmup` does"""
    queue_depth: int
    """IOs in flight at once, unless the workload says"""
    draws: int
    """Simulate so many drives beside the twin; without any, intervals are the errors of its fit alone"""
    seed: int
    """Seed of everything random, unless the workload has its own"""
    jobs: str | int
    """Simulate so many drives at once [default: all processors]; the outcome does not depend on it"""
    memory: Size
    """Let simulated drives take so much memory together; one that needs more is refused [default: half of this machine's]"""


class WhatIfOptions(TypedDict, total=False):
    """Options of `flashscope what-if`."""

    ios: int
    """Measure so many IOs [default: 1000000, or all of a workload that ends]"""
    duration: Time
    """Measure for so long, in simulated time"""
    fill: Literal["none", "sequential", "random"]
    """What the drive holds at first"""
    warmup: str | int
    """Run the workload before it is measured: `steady`, `none`, a number of IOs, or a number of times the capacity, as in `10x` [default: steady, or none for a workload that ends]"""
    queue_depth: int
    """IOs in flight at once, unless the workload says [default: 1, or in an open loop all that the drive takes]"""
    seed: int
    """Seed of everything random, unless the workload has its own; the same seed gives the same IOs"""
    repeats: int
    """Simulate each variant so often, with seeds one after the other [default: 3, or 1 of a trace, in which nothing is random]"""
    jobs: str | int
    """Simulate so many drives at once [default: all processors]; the outcome does not depend on it"""
    memory: Size
    """Let simulated drives take so much memory together; one that needs more is refused [default: half of this machine's]"""
    output: Path
    """Write what came of it to this folder, as `what-if.json`; it must not be there yet"""
