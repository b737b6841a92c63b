"""flashscope: one instrument for flash storage.

    import flashscope as fs

    drive = fs.Drive("sim:demo", over_provisioning=0.28)
    fs.simulate(drive, fs.workload("zipf", exponent=0.9)).report.write_amplification
    result = fs.bench(drive, only=["granularity"])
    result.records(1)                   # an Arrow table, for Polars, pandas, DuckDB
    fs.query(result, "latency > 10ms")  # the IOs that match, in an Arrow table
    fs.compare("old.flashscope", result, fail_on_regression=0.05).regressions

Options have the names and values of the command line (``flashscope COMMAND --help``), and exceptions have its
messages. Long calls show a progress bar and release the GIL. Ctrl-C raises ``Interrupted``, with the result so far in
``Interrupted.partial``.
"""

from __future__ import annotations

from . import twin
from ._call import Interrupted, Note, Progress
from ._collection import collection
from ._compare import Comparison, Matches, compare, query
from ._drives import Drive, Kind, drives
from ._measure import bench, import_, predict, probe, simulate, verify
from ._native import Error, Failed, Table, UsageError
from ._native import version as __version__
from ._results import Collection, Measurement, Probe, Run, Simulation, Sweep, open
from ._sweep import sweep
from ._workloads import Trace, Workload, trace, workload, workloads

__all__ = [
    "Collection",
    "Comparison",
    "Drive",
    "Error",
    "Failed",
    "Interrupted",
    "Kind",
    "Matches",
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
    "collection",
    "compare",
    "drives",
    "import_",
    "open",
    "predict",
    "probe",
    "query",
    "simulate",
    "sweep",
    "trace",
    "twin",
    "verify",
    "workload",
    "workloads",
]
