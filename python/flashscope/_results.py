"""Result folders."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path

from . import _html, _native
from ._decode import decode
from ._native import Table, UsageError
from .documents import collection, facts, manifest, probe, simulation, sweep
from .documents.what_if import WhatIf

Run = manifest.Run


class Measurement:
    """The result of :func:`bench` or :func:`import_`, in a folder."""

    def __init__(self, path: Path, document: str) -> None:
        self.path = path
        self._document = document

    # The manifest is long. It is decoded at the first use, because a call must return at once after Ctrl-C.
    @cached_property
    def manifest(self) -> manifest.Manifest:
        """The plan, the drive, the machine and the methodology."""
        return decode(manifest.Manifest, self._document)

    @cached_property
    def facts(self) -> facts.Facts:
        """The statistics of the records, with intervals."""
        return decode(facts.Facts, (self.path / "facts.json").read_text())

    @property
    def runs(self) -> list[Run]:
        """Every run of the plan."""
        return [
            run
            for micro_benchmark in self.manifest.micro_benchmarks
            for experiment in micro_benchmark.experiments
            for run in experiment.runs
        ]

    def records(self, run: Run | int) -> Table:
        """Returns every IO of a run, in the order of completion. Raises ``KeyError`` if there is no such run."""
        number = run if isinstance(run, int) else run.id
        runs = self.runs
        if all(known.id != number for known in runs):
            raise KeyError(f"{self.path} has no run {number}: its runs are 1 to {len(runs)}")
        return _native.records(str(self.path), number)

    def _repr_html_(self) -> str:
        known = {facts.run: facts.latency_ns for facts in self.facts.runs}
        rows = []
        for micro_benchmark in self.manifest.micro_benchmarks:
            for experiment in micro_benchmark.experiments:
                for run in experiment.runs:
                    latency = known.get(run.id)
                    numbers = [_html.time(value) for value in (latency.mean.value, latency.p99)] if latency else ["", ""]
                    rows.append([micro_benchmark.name, experiment.name, run.value, run.id, *numbers])
        title = f"{self.manifest.device.name}: {len(rows)} runs in {self.path}"
        return _html.table(title, ["micro-benchmark", "experiment", "value", "run", "mean", "99 %"], rows)

    def __repr__(self) -> str:
        return f"<Measurement of {self.manifest.device.name}: {len(self.runs)} runs in {self.path}>"


class Probe:
    """The result of :func:`probe`, in a folder."""

    def __init__(self, path: Path, document: str) -> None:
        self.path = path
        self.report = decode(probe.ProbeReport, document)

    def __getitem__(self, parameter: str) -> probe.StatedFinding:
        """Returns the finding about a parameter."""
        for stated in self.report.findings:
            if stated.finding.parameter == parameter:
                return stated
        raise KeyError(parameter)

    def records(self, run: int) -> Table:
        """Returns every IO of a run, in the order of completion. Raises ``KeyError`` if there is no such run."""
        if all(known.run != run for step in self.report.steps for known in step.runs):
            raise KeyError(f"{self.path} has no run {run}")
        return _native.records(str(self.path), run)

    def _repr_html_(self) -> str:
        rows = []
        for stated in self.report.findings:
            answer = stated.finding.answer
            if answer.kind != "unknown":
                value = getattr(answer, "class_", None) or getattr(answer, "value", "none")
                rows.append([stated.title, value, stated.unit, f"{stated.finding.probability:.0%}"])
        title = f"{self.report.drive.name}: {len(rows)} of {len(self.report.findings)} parameters inferred"
        return _html.table(title, ["parameter", "value", "unit", "probability"], rows)

    def __repr__(self) -> str:
        return f"<Probe of {self.report.drive.name}: {len(self.report.findings)} parameters in {self.path}>"


class Simulation:
    """The result of :func:`simulate`, in a folder if ``output`` was given."""

    def __init__(self, path: object, document: str, records: Table | None = None) -> None:
        self.path = None if path is None else Path(str(path))
        self.report = decode(simulation.Simulation, document)
        """The numbers: write amplification, flash operations by cause, garbage collection, latencies."""
        self._records = records

    @property
    def records(self) -> Table:
        """Each measured IO, in the order of completion."""
        if self._records is None:
            raise UsageError("this simulation has no records: simulate(..., records=True) keeps them")
        return self._records

    def _repr_html_(self) -> str:
        report = self.report
        rows: list[list[object]] = [["IOs", report.ios], ["simulated time", _html.time(report.simulated_ns)]]
        if report.write_amplification is not None:
            rows.append(["write amplification", f"{report.write_amplification:.3f}"])
        for name, latency in (("reads", report.read_latency_ns), ("writes", report.write_latency_ns)):
            if latency is not None:
                rows.append([f"mean of {name}", _html.time(latency.mean.value)])
                rows.append([f"99 % of {name} within", _html.time(latency.p99)])
        return _html.table(f"{report.workload} on {report.drive.name} (simulated)", ["", ""], rows)

    def __repr__(self) -> str:
        return f"<Simulation of {self.report.workload} on {self.report.drive.name}: {self.report.ios} IOs>"


class Sweep:
    """The result of :func:`sweep`, in a folder."""

    def __init__(self, path: str | Path, document: str | None = None) -> None:
        self.path = Path(path)
        self._document = document

    @cached_property
    def report(self) -> sweep.Sweep:
        """The Pareto front, the effects and interactions, and the skipped points."""
        return decode(sweep.Sweep, self._document or (self.path / "sweep.json").read_text())

    @cached_property
    def points(self) -> Table:
        """A row for each simulation, with its factors and all its numbers."""
        return _native.points(str(self.path))

    def _repr_html_(self) -> str:
        points = self.points
        shown = [name for name in points.columns if points.column(name)][:12]
        rows: list[tuple[object, ...]] = list(zip(*(points.column(name)[:20] for name in shown)))
        return _html.table(f"{repr(self)[1:-1]}, the first {len(rows)}", shown, rows)

    def __repr__(self) -> str:
        counts = self.report.counts
        return f"<Sweep of {', '.join(self.report.factors)}: {counts.done} of {counts.requested} simulations in {self.path}>"


class Collection:
    """The result of :func:`collection`, in a folder."""

    def __init__(self, path: Path, document: str | None = None) -> None:
        self.path = path
        self._document = document

    @cached_property
    def report(self) -> collection.Collection:
        """The files, the total, and the statistics of each volume."""
        return decode(collection.Collection, self._document or (self.path / "collection.json").read_text())

    def _repr_html_(self) -> str:
        head = ["volume", "requests", "reads", "writes", "bytes read", "bytes written"]
        rows = [
            [one.name, one.requests.total, one.requests.reads, one.requests.writes, one.bytes.read, one.bytes.written]
            for one in self.report.volumes[:20]
        ]
        return _html.table(f"{repr(self)[1:-1]}, the first {len(rows)}", head, rows)

    def __repr__(self) -> str:
        return f"<Collection of {len(self.report.volumes)} volumes in {len(self.report.plan.files)} files: {self.path}>"


Result = Measurement | Probe | Simulation | Sweep | WhatIf | Collection
"""The content of a result folder."""


def open(folder: str | PathLike[str]) -> Result:
    """Opens a result folder."""
    path = Path(fspath(folder))
    kind = _native.open(str(path))
    kinds: dict[str, Callable[[Path, str], Result]] = {
        "manifest": Measurement,
        "probe": Probe,
        "simulation": Simulation,
        "sweep": Sweep,
        "collection": Collection,
        "what-if": lambda _, json: decode(WhatIf, json),
    }
    return kinds[kind](path, (path / f"{kind}.json").read_text())


def measurement(folder: str | PathLike[str]) -> Measurement:
    """Opens the folder of a measurement."""
    result = open(folder)
    if not isinstance(result, Measurement):
        raise UsageError(f"{folder} is no measurement")
    return result
