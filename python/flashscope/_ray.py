"""The points of a sweep on a Ray cluster, which takes the package ``ray``."""

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
"""A task gives back what it has after so long, and the rest of its trials to others: so many short trials cost few
tasks, and with a worker little is lost."""
MOST = 1000
"""Trials of a task at most."""
AHEAD = 2
"""Tasks for each processor: one waits while another runs."""
PARTS = 4
"""A task takes such a part of what is left for its place, so that all places end at about the same time (guided
self-scheduling, Polychronopoulos and Kuck, IEEE Trans. Computers C-36(12), 1987)."""
RETRIES = 5
"""So often a task is run again where its worker was lost."""
LOOK_EVERY = 0.05
"""Seconds after which Ctrl-C is heard."""

VERSION = _native.version


def _run(folder: str, trials: list[str]) -> tuple[str, list[str]]:
    """Runs trials on a worker, as many as it comes to: its version of flashscope, and their rows."""
    if os.path.isdir(folder):
        os.chdir(folder)  # Names of files count from where the sweep was begun.
    rows: list[str] = []
    begun = monotonic()
    for trial in trials:
        row, _ = _native.run_trial(trial, _ignore, _ignore)
        if row is None:
            break
        rows.append(row)
        if monotonic() - begun > SECONDS:
            break
    return VERSION, rows


def _ignore(*_: object) -> None:
    """Nobody looks on at a worker."""


class Cluster:
    """Runs trials on the cluster that is connected, or on the one that ``ray.init`` finds or starts."""

    def __init__(self) -> None:
        if not ray.is_initialized():
            ray.init(log_to_driver=False, logging_level=logging.ERROR)
        self._resources: Callable[[], dict[str, float]] = ray.cluster_resources
        self._task = ray.remote(_run).options(num_cpus=1, max_retries=RETRIES)

    def __call__(self, trials: list[str], jobs: int | None) -> Iterator[list[str]]:
        """The rows of the trials, as they come, at most ``jobs`` at once."""
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
            size = min(MOST, max(1, len(waiting) // (PARTS * places)))
            batch = [waiting.popleft() for _ in range(size)]
            running[self._task.remote(os.getcwd(), batch)] = batch

    def _collect(self, waiting: deque[str], running: dict[Any, list[str]]) -> list[str]:
        """The rows that have come; what a task did not come to waits again."""
        first, _ = ray.wait(list(running), timeout=LOOK_EVERY)
        done, _ = ray.wait(list(running), num_returns=len(running), timeout=0) if first else ([], None)
        rows: list[str] = []
        for task in done:
            there, found = ray.get(task)
            if there != VERSION:
                raise UsageError(f"a worker has flashscope {there}, and here is {VERSION}: install the same on all nodes")
            rows += found
            waiting.extendleft(reversed(running.pop(task)[len(found) :]))
        return rows


def _last_line(error: Exception) -> str:
    """What an error of Ray says; of one with a traceback, what was raised."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1].strip() if lines else type(error).__name__
