"""flashscope: one instrument for flash storage.

    import flashscope as fs

    drive = fs.Drive("sim:demo", over_provisioning=0.28)
    fs.simulate(drive, fs.workload("zipf", exponent=0.9)).report.write_amplification
    result = fs.bench(drive, only=["granularity"])
    result.records(1)                   # an Arrow table, for Polars, pandas, DuckDB

Options are those of the command line, with the same names and values (``flashscope COMMAND --help``); what cannot
be done is said in the same words, as an exception. Long calls show a bar, leave the interpreter to other threads,
and keep what was done when Ctrl-C ends them (``Interrupted.partial``).
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
