"""flashscope: one instrument for flash storage.

    import flashscope as fs

    drive = fs.Drive("sim:demo", over_provisioning=0.28)
    fs.simulate(drive, fs.workload("zipf", exponent=0.9)).report.write_amplification
    result = fs.bench(drive, only=["granularity"])
    result.records(1)                   # an Arrow table, for Polars, pandas, DuckDB

Options have the names and values of the command line (``flashscope COMMAND --help``), and exceptions have its
messages. Long calls show a progress bar and release the GIL. Ctrl-C raises ``Interrupted``, with the result so far in
``Interrupted.partial``.
"""

from __future__ import annotations

from . import twin
from ._call import Interrupted, Note, Progress
from ._drives import Drive, Kind, drives
from ._measure import bench, predict, probe, simulate
from ._native import Error, Failed, Table, UsageError
from ._native import version as __version__
from ._results import Measurement, Probe, Run, Simulation, Sweep, open
from ._sweep import sweep
from ._workloads import Trace, Workload, trace, workload, workloads

__all__ = [
    "Drive",
    "Error",
    "Failed",
    "Interrupted",
    "Kind",
    "Measurement",
    "Note",
    "Probe",
    "Progress",
    "Run",
    "Simulation",
    "Sweep",
    "Table",
    "Trace",
    "UsageError",
    "Workload",
    "__version__",
    "bench",
    "drives",
    "open",
    "predict",
    "probe",
    "simulate",
    "sweep",
    "trace",
    "twin",
    "workload",
    "workloads",
]
