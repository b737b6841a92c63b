"""The package itself: types, generated modules, notebooks."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

PYTHON = Path(__file__).parents[1]
NOTEBOOKS = sorted((PYTHON / "notebooks").glob("*.ipynb"))


def run(folder: Path, *command: str) -> None:
    """Runs Python in a folder, so that what it finds is what was installed."""
    done = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# Are all types right, and do the stubs say what the extension module has?
def test_types(tmp_path: Path) -> None:
    run(tmp_path, "-m", "mypy", "--config-file", str(PYTHON / "pyproject.toml"), "-p", "flashscope")
    run(tmp_path, "-m", "mypy.stubtest", "flashscope._native")


# Is what is generated up to date?
def test_generated(tmp_path: Path) -> None:
    run(tmp_path, str(PYTHON / "tools" / "generate.py"), "--check")


# Does each notebook run, and is there one for each question?
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()


def test_notebooks_are_there() -> None:
    assert len(NOTEBOOKS) == 4
