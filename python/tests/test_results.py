"""Measuring, probing, predicting, and what is made of it."""

from pathlib import Path

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

import flashscope as fs

ROOT = Path(__file__).parents[2]


# Is what was measured there: the plan, the facts, and every IO?
def test_bench(measured: fs.Measurement) -> None:
    assert measured.manifest.status == "complete"
    assert [one.name for one in measured.manifest.micro_benchmarks] == ["granularity", "locality"]
    assert {run.progress.status for run in measured.runs} <= {"done", "skipped"}
    facts = measured.facts.runs[0]
    records = measured.records(facts.run)
    latencies = records.column("latency_ns")
    assert len(records) == facts.ios == 64
    assert facts.latency_ns.max == max(latencies)
    again = fs.open(measured.path)
    assert isinstance(again, fs.Measurement)
    assert again.manifest == measured.manifest


# Do all libraries read the same from a table, without copying it?
def test_arrow(measured: fs.Measurement) -> None:
    run = measured.facts.runs[0].run
    records = measured.records(run)
    arrow = pyarrow.table(records)
    (written,) = (measured.path / "records").glob(f"run-{run:05}-*.parquet")
    assert arrow.to_pydict() == pyarrow.parquet.read_table(written).drop("run").to_pydict()
    assert arrow.column_names == records.columns
    total = sum(records.column("latency_ns"))
    assert polars.DataFrame(records)["latency_ns"].sum() == total
    assert pandas.DataFrame.from_arrow(records)["latency_ns"].sum() == total
    assert duckdb.sql("SELECT sum(latency_ns) FROM records").fetchall() == [(total,)]
    memory = [pyarrow.table(records)["latency_ns"].chunk(0).buffers()[1].address for _ in range(2)]
    assert memory[0] == memory[1], "each has the memory of the table itself"


# Do requests of a trace come as the trace has them, with the names of their volumes?
def test_trace(traces: Path) -> None:
    trace = fs.trace(traces / "msr.csv")
    requests = pyarrow.table(trace.requests())
    facts = trace.facts()
    assert len(requests) == facts.requests.total > 0
    writes = sum(op == 1 for op in requests["op"].to_pylist())
    assert writes == len(requests.filter(pyarrow.compute.field("op") == 1))
    assert all(isinstance(name, str) for name in requests["volume"].to_pylist())
    half = fs.trace(traces / "msr.csv", ops="write").requests()
    assert len(half) == writes


# Does an empty selection of a trace have the columns of a full one?
def test_empty_table(traces: Path) -> None:
    full = fs.trace(traces / "msr.csv").requests()
    none = fs.trace(traces / "msr.csv", ops="trim").requests()
    assert (len(none), none.columns) == (0, full.columns)
    assert pyarrow.table(none).schema == pyarrow.table(full).schema


# Do fields of the drive and the workload change what is predicted, as they do on the drive?
def test_predict() -> None:
    drive = fs.Drive("sim:demo", background_cleaning=False)
    little = fs.predict(drive, "uniform", ios=100_000)
    more = fs.predict(drive.but(over_provisioning=0.5), "uniform", ios=100_000)
    assert more.write_amplification.value < little.write_amplification.value
    assert more.write_amplification.interval.low <= more.write_amplification.value
    assert fs.predict(drive, fs.workload("uniform"), ios=100_000).erases == little.erases


# Does a probe find the page of a simulated drive, and keep its IOs?
def test_probe(tmp_path: Path) -> None:
    found = fs.probe("sim:demo", only=["page-size"], output=tmp_path / "p.flashscope", progress=False)
    page = found["page-size"]
    assert page.finding.answer.kind == "value"
    assert page.finding.answer.low <= page.finding.answer.value <= page.finding.answer.high
    assert len(found.records(1)) > 0
    assert isinstance(fs.open(found.path), fs.Probe)
    with pytest.raises(KeyError):
        found["colour"]


# Do results of earlier versions and other kinds open?
@pytest.mark.parametrize(("name", "kind"), [("v1", fs.Measurement), ("probed", fs.Probe), ("simulated", fs.Simulation)])
def test_open(name: str, kind: type[object]) -> None:
    assert isinstance(fs.open(ROOT / "testdata" / "results" / f"{name}.flashscope"), kind)


# Is what is simulated that of the drive with its fields, each IO there that was counted, and all of it the same again?
def test_simulate() -> None:
    drive = fs.Drive("sim:demo", over_provisioning=0.28)
    first, second = (fs.simulate(drive, "uniform?reads=0.5", ios=5000, records=True, progress=False) for _ in range(2))
    assert first.report.write_amplification == second.report.write_amplification
    assert first.records.column("latency_ns") == second.records.column("latency_ns")
    assert len(first.records) == first.report.ios == 5000
    assert first.records.column("offset_bytes") == second.records.column("offset_bytes")
    assert sum(first.records.column("length_bytes")) == first.report.bytes_read + first.report.bytes_written
    assert len(set(first.records.column("offset_bytes"))) > 1000
    reads = [ns for op, ns in zip(first.records.column("op"), first.records.column("latency_ns"), strict=True) if op == 0]
    assert first.report.read_latency_ns.mean.value == pytest.approx(sum(reads) / len(reads))
    less = fs.simulate("sim:demo", "uniform?reads=0.5", ios=5000, progress=False)
    assert less.report.write_amplification > first.report.write_amplification
    with pytest.raises(fs.UsageError, match="records=True"):
        _ = less.records


# Do observers look in, and does a folder keep what they saw?
def test_simulate_in_a_folder(tmp_path: Path) -> None:
    seen = fs.simulate(ios=1000, observe=["cleaning"], output=tmp_path / "s.flashscope", progress=False)
    assert seen.report.observations.cleaning is not None
    kept = fs.open(tmp_path / "s.flashscope")
    assert isinstance(kept, fs.Simulation)
    assert kept.report == seen.report


# Is a trace played with each of its requests, and is one in several files refused where it would have to be played?
def test_played_trace(tmp_path: Path, traces: Path) -> None:
    trace = fs.trace(traces / "msr.csv", remap="compact", into="1GiB", pace="asap")
    played = fs.bench("null:", trace=trace, state="keep", output=tmp_path / "t.flashscope", progress=False)
    records = played.records(played.facts.runs[0].run)
    assert sorted(records.column("length_bytes")) == sorted(trace.requests().column("length_bytes"))
    two = fs.trace(traces / "msr.csv", traces / "spc.txt", merge="start")
    assert len(two.requests()) > len(records)
    with pytest.raises(fs.UsageError, match="trace convert"):
        fs.bench("null:", trace=two)


# Is what a user should know a warning with the words of the note?
def test_notes(measured: fs.Measurement) -> None:
    with pytest.warns(fs.Note, match="nothing was left to run"):
        fs.bench(resume=measured.path, progress=False)
