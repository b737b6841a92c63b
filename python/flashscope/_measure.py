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

    ``destroy_data_on`` must repeat the name of a device or an existing file before flashscope writes to it.
    ``overwrite`` replaces an existing result at ``output``, so that a notebook cell can run again.
    """
    positional = [] if drive is None else [str(drive)]
    if isinstance(replayed := options.get("trace"), Workload):
        options["trace"] = replayed.name.removeprefix("trace:")
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


def predict(
    drive: Drive | str = "sim:demo",
    workload: Workload | str = "uniform",
    *,
    progress: ShowProgress = None,
    **options: Unpack[PredictOptions],
) -> PredictionReport:
    """Predicts the performance of a workload on a simulated drive by closed-form models, as ``flashscope predict``
    does. ``grid`` predicts for a measured drive instead."""
    arguments = words(options) + [f"--workload={workload}"]
    if options.get("grid") is None:
        arguments.append(f"--drive={drive}")
    outcome = call(_native.predict, arguments, progress=progress)
    return kept(outcome, lambda json: decode(PredictionReport, json))
