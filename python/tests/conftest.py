import signal
from pathlib import Path

import pytest

import flashscope as fs

ROOT = Path(__file__).parents[2]

# A process that a shell starts in the background ignores Ctrl-C, and tests that send Ctrl-C would hang.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def traces() -> Path:
    return ROOT / "testdata" / "traces"


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> fs.Measurement:
    """A measurement of a simulated drive that takes about a second."""
    folder = tmp_path_factory.mktemp("measured") / "demo.flashscope"
    return fs.bench(
        "sim:demo", only=["granularity", "locality"], io_count=64, repeats=1, output=folder, progress=False
    )
