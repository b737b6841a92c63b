"""Twins."""

from pathlib import Path

import pytest

import flashscope as fs

SWEEP = "fill,write_amplification,mb_per_s\n600MiB,1.2550,144.6\n800MiB,1.7158,96.5\n923MiB,2.3639,65.7\n"


@pytest.fixture
def levels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A fill sweep in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("sweep.csv").write_text(SWEEP)
    return "sweep.csv"


def test_a_fill_sweep_becomes_a_drive(levels: str) -> None:
    twin = fs.twin.fit(levels, output="drive.toml", progress=False)
    assert twin.report.fill is not None
    assert len(twin.report.fill.levels) == 3
    assert all(abs(level.write_amplification_error or 1) < 0.01 for level in twin.check(levels).levels)
    predicted = twin.predict(fs.workload("uniform", size="4KiB"), ios=2000, warmup="none", draws=2, progress=False)
    assert (predicted.draws, predicted.ios) == (2, 2000)
    assert predicted.latency_ns.mean.low <= predicted.latency_ns.mean.value <= predicted.latency_ns.mean.high
    # The sweep does not state its queue depth: the prediction assumes 32.
    same = fs.simulate(twin.drive, "uniform?size=4KiB", ios=2000, warmup="none", queue_depth=32, progress=False)
    assert same.report.latency_ns is not None
    assert same.report.latency_ns.mean.value == pytest.approx(predicted.latency_ns.mean.value)
    assert fs.twin.open("drive.toml").report == twin.report


def test_a_twin_of_a_measurement_repeats_its_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    drive = fs.Drive(
        "sim:agrawal-2008",
        flash={"packages": 2, "dies_per_package": 1, "planes_per_die": 1, "blocks_per_plane": 64, "pages_per_block": 32},
        persistence={"map": "pages"},
        cleaning={"free_threshold": 0.04},
    )
    measured = fs.bench(drive, only=["granularity"], io_count=64, repeats=1, output="m.flashscope", progress=False)
    steps: list[fs.Progress] = []
    twin = fs.twin.fit(measured, progress=steps.append)
    assert {step.phase for step in steps} == {"fitting"}
    checked = twin.check(measured)
    compared = [(run.mean.measured, run.mean.predicted.value) for run in checked.runs]
    assert compared == [(run.measured_ns[0], run.twin_ns[0]) for run in twin.report.runs] != []


def test_wrong_sources_have_the_message_of_the_command_line(levels: str) -> None:
    Path("wrong.csv").write_text("fill,wa\n1GiB,2\n")
    for ask, says in [
        (lambda: fs.twin.fit("wrong.csv"), "line 1: the columns are `fill`, `wa`"),
        (lambda: fs.twin.fit(levels, output="drive"), "must end in .toml"),
        (lambda: fs.twin.fit(), "required"),
        (lambda: fs.twin.open("none.toml"), "none.twin.json"),
    ]:
        with pytest.raises(fs.UsageError, match=says):
            ask()
    fs.twin.fit(levels)
    with pytest.raises(fs.UsageError, match="drive.toml exists already"):
        fs.twin.fit(levels)
