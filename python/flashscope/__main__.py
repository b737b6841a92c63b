"""``python -m flashscope sweep OPTIONS``: the process that ``flashscope sweep --engine ray`` starts.

It writes JSON to standard output: the ``folder`` of the result, or an ``error`` with ``usage``, which is true for a wrong
argument or input. It stops early and keeps the rows so far when its standard input closes, so it does not outlive the
process that started it.
"""

from __future__ import annotations

import _thread
import json
import os
import sys
import threading

from . import _native
from ._call import call
from ._native import Error, UsageError


def _stop_with_input(done: threading.Event) -> None:
    """Interrupts the main thread when standard input closes."""
    while os.read(0, 4096):
        pass
    if not done.is_set():
        _thread.interrupt_main()


def _sweep(words: list[str]) -> dict[str, object]:
    try:
        from ._ray import Cluster

        workers = Cluster()
        folder, _ = call(_native.sweep, words, None, workers, progress=None, keywords=False)
    except Error as error:
        return {"error": str(error), "usage": isinstance(error, UsageError)}
    except KeyboardInterrupt:
        return {"error": "interrupted before the first simulation", "usage": False}
    return {"folder": folder}


def main(arguments: list[str]) -> int:
    """Runs the command in ``arguments``; returns the exit status."""
    if arguments[:1] != ["sweep"]:
        print("usage: python -m flashscope sweep OPTIONS", file=sys.stderr)
        return 2
    with os.fdopen(os.dup(sys.stdout.fileno()), "w") as output:
        # Libraries may print; their output goes to standard error.
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        done = threading.Event()
        threading.Thread(target=_stop_with_input, args=(done,), daemon=True).start()
        outcome = _sweep(arguments[1:])
        done.set()
        json.dump(outcome, output)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
