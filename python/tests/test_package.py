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
    """Runs Python in another folder, so that it imports the installed package."""
    done = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_types_and_stubs_are_right(tmp_path: Path) -> None:
    run(tmp_path, "-m", "mypy", "--config-file", str(PYTHON / "pyproject.toml"), "-p", "flashscope")
    run(tmp_path, "-m", "mypy.stubtest", "flashscope._native")


def test_generated_files_are_up_to_date(tmp_path: Path) -> None:
    run(tmp_path, str(PYTHON / "tools" / "generate.py"), "--check")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_notebook_runs(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()


def test_there_is_a_notebook_for_each_question() -> None:
    assert len(NOTEBOOKS) == 4
