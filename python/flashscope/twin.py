"""Twins: simulated drives calibrated to measured drives (docs/twin.md)."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from . import _native
from ._call import ShowProgress, call, kept, words
from ._decode import decode
from ._drives import Drive
from ._results import Measurement, Probe
from ._workloads import Workload
from .documents import twin
from .documents.twin_check import Check
from .documents.twin_prediction import TwinPrediction

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import TwinCheckOptions, TwinFitOptions, TwinPredictOptions

Source = Measurement | Probe | str | PathLike[str]
"""A result, the path of a result, or the path of a fill sweep (``.csv``)."""


class Twin:
    """A twin, in the files that :func:`fit` writes and :func:`open` reads."""

    def __init__(self, path: Path, document: str) -> None:
        self.path = path
        """The path of the twin's profile."""
        self.report = decode(twin.Twin, document)
        """The fitted parameters, their sources, and the quality of the fit."""

    @property
    def drive(self) -> Drive:
        """The twin as a drive."""
        return Drive(f"sim:{self.path if self.path.is_absolute() else f'./{self.path}'}")

    def check(
        self, *results: Source, progress: ShowProgress = None, **options: Unpack[TwinCheckOptions]
    ) -> Check:
        """Compares the twin with results that it was not fitted to, as ``flashscope twin check`` does."""
        arguments = words(options, str(self.path), *map(_path, results))
        outcome = call(_native.twin_check, arguments, progress=progress)
        return kept(outcome, lambda json: decode(Check, json))

    def predict(
        self,
        workload: Workload | str = "uniform",
        *,
        progress: ShowProgress = None,
        **options: Unpack[TwinPredictOptions],
    ) -> TwinPrediction:
        """Predicts the performance of a workload on the drive, with intervals, as ``flashscope twin predict`` does."""
        arguments = words({**options, "workload": workload}, str(self.path))
        outcome = call(_native.twin_predict, arguments, progress=progress)
        return kept(outcome, lambda json: decode(TwinPrediction, json))

    def __repr__(self) -> str:
        return f"<Twin of {self.report.drive}: {self.path}>"


def fit(*results: Source, progress: ShowProgress = None, **options: Unpack[TwinFitOptions]) -> Twin:
    """Fits a simulated drive to results of :func:`~flashscope.bench` and :func:`~flashscope.probe`, or to a fill sweep,
    as ``flashscope twin fit`` does::

        twin.fit(fs.bench(drive, only=["granularity", "locality"]), "probe.flashscope", output="drive.toml")
    """
    path = Path(str(options.get("output") or "drive.toml"))
    outcome = call(_native.twin_fit, words(options, *map(_path, results)), progress=progress)
    return kept(outcome, lambda json: Twin(path, json))


def open(path: str | PathLike[str]) -> Twin:
    """Opens a twin by the path of its profile, which :func:`fit` wrote."""
    return Twin(Path(fspath(path)), _native.twin(fspath(path)))


def _path(result: Source) -> str:
    return str(result.path) if isinstance(result, (Measurement, Probe)) else fspath(result)
