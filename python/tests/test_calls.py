"""Long calls: progress, other threads, Ctrl-C."""

import _thread
import signal
import threading
import time
from pathlib import Path

import pytest

import flashscope as fs

LONG = {"drive": "sim:demo", "workload": "uniform", "ios": 1_000_000_000}
SHORT = {"only": ["granularity"], "repeats": 1}


def test_progress_names_the_phase_and_the_item(tmp_path: Path) -> None:
    steps: list[fs.Progress] = []
    fs.bench("sim:demo", output=tmp_path / "a.flashscope", progress=steps.append, **SHORT)
    assert "measuring" in {step.phase for step in steps}
    assert all(step.done <= step.total for step in steps if step.total is not None)
    assert any(step.now.startswith("granularity") for step in steps)


def test_other_threads_run_during_a_call(tmp_path: Path) -> None:
    count, ended = 0, threading.Event()

    def counting() -> None:
        nonlocal count
        while not ended.wait(0.001):
            count += 1

    thread = threading.Thread(target=counting)
    thread.start()
    counts: list[int] = []
    fs.bench("sim:demo", output=tmp_path / "a.flashscope", progress=lambda _: counts.append(count), **SHORT)
    ended.set()
    thread.join()
    assert counts[-1] > counts[0]


def test_an_exception_of_the_progress_function_stops_the_call(tmp_path: Path) -> None:
    def refuse(step: fs.Progress) -> None:
        raise ZeroDivisionError(step.phase)

    with pytest.raises(ZeroDivisionError):
        fs.bench("sim:demo", output=tmp_path / "a.flashscope", progress=refuse)
    assert fs.open(tmp_path / "a.flashscope").manifest.status == "interrupted"


def test_ctrl_c_stops_a_measurement_which_can_be_resumed(tmp_path: Path) -> None:
    pressed: list[float] = []

    def press(step: fs.Progress) -> None:
        if not pressed and step.phase == "measuring":
            pressed.append(time.monotonic())
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as raised:
        fs.bench("sim:demo", output=tmp_path / "a.flashscope", progress=press, **SHORT)
    # The goal is 0.2 s; a busy machine may take longer.
    assert time.monotonic() - pressed[0] < 2
    assert isinstance(raised.value, fs.Interrupted)
    kept = raised.value.partial
    assert isinstance(kept, fs.Measurement)
    assert kept.manifest.status == "interrupted"
    done = len(kept.facts.runs)
    whole = fs.bench(resume=kept.path, progress=False)
    assert whole.manifest.status == "complete"
    assert len(whole.facts.runs) > done


def test_ctrl_c_stops_a_call_without_a_result() -> None:
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        # No steady-state model covers writes of several sizes, so this prediction processes each request.
        fs.predict(**LONG | {"workload": "uniform?size=geometric:8KiB"}, progress=False)


def test_ctrl_c_keeps_the_ios_of_a_simulation() -> None:
    def press(step: fs.Progress) -> None:
        if step.phase == "measuring" and step.done > 0:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(fs.Interrupted) as raised:
        fs.simulate(**LONG, warmup="none", records=True, progress=press)
    partial = raised.value.partial
    assert partial.report.status == "interrupted"
    assert len(partial.records) == partial.report.ios > 0
