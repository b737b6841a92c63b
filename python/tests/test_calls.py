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


# Is progress told, of what and how far, to whoever asks for it?
def test_progress(tmp_path: Path) -> None:
    steps: list[fs.Progress] = []
    fs.bench("sim:demo", output=tmp_path / "a.flashscope", progress=steps.append, **SHORT)
    assert "measuring" in {step.phase for step in steps}
    assert all(step.done <= step.total for step in steps if step.total is not None)
    assert any(step.now.startswith("granularity") for step in steps)


# Do other threads go on meanwhile?
def test_other_threads_go_on(tmp_path: Path) -> None:
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


# Does an exception of who is told of progress end the call, and come out of it?
def test_progress_may_fail(tmp_path: Path) -> None:
    def refuse(step: fs.Progress) -> None:
        raise ZeroDivisionError(step.phase)

    with pytest.raises(ZeroDivisionError):
        fs.bench("sim:demo", output=tmp_path / "a.flashscope", progress=refuse)
    assert fs.open(tmp_path / "a.flashscope").manifest.status == "interrupted"


# Does Ctrl-C end a measurement soon, and is what was measured kept, and gone on with?
def test_interrupted(tmp_path: Path) -> None:
    pressed: list[float] = []

    def press(step: fs.Progress) -> None:
        if not pressed and step.phase == "measuring":
            pressed.append(time.monotonic())
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as raised:
        fs.bench("sim:demo", output=tmp_path / "a.flashscope", progress=press, **SHORT)
    # What is asked for is 0.2 s; a machine that is busy with other tests may take longer.
    assert time.monotonic() - pressed[0] < 2
    assert isinstance(raised.value, fs.Interrupted)
    kept = raised.value.partial
    assert isinstance(kept, fs.Measurement)
    assert kept.manifest.status == "interrupted"
    done = len(kept.facts.runs)
    whole = fs.bench(resume=kept.path, progress=False)
    assert whole.manifest.status == "complete"
    assert len(whole.facts.runs) > done


# Does Ctrl-C end what has nothing to keep yet?
def test_interrupted_before_anything() -> None:
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        fs.predict(**LONG, progress=False)


# Does Ctrl-C end a simulation with what was simulated until then, the IOs included?
def test_interrupted_simulation() -> None:
    def press(step: fs.Progress) -> None:
        if step.phase == "measuring" and step.done > 0:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(fs.Interrupted) as raised:
        fs.simulate(**LONG, warmup="none", records=True, progress=press)
    partial = raised.value.partial
    assert partial.report.status == "interrupted"
    assert len(partial.records) == partial.report.ios > 0
