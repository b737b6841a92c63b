"""The commands: bench, import, probe, simulate, predict, verify."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, overload

from . import _native
from ._call import ShowProgress, call, kept, replacing, words
from ._decode import decode
from ._drives import Drive
from ._results import Collection, Measurement, Probe, Simulation, measurement
from ._workloads import Workload
from .documents.collection_prediction import CollectionPrediction
from .documents.prediction import PredictionReport
from .documents.verification import Verification

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import BenchOptions, ImportOptions, PredictOptions, ProbeOptions, SimulateOptions, VerifyOptions


def bench(
    drive: Drive | str | None = None,
    *,
    overwrite: bool = False,
    progress: ShowProgress = None,
    **options: Unpack[BenchOptions],
) -> Measurement:
    """Measures a drive with the micro-benchmarks of uFLIP, as ``flashscope bench`` does::

        bench("sim:demo", only=["granularity"])
        bench(resume="demo.flashscope")
        bench("null:", trace=trace("hm_0.csv.gz", remap="compact"))

    Before flashscope writes to a device or an existing file, ``destroy_data_on`` must repeat its path or
    serial number.
    ``overwrite`` replaces an existing result at ``output``, so that a notebook cell can run again.
    """
    positional = [] if drive is None else [str(drive)]
    if isinstance(replayed := options.get("trace"), Workload):
        options["trace"] = replayed.name.removeprefix("trace:")
    with replacing(options.get("output"), overwrite):
        outcome = call(_native.bench, words(options, *positional), progress=progress)
    return kept(outcome, measurement)


def import_(
    file: str | PathLike[str],
    *,
    overwrite: bool = False,
    progress: ShowProgress = None,
    **options: Unpack[ImportOptions],
) -> Measurement:
    """Imports a measurement of fio, as ``flashscope import`` does (docs/import.md)::

        import_("four.json", logs="logs", output="four.flashscope")

    ``overwrite`` works as in :func:`bench`.
    """
    with replacing(options.get("output"), overwrite):
        outcome = call(_native.import_, words(options, fspath(file)), progress=progress)
    return kept(outcome, measurement)


def probe(
    drive: Drive | str,
    *,
    overwrite: bool = False,
    progress: ShowProgress = None,
    **options: Unpack[ProbeOptions],
) -> Probe:
    """Infers the internals of a drive from its timing, as ``flashscope probe`` does. ``overwrite`` works as in
    :func:`bench`."""
    with replacing(options.get("output"), overwrite):
        outcome = call(_native.probe, words(options, str(drive)), progress=progress)
    return kept(outcome, lambda folder: Probe(Path(folder), (Path(folder) / "probe.json").read_text()))


def simulate(
    drive: Drive | str = "sim:demo",
    workload: Workload | str = "uniform",
    *,
    records: bool = False,
    overwrite: bool = False,
    progress: ShowProgress = None,
    **options: Unpack[SimulateOptions],
) -> Simulation:
    """Runs a workload on a simulated drive, as ``flashscope simulate`` does. ``records`` keeps each measured IO. The
    same seed gives the same numbers, except ``wall_ns`` and ``speed``. ``overwrite`` works as in
    :func:`bench`."""
    arguments = [*words(options), f"--drive={drive}", f"--workload={workload}"]
    if options.get("observe"):
        arguments.append("--json")  # The command line prints observations only as JSON.
    with replacing(options.get("output"), overwrite):
        outcome = call(_native.simulate, arguments, records, progress=progress)
    return kept(outcome, lambda simulated: Simulation(options.get("output"), *simulated))


@overload
def predict(
    drive: Drive | str = "sim:demo",
    workload: Workload | str = "uniform",
    *,
    collection: None = None,
    progress: ShowProgress = None,
    **options: Unpack[PredictOptions],
) -> PredictionReport: ...


@overload
def predict(
    drive: Drive | str = "sim:demo",
    *,
    collection: Collection | str | PathLike[str],
    progress: ShowProgress = None,
    **options: Unpack[PredictOptions],
) -> CollectionPrediction: ...


def predict(
    drive: Drive | str = "sim:demo",
    workload: Workload | str | None = None,
    *,
    collection: Collection | str | PathLike[str] | None = None,
    progress: ShowProgress = None,
    **options: Unpack[PredictOptions],
) -> PredictionReport | CollectionPrediction:
    """Predicts the performance of a workload on a simulated drive by closed-form models, as ``flashscope predict``
    does. The default workload is ``uniform``. ``grid`` predicts for a measured drive instead, and ``collection``
    predicts each volume of a :func:`collection` on a drive of its own."""
    arguments = words(options)
    if collection is not None:
        path = collection.path if isinstance(collection, Collection) else fspath(collection)
        arguments.append(f"--collection={path}")
    if workload is not None or collection is None:
        arguments.append(f"--workload={workload or 'uniform'}")
    if options.get("grid") is None:
        arguments.append(f"--drive={drive}")
    if collection is None:
        outcome = call(_native.predict, arguments, progress=progress)
        return kept(outcome, lambda json: decode(PredictionReport, json))
    outcome = call(_native.predict_collection, arguments, progress=progress)
    return kept(outcome, lambda json: decode(CollectionPrediction, json))


def verify(
    drive: Drive | str, *, progress: ShowProgress = None, **options: Unpack[VerifyOptions]
) -> Verification:
    """Verifies that a drive keeps its promises when its power is cut, as ``flashscope verify`` does (docs/verify.md)::

        verify("file:scratch.img?size=64MiB", journal="scratch.journal", writes=20_000).verdict
        verify("/dev/nvme1n1", journal="/mnt/usb/nvme1.journal", resume=True)

    Damaged data raises no exception: see ``verdict`` and ``findings``.
    """
    outcome = call(_native.verify, words(options, str(drive)), progress=progress)
    return kept(outcome, lambda json: decode(Verification, json))
