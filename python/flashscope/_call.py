"""How the commands are called: keywords become options, progress is shown, Ctrl-C keeps what was done."""

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
    """What the command line would print as a note."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a call, and ``partial`` is what was done until then."""

    def __init__(self, partial: Any) -> None:
        super().__init__("interrupted: what was done before is in `partial`")
        self.partial = partial


@dataclass(frozen=True)
class Progress:
    """How far a call is."""

    phase: str
    """What is done."""
    now: str
    """What of it is done now; may be empty."""
    done: int
    """So much of it is done."""
    total: int | None
    """Of so much, where that is known."""
    unit: str
    """What it is counted in: ``bytes``, ``count``, or ``share`` where only the share of the total means anything."""


ShowProgress = bool | Callable[[Progress], object] | None
"""Whether a bar is shown (by default where there is somebody to see it), or who is told instead."""


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


def _somebody_sees() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def call(
    function: Callable[..., tuple[T, bool]], *arguments: Any, progress: ShowProgress, keywords: bool = True
) -> tuple[T, bool]:
    """Calls a function of the extension module that takes its time. The answer says whether Ctrl-C ended it. Errors name
    options as keywords, unless the command line asked."""
    bar = _Bar()
    show: Callable[[Progress], object]
    if callable(progress):
        show = progress
    elif progress or (progress is None and _somebody_sees()):
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


def in_python(said: str) -> str:
    """What the command line says, with its options as keywords: ``--io-count <COUNT>`` is ``io_count``."""
    calls = re.sub(
        r"`flashscope ([a-z]+) --([a-z-]+) ([^`]+)`",
        lambda call: f"`{call[1]}({call[2].replace('-', '_')}={call[3]!r})`",
        said,
    )
    calls = calls.replace("choose another name with --output, or remove it", "choose another output, or say overwrite=True")
    option = r"(?<![\w-])--([a-z][a-z-]*)(?: <[A-Z_]+>)?"
    return re.sub(option, lambda name: name[1].replace("-", "_"), calls)


@contextmanager
def replacing(output: Any, overwrite: bool) -> Iterator[None]:
    """Where ``overwrite`` is set, puts the result at ``output`` aside. It goes once another took its place, and comes
    back where none did. What is no result raises ``UsageError``."""
    path = None if output is None else Path(output)
    if not overwrite or path is None or not path.exists():
        yield
        return
    _native.open(str(path))
    aside = path.with_name(f".{path.name}.replaced")
    if aside.exists():
        shutil.rmtree(aside)  # Left by a process that was killed when another had taken its place.
    path.rename(aside)
    try:
        yield
    finally:
        if path.exists():
            shutil.rmtree(aside)
        else:
            aside.rename(path)


def kept(outcome: tuple[S, bool], understand: Callable[[S], T]) -> T:
    """What a call came to; raises it as ``Interrupted`` where Ctrl-C ended it."""
    value, interrupted = outcome
    understood = understand(value)
    if interrupted:
        raise Interrupted(understood)
    return understood


def _note(text: str) -> None:
    warnings.warn(text, Note, stacklevel=5)


def words(options: Mapping[str, Any], *positional: str) -> list[str]:
    """Keywords as the options of the command line, before what has no name."""
    told = []
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if value is True:
            told.append(option)
        elif value is not None and value is not False:
            told.append(f"{option}={text(value)}")
    return [*told, "--", *positional] if positional else told


def text(value: Any) -> str:
    """A value as it is typed."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, timedelta):
        return f"{value // timedelta(microseconds=1)}us"
    if isinstance(value, (list, tuple)):
        return ",".join(text(item) for item in value)
    return str(value)


def spec(name: str, fields: Mapping[str, Any]) -> str:
    """A name with fields after ``?``; those of a dictionary have dotted names."""
    told = "&".join(f"{key}={text(value)}" for key, value in flat(fields))
    if not told:
        return name
    return f"{name}&{told}" if "?" in name else f"{name}?{told}"


def flat(fields: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Fields with their dotted names."""
    found: list[tuple[str, Any]] = []
    for key, value in fields.items():
        name = prefix + key.rstrip("_")
        if isinstance(value, Mapping):
            found += flat(value, f"{name}.")
        else:
            found.append((name, value))
    return found
