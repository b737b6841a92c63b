"""The results of commands, their tables, and traces."""

from pathlib import Path

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

import flashscope as fs

ROOT = Path(__file__).parents[2]


def test_a_measurement_has_its_plan_facts_and_ios(measured: fs.Measurement) -> None:
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


def test_libraries_read_a_table_without_a_copy(measured: fs.Measurement) -> None:
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
    assert memory[0] == memory[1], "both readers share the memory of the table"


def test_requests_have_the_names_of_their_volumes(traces: Path) -> None:
    trace = fs.trace(traces / "msr.csv")
    requests = pyarrow.table(trace.requests())
    facts = trace.facts()
    assert len(requests) == facts.requests.total > 0
    writes = sum(op == 1 for op in requests["op"].to_pylist())
    assert writes == len(requests.filter(pyarrow.compute.field("op") == 1))
    assert all(isinstance(name, str) for name in requests["volume"].to_pylist())
    half = fs.trace(traces / "msr.csv", ops="write").requests()
    assert len(half) == writes


def test_an_empty_table_has_the_columns_of_a_full_one(traces: Path) -> None:
    full = fs.trace(traces / "msr.csv").requests()
    none = fs.trace(traces / "msr.csv", ops="trim").requests()
    assert (len(none), none.columns) == (0, full.columns)
    assert pyarrow.table(none).schema == pyarrow.table(full).schema


def test_fields_change_a_prediction() -> None:
    drive = fs.Drive("sim:demo", background_cleaning=False)
    little = fs.predict(drive, "uniform", ios=100_000)
    more = fs.predict(drive.but(over_provisioning=0.5), "uniform", ios=100_000)
    assert more.write_amplification.value < little.write_amplification.value
    assert more.write_amplification.interval.low <= more.write_amplification.value
    assert fs.predict(drive, fs.workload("uniform"), ios=100_000).erases == little.erases


def test_a_probe_finds_the_page_size_and_keeps_its_ios(tmp_path: Path) -> None:
    probed = fs.probe("sim:demo", only=["page-size"], output=tmp_path / "p.flashscope", progress=False)
    page = probed["page-size"]
    assert page.finding.answer.kind == "value"
    assert page.finding.answer.low <= page.finding.answer.value <= page.finding.answer.high
    assert len(probed.records(1)) > 0
    assert isinstance(fs.open(probed.path), fs.Probe)
    with pytest.raises(KeyError):
        probed["colour"]


@pytest.mark.parametrize(("name", "kind"), [("v1", fs.Measurement), ("probed", fs.Probe), ("simulated", fs.Simulation)])
def test_results_of_earlier_versions_open(name: str, kind: type[object]) -> None:
    assert isinstance(fs.open(ROOT / "testdata" / "results" / f"{name}.flashscope"), kind)


def test_a_simulation_is_deterministic_and_counts_its_records() -> None:
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


def test_a_folder_keeps_the_observations(tmp_path: Path) -> None:
    seen = fs.simulate(ios=1000, observe=["cleaning"], output=tmp_path / "s.flashscope", progress=False)
    assert seen.report.observations.cleaning is not None
    kept = fs.open(tmp_path / "s.flashscope")
    assert isinstance(kept, fs.Simulation)
    assert kept.report == seen.report


def test_a_trace_is_replayed_completely(tmp_path: Path, traces: Path) -> None:
    trace = fs.trace(traces / "msr.csv", remap="compact", into="1GiB", pace="asap")
    played = fs.bench("null:", trace=trace, state="keep", output=tmp_path / "t.flashscope", progress=False)
    records = played.records(played.facts.runs[0].run)
    assert sorted(records.column("length_bytes")) == sorted(trace.requests().column("length_bytes"))
    two = fs.trace(traces / "msr.csv", traces / "spc.txt", merge="start")
    assert len(two.requests()) > len(records)
    with pytest.raises(fs.UsageError, match="trace convert"):
        fs.bench("null:", trace=two)


def test_notes_are_warnings(measured: fs.Measurement) -> None:
    with pytest.warns(fs.Note, match="nothing was left to run"):
        fs.bench(resume=measured.path, progress=False)
