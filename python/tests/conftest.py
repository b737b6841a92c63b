import signal
from pathlib import Path

import pytest

import flashscope as fs

ROOT = Path(__file__).parents[2]

# A shell has what it starts in the background ignore Ctrl-C, and tests that press it would never end.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def traces() -> Path:
    return ROOT / "testdata" / "traces"


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> fs.Measurement:
    """A simulated drive, measured for a second or so."""
    folder = tmp_path_factory.mktemp("measured") / "demo.flashscope"
    return fs.bench(
        "sim:demo", only=["granularity", "locality"], io_count=64, repeats=1, output=folder, progress=False
    )
