"""Plots after Bouganim, Jónsson and Bonnet, *uFLIP: Understanding Flash IO Patterns* (CIDR 2009), drawn with
matplotlib: ``pip install 'flashscope[plots]'``. Each function draws on the given axes or on new axes, and returns the axes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from math import nan
from typing import TYPE_CHECKING

try:
    from matplotlib import pyplot
except ImportError as error:
    raise ImportError("plots need matplotlib: python -m pip install 'flashscope[plots]'") from error

from ._native import UsageError
from ._results import Measurement, Run
from .documents.common import Estimate
from .documents.manifest import MicroBenchmark

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINGERING = "SR-RW-SR"
"""The experiment of the preparation that finds the pause between runs."""

MS = 1e-6
"""Milliseconds in a nanosecond."""


def response_times(result: Measurement, run: Run | int, ax: Axes | None = None) -> Axes:
    """Plots the response time of each IO of a run, and the running mean (Figures 3 and 4: the start-up and the running
    phase)."""
    ax = ax or pyplot.subplots()[1]
    number = run if isinstance(run, int) else run.id
    times = [latency * MS for latency in result.records(number).column("latency_ns")]
    means = [total / count for count, total in enumerate(accumulate(times), 1)]
    ax.plot(times, ".", markersize=2, label="each IO")
    ax.plot(means, label="running mean")
    ax.set(xlabel="IO number", ylabel="response time (ms)", yscale="log", title=_title(result, number))
    ax.legend()
    return ax


def pauses(result: Measurement, ax: Axes | None = None) -> Axes:
    """Plots for how long writes slow down the reads that follow (Figure 5): sequential reads, random writes, and
    sequential reads again, from the preparation. The title has the time for which reads are slow."""
    ax = ax or pyplot.subplots()[1]
    runs = [
        run
        for experiment in _benchmark(result, "preparation").experiments
        for run in experiment.runs
        if experiment.name == LINGERING
    ]
    if not runs:
        raise UsageError(f"{result.path} has no {LINGERING}: only a preparation that writes has this experiment")
    records = result.records(runs[0])
    for op, label in enumerate(("reads", "random writes")):
        pairs = zip(records.column("op"), records.column("latency_ns"), strict=True)
        times = [latency * MS if code == op else nan for code, latency in pairs]
        ax.plot(times, ".", markersize=2, label=label)
    ax.set(xlabel="IO number", ylabel="response time (ms)", yscale="log")
    findings = result.manifest.findings
    lingered = [one.lasted_ns * 1e-9 for one in (findings.interference if findings else []) if one.run == runs[0].id]
    ax.set(title="\n".join([_title(result, runs[0].id), *(f"writes linger for {time:.3g} s" for time in lingered)]))
    ax.legend()
    return ax


def micro_benchmark(
    result: Measurement, name: str, experiments: Iterable[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Plots the mean response time of each experiment against the parameter of a micro-benchmark, with intervals.
    ``"granularity"`` gives Figures 6 and 7 of the uFLIP paper."""
    ax = ax or pyplot.subplots()[1]
    benchmark = _benchmark(result, name)
    for experiment in experiments or [experiment.name for experiment in benchmark.experiments]:
        values, means = zip(*_means(result, benchmark, experiment), strict=True)
        below = [max(0.0, mean.value - (mean.low or mean.value)) * MS for mean in means]
        above = [max(0.0, (mean.high or mean.value) - mean.value) * MS for mean in means]
        centres = [mean.value * MS for mean in means]
        ax.errorbar(values, centres, yerr=[below, above], marker="o", capsize=3, label=experiment)
    ax.set(xlabel=f"{benchmark.parameter} ({benchmark.unit})", ylabel="mean response time (ms)", yscale="log")
    ax.set(title=f"{benchmark.title}: {result.manifest.device.name}")
    _scale(ax, benchmark)
    ax.legend()
    return ax


def locality(results: Measurement | Iterable[Measurement], ax: Axes | None = None) -> Axes:
    """Plots the cost of random writes relative to sequential writes, against the size of the area of the random writes,
    with a line for each drive (Figure 8)."""
    ax = ax or pyplot.subplots()[1]
    for result in [results] if isinstance(results, Measurement) else results:
        benchmark = _benchmark(result, "locality")
        random, sequential = (dict(_means(result, benchmark, name)) for name in ("RW", "SW"))
        base = sequential[max(sequential)].value
        sizes = sorted(random)
        ax.plot(sizes, [random[size].value / base for size in sizes], marker="o", label=result.manifest.device.name)
        _scale(ax, benchmark)
    ax.set(xlabel="target size (bytes)", ylabel="random writes, relative to sequential writes", title="Locality")
    ax.legend()
    return ax


def _benchmark(result: Measurement, name: str) -> MicroBenchmark:
    for benchmark in result.manifest.micro_benchmarks:
        if benchmark.name == name:
            return benchmark
    names = ", ".join(benchmark.name for benchmark in result.manifest.micro_benchmarks)
    raise UsageError(f"{result.path} has no {name}; choose one of: {names}")


def _means(result: Measurement, benchmark: MicroBenchmark, experiment: str) -> list[tuple[int, Estimate]]:
    """Returns the mean response time in ns by value, over all repeats if there are several."""
    repeats = {
        repeat.value: repeat.mean_ns
        for repeat in result.facts.repeats or []
        if (repeat.micro_benchmark, repeat.experiment) == (benchmark.name, experiment)
    }
    if repeats:
        return sorted(repeats.items(), key=lambda item: item[0])
    values = {
        run.id: run.value for one in benchmark.experiments if one.name == experiment for run in one.runs
    }
    runs = [facts for facts in result.facts.runs if facts.run in values]
    if not runs:
        names = ", ".join(one.name for one in benchmark.experiments)
        raise UsageError(f"{benchmark.name} has no runs of {experiment}; choose one of: {names}")
    return sorted(((values[run.run], run.latency_ns.mean) for run in runs), key=lambda item: item[0])


def _scale(ax: Axes, benchmark: MicroBenchmark) -> None:
    """Sets a log scale for sizes and times, which double from value to value."""
    if benchmark.unit in ("bytes", "nanoseconds"):
        ax.set_xscale("log", base=2)


def _title(result: Measurement, number: int) -> str:
    for benchmark in result.manifest.micro_benchmarks:
        for experiment in benchmark.experiments:
            if any(run.id == number for run in experiment.runs):
                return f"{benchmark.name} {experiment.name}, run {number}: {result.manifest.device.name}"
    return f"run {number}: {result.manifest.device.name}"
