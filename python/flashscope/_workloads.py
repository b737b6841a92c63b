"""Workloads and traces, by their names."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from typing import Any

from . import _native
from ._call import ShowProgress, call, kept, spec, text
from ._decode import decode
from ._drives import Drive, Kind
from ._native import Table, UsageError
from .documents.trace import TraceFacts


REPLAY_FIELDS = ("pace", "queue_depth")
"""The fields of a trace that control its replay; the other fields control how the trace is read."""


class Workload:
    """A workload, by its name such as ``zipf?exponent=0.9``; :func:`workload` creates one."""

    def __init__(self, name: str, **fields: Any) -> None:
        self._name = spec(name, fields)

    @property
    def name(self) -> str:
        """The name with its fields."""
        return self._name

    def ios(self, count: int, drive: Drive | str = "sim:demo", *, seed: int = 1) -> Table:
        """Returns the first ``count`` IOs that the workload issues to a drive that completes each IO at once."""
        info = (drive if isinstance(drive, Drive) else Drive(drive)).info()
        return _native.ios(self.name, info.capacity_bytes, info.logical_block_bytes, seed, count)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class Trace(Workload):
    """A trace in files; :func:`trace` creates one."""

    def __init__(self, files: Sequence[str | PathLike[str]], **fields: Any) -> None:
        self.files = [fspath(file) for file in files]
        read = {name.rstrip("_"): text(value) for name, value in fields.items()}
        self._read = [(name, value) for name, value in read.items() if name not in REPLAY_FIELDS]
        super().__init__(f"trace:{self.files[0]}", **fields)

    @property
    def name(self) -> str:
        """The name of the trace as a workload."""
        if len(self.files) > 1:
            raise UsageError("only a trace in one file can be a workload: merge the files with `flashscope trace convert`")
        return self._name

    def requests(self, *, progress: ShowProgress = None) -> Table:
        """Returns all requests, in the order of the trace. Loads all of them into memory."""
        outcome = call(_native.requests, self.files, self._read, progress=progress)
        return kept(outcome, lambda table: table)

    def facts(self, *, erase_block: int | str = "128KiB", progress: ShowProgress = None) -> TraceFacts:
        """Returns statistics: sizes, footprint, locality, bursts, and warnings."""
        outcome = call(_native.trace_facts, self.files, self._read, text(erase_block), progress=progress)
        return kept(outcome, lambda json: decode(TraceFacts, json))


def workload(name: str, **fields: Any) -> Workload:
    """Creates a workload from its name, with its fields as keywords::

        workload("zipf", exponent=0.9, reads=0.3)
        workload("uflip:granularity/RW")
    """
    return Workload(name, **fields)


def trace(*files: str | PathLike[str], **fields: Any) -> Trace:
    """Creates a trace from files, merged by time. Keywords set how the trace is read, transformed and replayed::

        trace("hm_0.csv.gz", remap="compact", speed=10)
    """
    return Trace(files, **fields)


def workloads() -> list[Kind]:
    """Returns the workloads that come with flashscope."""
    return [Kind(name, summary, source) for name, summary, source in _native.kinds("workloads")]
