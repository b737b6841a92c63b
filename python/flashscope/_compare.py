"""Comparisons of results, and searches for single IOs."""

from __future__ import annotations

from functools import cached_property
from os import PathLike, fspath
from typing import TYPE_CHECKING

from . import _html, _native
from ._call import ShowProgress, call, kept, words
from ._decode import decode, encode
from ._native import Table, UsageError
from ._results import Measurement, Probe, Simulation, Sweep
from .documents import comparison, matches
from .documents.prediction import PredictionReport
from .documents.twin_prediction import TwinPrediction
from .documents.what_if import WhatIf

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import CompareOptions, QueryOptions

Comparable = Measurement | Simulation | WhatIf | PredictionReport | TwinPrediction | str | PathLike[str]
"""A result, the path of a result folder, or the path of a file with the JSON of a command."""


class Comparison:
    """A comparison of results with the first; :func:`compare` creates one."""

    def __init__(self, document: str) -> None:
        self.report = decode(comparison.Comparison, document)
        """The conclusions, the ranking, and each quantity of each workload with its verdict."""

    @property
    def regressions(self) -> list[comparison.Regression]:
        """The numbers that are worse than those of the first result by more than ``fail_on_regression``, beyond
        uncertainty. Raises ``UsageError`` if there was no limit."""
        if self.report.regressions is None:
            raise UsageError("this comparison has no limit: compare(..., fail_on_regression=0.05) looks for regressions")
        return self.report.regressions.found

    def _repr_html_(self) -> str:
        rows = [
            [workload.name, one.quantity, *(_number(one.quantity, number) for number in one.results)]
            for workload in self.report.workloads
            for one in workload.quantities
        ]
        title = " ".join(conclusion.text for conclusion in self.report.conclusions) or repr(self)[1:-1]
        return _html.table(title, ["workload", "quantity", *(result.name for result in self.report.results)], rows)

    def __repr__(self) -> str:
        baseline, *others = (result.name for result in self.report.results)
        return f"<Comparison of {', '.join(others)} with {baseline}: {len(self.report.workloads)} workloads>"


class Matches:
    """The IOs of a result that match an expression; :func:`query` finds them. Arrow libraries read it like
    ``records``."""

    def __init__(self, document: str, records: Table) -> None:
        self._document = document
        self.records = records
        """The slowest IOs that match, the slowest first: the columns of a run's records, with the run and the position
        in it."""

    @cached_property
    def report(self) -> matches.Matches:
        """The number of IOs that match, and the runs that have them."""
        return decode(matches.Matches, self._document)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.records.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.records.__arrow_c_schema__()

    def _repr_html_(self) -> str:
        rows = [
            [run.micro_benchmark, run.experiment, run.value, run.run, run.matched, run.ios, _html.time(run.slowest_ns)]
            for run in self.report.runs
        ]
        head = ["micro-benchmark", "experiment", "value", "run", "IOs that match", "IOs", "slowest"]
        return _html.table(repr(self)[1:-1], head, rows)

    def __repr__(self) -> str:
        return f"<{self.report.matched} of {self.report.ios} IOs match {self.report.query}>"


def compare(
    *results: Comparable, progress: ShowProgress = None, **options: Unpack[CompareOptions]
) -> Comparison:
    """Compares two to six results with the first, as ``flashscope compare`` does::

        compare("old.flashscope", fs.bench(drive), fail_on_regression=0.05).regressions
        compare(fs.predict(drive, workload), fs.simulate(drive, workload))

    ``fail_on_regression`` is the maximum tolerated loss; a larger loss raises no exception.
    """
    inputs = [_input(result) for result in results]
    arguments = words(options, *(name for name, _ in inputs))
    outcome = call(_native.compare, arguments, [document for _, document in inputs], progress=progress)
    return kept(outcome, Comparison)


def query(
    result: Measurement | str | PathLike[str],
    expression: str,
    *,
    progress: ShowProgress = None,
    **options: Unpack[QueryOptions],
) -> Matches:
    """Finds the IOs of a result that match an expression (docs/query.md), as ``flashscope query`` does::

        query(result, "latency > 10ms and op = write", limit=1000).records

    ``limit`` is the maximum number of IOs in ``records``.
    """
    path = str(result.path) if isinstance(result, Measurement) else fspath(result)
    outcome = call(_native.query, words(options, path, expression), progress=progress)
    return kept(outcome, lambda found: Matches(*found))


def _input(result: Comparable | Probe | Sweep) -> tuple[str, str | None]:
    """Returns the path of a result; for a result without a folder, a name and its JSON."""
    if isinstance(result, (Measurement, Probe, Sweep)):
        return str(result.path), None
    if isinstance(result, Simulation):
        return ("simulation", encode(result.report)) if result.path is None else (str(result.path), None)
    if isinstance(result, WhatIf):
        return "what-if", encode(result)
    if isinstance(result, (PredictionReport, TwinPrediction)):
        return "prediction", encode(result)
    return fspath(result), None


def _number(quantity: str, number: comparison.ComparedNumber) -> str:
    """Formats a number, its ratio to that of the baseline, and its verdict."""
    if number.value is None:
        return ""
    is_time = quantity.startswith("latency_ns")
    value = _html.time(number.value.value) if is_time else f"{number.value.value:.4g}"
    ratio = "" if number.ratio is None else f" ×{number.ratio.value:.3g}"
    return f"{value}{ratio} {number.verdict or ''}".rstrip()
