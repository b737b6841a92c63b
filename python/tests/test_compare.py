"""Comparisons, searches for IOs, and imports."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.compute
import pytest

import flashscope as fs
from flashscope._call import in_python
from flashscope._decode import decode, encode
from flashscope.documents.simulation import Simulation

FIO = Path(__file__).parents[2] / "testdata" / "fio" / "four.json"
DRIVE = fs.Drive("sim:demo", flash={"blocks_per_plane": 64})
SHORT = {"ios": 2000, "warmup": "1x", "progress": False}


def press(step: fs.Progress) -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[fs.Simulation, fs.Simulation]:
    """A simulation in a folder, and one in memory with slower page programs."""
    place = tmp_path_factory.mktemp("pair")
    old = fs.simulate(DRIVE, seed=1, output=place / "old.flashscope", **SHORT)
    return old, fs.simulate(DRIVE.but(flash={"page_program": "400us"}), seed=2, **SHORT)


def test_results_compare_as_objects_and_as_paths(pair: tuple[fs.Simulation, fs.Simulation], tmp_path: Path) -> None:
    old, new = pair
    assert old.path is not None
    (tmp_path / "simulation.json").write_text(encode(new.report))
    by_object = fs.compare(old, new)
    by_path = fs.compare(old.path, str(tmp_path / "simulation.json"))
    assert by_object.report == by_path.report
    assert [result.name for result in by_object.report.results] == ["old", "simulation"]
    assert [result.kind for result in by_object.report.results] == ["simulation", "simulation"]


def test_regressions_are_a_list_and_no_exception(pair: tuple[fs.Simulation, fs.Simulation]) -> None:
    found = fs.compare(*pair, fail_on_regression="5%").regressions
    assert "latency_ns.mean" in [regression.quantity for regression in found]
    assert all(regression.loss.value > 0.05 for regression in found)
    assert fs.compare(*pair[::-1], fail_on_regression=0.05).regressions == []
    with pytest.raises(fs.UsageError, match="fail_on_regression=0.05"):
        _ = fs.compare(*pair).regressions


def test_a_comparison_shows_its_conclusion_and_each_number(pair: tuple[fs.Simulation, fs.Simulation]) -> None:
    compared = fs.compare(*pair)
    shown = compared._repr_html_()
    rows = sum(len(workload.quantities) for workload in compared.report.workloads)
    assert shown.count("<tr>") == rows + 1
    assert compared.report.conclusions[0].text in shown and "worse" in shown
    assert repr(compared) == "<Comparison of simulation with old: 1 workloads>"


def test_documents_of_every_kind_compare(pair: tuple[fs.Simulation, fs.Simulation], measured: fs.Measurement) -> None:
    what_if = DRIVE.what_if("uniform", {"over_provisioning": 0.3}, repeats=2, **SHORT)
    predicted = fs.predict(DRIVE, "uniform", ios=100_000, progress=False)
    compared = fs.compare(pair[1], what_if, predicted)
    kinds = [result.kind for result in compared.report.results]
    assert kinds == ["simulation", "what_if", "what_if", "prediction"]
    assert fs.compare(measured, measured.path).report.experiments != []


def test_encoding_a_document_reverses_decoding(pair: tuple[fs.Simulation, fs.Simulation]) -> None:
    document = pair[1].report
    assert decode(Simulation, encode(document)) == document


def test_matches_equal_a_filter_of_the_records(measured: fs.Measurement) -> None:
    found = fs.query(measured, "op = write and latency > 300us", limit=1_000_000, progress=False)
    expected = []
    for run in measured.facts.runs:
        records = pyarrow.table(measured.records(run.run))
        slow = pyarrow.compute.and_(
            pyarrow.compute.equal(records["op"], 1), pyarrow.compute.greater(records["latency_ns"], 300_000)
        )
        expected += records.filter(slow)["latency_ns"].to_pylist()
    assert found.records.column("latency_ns") == sorted(expected, reverse=True) != []
    assert found.report.matched == len(found.records) == sum(run.matched for run in found.report.runs)
    table = pyarrow.table(found)
    assert table.column_names == ["run", "position", *measured.records(measured.facts.runs[0].run).columns]
    slowest = measured.records(table["run"][0].as_py()).column("latency_ns")
    assert slowest[table["position"][0].as_py()] == table["latency_ns"][0].as_py()
    assert found._repr_html_().count("<tr>") == len(found.report.runs) + 1


def test_the_limit_leaves_out_the_fastest_matches(measured: fs.Measurement) -> None:
    every = fs.query(measured.path, "op = write", limit=1_000_000)
    few = fs.query(measured.path, "op = write", limit=3)
    assert few.records.column("latency_ns") == every.records.column("latency_ns")[:3]
    assert few.report.matched == every.report.matched
    none = fs.query(measured, "errno != 0")
    assert (len(none.records), none.report.matched, none.records.columns) == (0, 0, every.records.columns)


def test_fio_imports_as_a_measurement(tmp_path: Path) -> None:
    fio = fs.import_(FIO, output=tmp_path / "fio.flashscope", progress=False)
    assert [one.name for one in fio.manifest.micro_benchmarks] == ["fio"]
    assert len(fio.records(1)) == fio.facts.runs[0].ios > 0
    assert isinstance(fs.open(fio.path), fs.Measurement)
    with pytest.raises(fs.UsageError, match="exists already.*overwrite=True"):
        fs.import_(FIO, output=fio.path)
    again = fs.import_(FIO, output=fio.path, overwrite=True)
    assert again.manifest.imported == fio.manifest.imported


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda result: fs.compare(result), "compare takes two to 6 results, not 1"),
        (lambda result: fs.compare(result, "nowhere"), "nowhere is not a result"),
        (lambda result: fs.compare(result, result, fail_on_regression="much"), "invalid value 'much' for 'fail_on_regression"),
        (lambda result: fs.compare(result, FIO), "four.json is not the JSON of `simulate`, `what-if`, `predict` or `twin predict`"),
        (lambda result: fs.query(result, "op = write and latncy > 1ms"), r"did you mean `latency`\?\)\n +op = write and latncy > 1ms\n {17}\^{6}$"),
        (lambda result: fs.query(result, "op = write", limti=3), "tip: a similar argument exists: 'limit'"),
        (lambda result: fs.import_(__file__), "is not the output of fio --output-format=json+"),
        (lambda result: fs.import_(FIO, smart_after="x.json"), "smart_before"),
    ],
)
def test_errors_are_in_the_words_of_python(
    ask: Callable[[fs.Measurement], object], says: str, measured: fs.Measurement, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fs.UsageError, match=says.replace("json+", r"json\+")):
        ask(measured)
    assert list(tmp_path.iterdir()) == [], "a refused call leaves nothing behind"


def test_commands_in_messages_become_calls() -> None:
    for message, call in {
        "`flashscope trace collection --resume a/b`": "`collection(resume='a/b')`",
        "`flashscope twin predict --json`": "`Twin.predict`",
        "`flashscope simulate --output`": "`simulate(output=...)`",
        "`flashscope trace convert`": "`flashscope trace convert`",
        "`flashscope attach sim:a --fuse FOLDER`": "`flashscope attach sim:a --fuse FOLDER`",
        "with --log_avg_msec=0, or --logs": "with --log_avg_msec=0, or logs",
    }.items():
        assert in_python(message) == call


@pytest.mark.parametrize(
    "call",
    [
        lambda result, place: fs.compare(result, result, progress=press),
        lambda result, place: fs.query(result, "op = write", progress=press),
        lambda result, place: fs.import_(FIO, output=place / "fio", progress=press),
    ],
)
def test_ctrl_c_stops_a_call(call: Callable[[fs.Measurement, Path], Any], measured: fs.Measurement, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        call(measured, tmp_path)
