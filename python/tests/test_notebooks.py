"""Tables in notebooks, keywords in error messages, and cells that run again."""

from pathlib import Path

import pytest

import flashscope as fs
from flashscope._call import in_python


def test_the_version_is_that_of_the_module() -> None:
    assert fs.__version__.count(".") == 2


def test_results_show_themselves_as_tables(measured: fs.Measurement) -> None:
    shown = measured._repr_html_()
    assert shown.startswith("<table>") and shown.count("<tr>") == len(measured.runs) + 1
    simulated = fs.simulate("demo", "uniform", ios=1000)._repr_html_()
    assert "write amplification" in simulated and "mean of writes" in simulated


def test_names_are_escaped(tmp_path: Path) -> None:
    drive = tmp_path / "<b>.img"
    result = fs.bench(f"file:{drive}?size=1MiB", only=["granularity"], io_count=8, run_pause="0ms", output=tmp_path / "r")
    assert "<b>.img" not in result._repr_html_()


def test_an_unknown_run_raises(measured: fs.Measurement) -> None:
    with pytest.raises(KeyError, match="no run 99999"):
        measured.records(99999)


def test_errors_name_keywords() -> None:
    with pytest.raises(fs.UsageError) as raised:
        fs.simulate("demo", ios=0)
    assert "--" not in str(raised.value) and "ios" in str(raised.value)
    message = in_python("kept; go on with `flashscope bench --resume a/b.flashscope`, or --io-count <COUNT>")
    assert message == "kept; go on with `bench(resume='a/b.flashscope')`, or io_count"


def test_a_cell_runs_again_and_replaces_only_its_result(tmp_path: Path) -> None:
    cells = {
        "bench": lambda: fs.bench("null:", only=["order"], read_only=True, io_count=4, output=tmp_path / "bench", overwrite=True),
        "simulate": lambda: fs.simulate(ios=100, warmup="none", output=tmp_path / "simulate", overwrite=True),
    }
    for name, cell in cells.items():
        cell()
        before = (tmp_path / name).stat().st_ino
        cell()
        assert (tmp_path / name).stat().st_ino != before
    fs.open(tmp_path / "bench")
    with pytest.raises(fs.UsageError):
        fs.simulate("sim:nothing", output=tmp_path / "simulate", overwrite=True)
    assert fs.open(tmp_path / "simulate").report.ios == 100, "a refused call replaces nothing"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years")
    with pytest.raises(fs.UsageError):
        fs.simulate(ios=100, warmup="none", output=tmp_path / "mine", overwrite=True)
    assert (tmp_path / "mine" / "thesis.tex").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bench", "mine", "simulate"]
