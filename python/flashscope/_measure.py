"""The commands: bench, probe, simulate, predict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from . import _native
from ._call import ShowProgress, call, kept, replacing, words
from ._decode import decode
from ._drives import Drive
from ._results import Measurement, Probe, Simulation, measurement
from ._workloads import Workload
from .documents.prediction import PredictionReport

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import BenchOptions, PredictOptions, ProbeOptions, SimulateOptions


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

    To write to a device, or to a file that was there before, ``destroy_data_on`` has to name it again. With ``overwrite``,
    a result that is at ``output`` already is replaced, so that a cell of a notebook can be run again.
    """
    positional = [] if drive is None else [str(drive)]
    if isinstance(played := options.get("trace"), Workload):
        options["trace"] = played.name.removeprefix("trace:")
    with replacing(options.get("output"), overwrite):
        outcome = call(_native.bench, words(options, *positional), progress=progress)
    return kept(outcome, measurement)


def probe(
    drive: Drive | str,
    *,
    overwrite: bool = False,
    progress: ShowProgress = None,
    **options: Unpack[ProbeOptions],
) -> Probe:
    """Reads the internals of a drive from its timing, as ``flashscope probe`` does. ``overwrite`` is as of :func:`bench`."""
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
    """Runs a workload on a simulated drive, as ``flashscope simulate`` does; with ``records``, each IO that is
    measured is kept. The same seed gives the same numbers, but for ``wall_ns``. ``overwrite`` is as of :func:`bench`."""
    told = [*words(options), f"--drive={drive}", f"--workload={workload}"]
    if options.get("observe"):
        told.append("--json")  # The command line shows what observers saw in JSON alone.
    with replacing(options.get("output"), overwrite):
        outcome = call(_native.simulate, told, records, progress=progress)
    return kept(outcome, lambda found: Simulation(options.get("output"), *found))


def predict(
    drive: Drive | str = "sim:demo",
    workload: Workload | str = "uniform",
    *,
    progress: ShowProgress = None,
    **options: Unpack[PredictOptions],
) -> PredictionReport:
    """Predicts what a workload comes to on a simulated drive without simulating it, as ``flashscope predict``
    does; or, with ``grid``, on a drive by what was measured of it."""
    told = words(options) + [f"--workload={workload}"]
    if options.get("grid") is None:
        told.append(f"--drive={drive}")
    outcome = call(_native.predict, told, progress=progress)
    return kept(outcome, lambda json: decode(PredictionReport, json))
