"""Calls of commands: keywords become options, a bar shows progress, and Ctrl-C keeps the result so far."""

from __future__ import annotations

import re
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from tqdm import tqdm

from . import _native
from ._native import Error

S = TypeVar("S")
T = TypeVar("T")


class Note(UserWarning):
    """A note of the command line, as a warning."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C stopped a call; ``partial`` is the result so far."""

    def __init__(self, partial: Any) -> None:
        super().__init__("interrupted: the result so far is in `partial`")
        self.partial = partial


@dataclass(frozen=True)
class Progress:
    """The progress of a call."""

    phase: str
    """The current phase."""
    now: str
    """The current item of the phase; may be empty."""
    done: int
    """The amount done in this phase."""
    total: int | None
    """The total amount of this phase, if known."""
    unit: str
    """The unit of ``done`` and ``total``: ``bytes``, ``count``, or ``share`` if only their ratio has a meaning."""


CALLS = {
    "bench": "bench",
    "compare": "compare",
    "import": "import_",
    "predict": "predict",
    "probe": "probe",
    "query": "query",
    "simulate": "simulate",
    "sweep": "sweep",
    "trace collection": "collection",
    "twin check": "Twin.check",
    "twin fit": "twin.fit",
    "twin predict": "Twin.predict",
    "verify": "verify",
    "what-if": "Drive.what_if",
}
"""The functions of the package by the commands of the program."""

ShowProgress = bool | Callable[[Progress], object] | None
"""True for a bar, false for none, or a function to call instead. The default is a bar in a terminal or notebook."""


class _Bar:
    """A bar in a terminal or a notebook."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._phase = ""

    def __call__(self, step: Progress) -> None:
        if self._bar is None or self._phase != step.phase:
            self.close()
            self._phase = step.phase
            scaled = step.unit != "share"
            self._bar = tqdm(
                total=step.total,
                unit="B" if step.unit == "bytes" else "",
                unit_scale=scaled,
                leave=False,
                bar_format=None if scaled else "{l_bar}{bar}| {elapsed}<{remaining}",
            )
        self._bar.total = step.total
        self._bar.n = step.done
        self._bar.set_description(step.now or step.phase)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _is_interactive() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def call(
    function: Callable[..., tuple[T, bool]], *arguments: Any, progress: ShowProgress, keywords: bool = True
) -> tuple[T, bool]:
    """Calls a long function of the extension module. Returns its value, and true if Ctrl-C stopped it. Error messages
    name options as keywords, unless ``keywords`` is false."""
    bar = _Bar()
    show: Callable[[Progress], object]
    if callable(progress):
        show = progress
    elif progress or (progress is None and _is_interactive()):
        show = bar
    else:
        show = lambda _: None  # noqa: E731
    try:
        return function(*arguments, lambda *step: show(Progress(*step)), _note)
    except Error as error:
        if not keywords:
            raise
        raise type(error)(in_python(str(error))) from None
    finally:
        bar.close()


def in_python(message: str) -> str:
    """Rewrites a message of the command line for Python: ``--io-count <COUNT>`` becomes ``io_count``, and a command
    with at most one option becomes a call. Other commands stay, as do options of fio (``--output-format=json+``)."""
    command = "|".join(sorted(CALLS, key=len, reverse=True))
    calls = re.sub(rf"`flashscope ({command})(?: --([a-z-]+)(?: ([^`]+))?)?`", _call, message)
    calls = calls.replace("choose another name with --output, or remove it", "choose another output, or pass overwrite=True")
    option = r"(?<![\w-])--([a-z][a-z-]*)(?![\w=-])(?: <[A-Z_]+>)?"
    return re.sub(rf"`flashscope [^`]+`|{option}", lambda found: found[1].replace("-", "_") if found[1] else found[0], calls)


def _call(command: re.Match[str]) -> str:
    """Rewrites a command as a call."""
    name, option, value = CALLS[command[1]], command[2], command[3]
    if option is None or option == "json":
        return f"`{name}`"
    return f"`{name}({option.replace('-', '_')}={'...' if value is None else repr(value)})`"


@contextmanager
def replacing(output: Any, overwrite: bool) -> Iterator[None]:
    """With ``overwrite``, moves the old result at ``output`` aside. Deletes the old result once the new one exists,
    and restores it if no new one appears. Raises ``UsageError`` if ``output`` is no result."""
    path = None if output is None else Path(output)
    if not overwrite or path is None or not path.exists():
        yield
        return
    _native.open(str(path))
    aside = path.with_name(f".{path.name}.replaced")
    if aside.exists():
        shutil.rmtree(aside)  # Left behind by a process that was killed after it had begun its new result.
    path.rename(aside)
    try:
        yield
    finally:
        if path.exists():
            shutil.rmtree(aside)
        else:
            aside.rename(path)


def kept(outcome: tuple[S, bool], convert: Callable[[S], T]) -> T:
    """Converts the value of a call. Raises ``Interrupted`` with the value if Ctrl-C stopped the call."""
    value, interrupted = outcome
    converted = convert(value)
    if interrupted:
        raise Interrupted(converted)
    return converted


def _note(text: str) -> None:
    warnings.warn(text, Note, stacklevel=5)


def words(options: Mapping[str, Any], *positional: str) -> list[str]:
    """Converts keywords to options of the command line, followed by positional arguments."""
    result = []
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if value is True:
            result.append(option)
        elif value is not None and value is not False:
            result.append(f"{option}={text(value)}")
    return [*result, "--", *positional] if positional else result


def text(value: Any) -> str:
    """Formats a value as typed on the command line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, timedelta):
        return f"{value // timedelta(microseconds=1)}us"
    if isinstance(value, (list, tuple)):
        return ",".join(text(item) for item in value)
    return str(value)


def spec(name: str, fields: Mapping[str, Any]) -> str:
    """Appends fields to a name after ``?``; fields of a dictionary have dotted names."""
    query = "&".join(f"{key}={text(value)}" for key, value in flat(fields))
    if not query:
        return name
    return f"{name}&{query}" if "?" in name else f"{name}?{query}"


def flat(fields: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Flattens nested fields to pairs of dotted name and value."""
    pairs: list[tuple[str, Any]] = []
    for key, value in fields.items():
        name = prefix + key.rstrip("_")
        if isinstance(value, Mapping):
            pairs += flat(value, f"{name}.")
        else:
            pairs.append((name, value))
    return pairs
