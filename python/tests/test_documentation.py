"""The examples of docs/python.md."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest

import flashscope as fs

ROOT = Path(__file__).parents[2]

# Calls that need a cluster or take minutes. They have their own tests.
APART = ("ray", "fs.bench", "fs.probe")


def examples() -> list[str]:
    """Returns the code of the page: the indented blocks from the import on."""
    text = (ROOT / "docs" / "python.md").read_text()
    blocks = re.findall(r"(?m)(?:^    .*\n(?:\n(?=    ))?)+", text[text.index("    import flashscope") :])
    return ["".join(line[4:] + "\n" for line in block.splitlines()) for block in blocks]


@pytest.mark.filterwarnings("ignore::flashscope.Note")
def test_every_example_of_the_page_runs(
    measured: fs.Measurement, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("docs", "testdata"):
        Path(name).symlink_to(ROOT / name)
    Path("old.flashscope").symlink_to(measured.path)
    import duckdb
    import pandas
    import polars
    import pyarrow

    names: dict[str, Any] = {"duckdb": duckdb, "pandas": pandas, "polars": polars, "pyarrow": pyarrow}
    names["table"] = names["records"] = measured.records(measured.facts.runs[0].run)
    statements = [statement for block in examples() for statement in ast.parse(block).body]
    run = 0
    for statement in statements:
        code = ast.unparse(statement)
        if not any(word in code for word in APART):
            print(code)
            exec(compile(code, "docs/python.md", "exec"), names)
            run += 1
    assert run > 15
