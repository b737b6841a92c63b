from collections.abc import Callable
from typing import Any, final

__all__ = [
    "Error",
    "Failed",
    "Table",
    "UsageError",
    "bench",
    "info",
    "ios",
    "kinds",
    "open",
    "options",
    "predict",
    "probe",
    "records",
    "requests",
    "simulate",
    "trace_facts",
]

class Error(Exception):
    """Why flashscope did not do what was asked, in the words of the command line."""

class UsageError(Error):
    """What was asked cannot be done as it stands."""

class Failed(Error):
    """Something went wrong on the way."""

@final
class Table:
    """Rows in memory, by columns. Whatever knows Arrow's PyCapsule interface takes it without copying:
    ``pyarrow.table(t)``, ``polars.DataFrame(t)``, ``duckdb.sql("FROM records")``."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def __len__(self) -> int: ...
    @property
    def columns(self) -> list[str]: ...
    def column(self, name: str) -> list[Any]:
        """The values of a column."""
    @property
    def nbytes(self) -> int: ...

_Show = Callable[..., object]
_Note = Callable[[str], None]

def bench(words: list[str], progress: _Show, note: _Note) -> tuple[str, bool]: ...
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
def requests(
    files: list[str], fields: list[tuple[str, str]], progress: _Show, note: _Note
) -> tuple[Table, bool]: ...
def trace_facts(
    files: list[str], fields: list[tuple[str, str]], erase_block: str, progress: _Show, note: _Note
) -> tuple[str, bool]: ...
