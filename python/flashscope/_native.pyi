from collections.abc import Callable, Iterator
from typing import Any, final

__all__ = [
    "Error",
    "Failed",
    "Table",
    "UsageError",
    "bench",
    "collection",
    "compare",
    "import_",
    "info",
    "ios",
    "kinds",
    "open",
    "options",
    "points",
    "predict",
    "predict_collection",
    "probe",
    "query",
    "records",
    "requests",
    "run_trial",
    "simulate",
    "sweep",
    "sweep_outcome",
    "trace_facts",
    "twin",
    "twin_check",
    "twin_fit",
    "twin_predict",
    "verify",
    "version",
    "what_if",
]

class Error(Exception):
    """An error of flashscope, with the message of the command line."""

class UsageError(Error):
    """A wrong argument or input."""

class Failed(Error):
    """A failure while a command ran."""

@final
class Table:
    """A table in memory, stored by columns. Libraries with Arrow's PyCapsule interface read it without a copy:
    ``pyarrow.table(t)``, ``polars.DataFrame(t)``, ``duckdb.sql("FROM records")``."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def __len__(self) -> int: ...
    @property
    def columns(self) -> list[str]: ...
    def column(self, name: str) -> list[Any]:
        """Returns the values of a column."""
    @property
    def nbytes(self) -> int: ...

version: str
"""The version of the package."""

_Show = Callable[..., object]
_Note = Callable[[str], None]

def bench(words: list[str], progress: _Show, note: _Note) -> tuple[str, bool]: ...
def predict_collection(words: list[str], progress: _Show, note: _Note) -> tuple[str, bool]: ...
def collection(words: list[str], progress: _Show, note: _Note) -> tuple[str, bool]: ...
def compare(
    words: list[str], documents: list[str | None], progress: _Show, note: _Note
) -> tuple[str, bool]: ...
def query(words: list[str], progress: _Show, note: _Note) -> tuple[tuple[str, Table], bool]: ...
def import_(words: list[str], progress: _Show, note: _Note) -> tuple[str, bool]: ...
def verify(words: list[str], progress: _Show, note: _Note) -> tuple[str, bool]: ...
def probe(words: list[str], progress: _Show, note: _Note) -> tuple[str, bool]: ...
def simulate(
    words: list[str], records: bool, progress: _Show, note: _Note
) -> tuple[tuple[str, Table | None], bool]: ...
def predict(words: list[str], progress: _Show, note: _Note) -> tuple[str, bool]: ...
def open(path: str) -> str: ...
def records(folder: str, run: int) -> Table: ...
def info(drive: str) -> str: ...
def ios(workload: str, capacity: int, logical_block: int, seed: int, count: int) -> Table: ...
def kinds(of: str) -> list[tuple[str, str, str]]: ...
def options(command: str) -> list[tuple[str, str, str]]: ...
def sweep(
    words: list[str],
    text: str | None,
    workers: Callable[[list[str], int | None], Iterator[list[str]]] | None,
    progress: _Show,
    note: _Note,
) -> tuple[str, bool]: ...
def sweep_outcome(folder: str) -> None: ...
def run_trial(trial: str, progress: _Show, note: _Note) -> tuple[str | None, bool]: ...
def points(folder: str) -> Table: ...
def twin(path: str) -> str: ...
def twin_fit(words: list[str], progress: _Show, note: _Note) -> tuple[str, bool]: ...
def twin_check(words: list[str], progress: _Show, note: _Note) -> tuple[str, bool]: ...
def twin_predict(words: list[str], progress: _Show, note: _Note) -> tuple[str, bool]: ...
def what_if(
    words: list[str], row: Callable[[str], object] | None, progress: _Show, note: _Note
) -> tuple[str, bool]: ...
def requests(
    files: list[str], fields: list[tuple[str, str]], progress: _Show, note: _Note
) -> tuple[Table, bool]: ...
def trace_facts(
    files: list[str], fields: list[tuple[str, str]], erase_block: str, progress: _Show, note: _Note
) -> tuple[str, bool]: ...
