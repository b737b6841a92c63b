"""Opens a result in DuckDB and in Polars, and compares their values with its facts."""

import json
import pathlib
import sys

import duckdb
import polars

COLUMNS = [
    "submitted_ns", "latency_ns", "offset_bytes", "length_bytes", "op", "stream", "errno", "run",
    "late_ns",
]

result = pathlib.Path(sys.argv[1])
records = str(result / "records" / "*.parquet")
facts = json.loads((result / "facts.json").read_text())["runs"]
manifest = json.loads((result / "manifest.json").read_text())
ios = sum(
    run["progress"].get("ios", 0)
    for benchmark in manifest["micro_benchmarks"]
    for experiment in benchmark["experiments"]
    for run in experiment["runs"]
)
assert ios > 1_000_000, ios

checked = 0
with_duckdb = duckdb.sql(
    f"SELECT run, count(*), max(latency_ns), sum(errno) FROM '{records}' GROUP BY run"
).fetchall()
assert duckdb.sql(f"SELECT * FROM '{records}'").columns == COLUMNS
assert sum(row[1] for row in with_duckdb) == ios
slowest = {row[0]: row[2] for row in with_duckdb}
assert all(row[3] == 0 for row in with_duckdb)
for run in facts:
    if run["ignored"] == 0:
        assert slowest[run["run"]] == run["latency_ns"]["max"], run
        checked += 1
assert checked > 100, checked
print(f"DuckDB {duckdb.__version__}: {ios} IOs of {len(with_duckdb)} runs, {checked} maxima agree")

frame = polars.read_parquet(records)
assert frame.columns == COLUMNS and frame.height == ios
means = dict(frame.group_by("run").agg(polars.col("latency_ns").mean()).iter_rows())
checked = 0
for run in facts:
    if run["ignored"] == 0:
        mean = run["latency_ns"]["mean"]["value"]
        assert abs(means[run["run"]] - mean) < 1e-9 * mean, run
        checked += 1
assert checked > 100, checked
print(f"Polars {polars.__version__}: {frame.height} IOs, {checked} means agree")
print("2 passed, 0 failed")
