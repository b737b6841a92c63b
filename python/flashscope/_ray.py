"""Runs the points of a sweep on a Ray cluster; needs the package ``ray``."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

from . import _native
from ._native import Failed, UsageError

try:
    import ray
    from ray.exceptions import RayError
except ImportError as error:
    raise UsageError("--engine ray needs Ray: python -m pip install ray") from error

SECONDS = 1.0
"""The time in seconds after which a task returns its rows; other tasks run its remaining trials. Short trials thus
share a task, and little work is lost with a worker."""
MAX_PART = 1000
"""The maximum number of trials in a task."""
AHEAD = 2
"""The number of tasks for each CPU: one task waits while another runs."""
PARTS = 4
"""A task takes its share of the remaining trials, divided by ``PARTS``, so that all CPUs finish at about the same time
(guided self-scheduling, Polychronopoulos and Kuck, IEEE Trans. Computers C-36(12), 1987)."""
RETRIES = 5
"""The maximum number of times that a task runs again after its worker was lost."""
INTERVAL = 0.05
"""The time in seconds between two checks for Ctrl-C."""

VERSION = _native.version


def _run(folder: str, trials: list[str]) -> tuple[str, list[str]]:
    """Runs trials on a worker for ``SECONDS``. Returns the worker's version of flashscope and the rows."""
    if os.path.isdir(folder):
        os.chdir(folder)  # Paths are relative to the folder in which the sweep was started.
    rows: list[str] = []
    start = monotonic()
    for trial in trials:
        row, _ = _native.run_trial(trial, _ignore, _ignore)
        if row is None:
            break
        rows.append(row)
        if monotonic() - start > SECONDS:
            break
    return VERSION, rows


def _ignore(*_: object) -> None:
    """Discards progress and notes of a worker."""


class Cluster:
    """Runs trials on the connected cluster, or on the cluster that ``ray.init`` finds or starts."""

    def __init__(self) -> None:
        if not ray.is_initialized():
            ray.init(log_to_driver=False, logging_level=logging.ERROR)
        self._resources: Callable[[], dict[str, float]] = ray.cluster_resources
        self._task = ray.remote(_run).options(num_cpus=1, max_retries=RETRIES)

    def __call__(self, trials: list[str], jobs: int | None) -> Iterator[list[str]]:
        """Yields the rows of the trials as they are ready; runs at most ``jobs`` tasks at once."""
        waiting, running = deque(trials), dict[Any, list[str]]()
        try:
            while waiting or running:
                self._hand_out(waiting, running, jobs)
                yield self._collect(waiting, running)
        except RayError as error:
            raise Failed(f"Ray: {_last_line(error)}") from error
        finally:
            for task in running:
                ray.cancel(task)

    def _hand_out(self, waiting: deque[str], running: dict[Any, list[str]], jobs: int | None) -> None:
        processors = max(1, int(self._resources().get("CPU", 1)))
        places = AHEAD * processors if jobs is None else min(AHEAD * processors, jobs)
        while waiting and len(running) < places:
            size = min(MAX_PART, max(1, len(waiting) // (PARTS * places)))
            batch = [waiting.popleft() for _ in range(size)]
            running[self._task.remote(os.getcwd(), batch)] = batch

    def _collect(self, waiting: deque[str], running: dict[Any, list[str]]) -> list[str]:
        """Returns the rows that are ready. Trials that a task did not run wait again."""
        first, _ = ray.wait(list(running), timeout=INTERVAL)
        done, _ = ray.wait(list(running), num_returns=len(running), timeout=0) if first else ([], None)
        rows: list[str] = []
        for task in done:
            version, finished = ray.get(task)
            if version != VERSION:
                raise UsageError(f"a worker has flashscope {version}, and here is {VERSION}: install one version on all nodes")
            rows += finished
            waiting.extendleft(reversed(running.pop(task)[len(finished) :]))
        return rows


def _last_line(error: Exception) -> str:
    """Returns the last line of an error of Ray, which is the exception if the error has a traceback."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1].strip() if lines else type(error).__name__
