"""``python -m flashscope sweep OPTIONS``: what ``flashscope sweep --engine ray`` runs.

It says on standard output, as JSON, which folder it has written (``folder``), or what went wrong (``error``, and whether
that is a matter of what was asked for: ``usage``). It ends early, with what was done, once its standard input ends: so it
does not go on alone.
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


def _end_with_input(over: threading.Event) -> None:
    while os.read(0, 4096):
        pass
    if not over.is_set():
        _thread.interrupt_main()


def _sweep(words: list[str]) -> dict[str, object]:
    try:
        from ._ray import Cluster

        workers = Cluster()
        folder, _ = call(_native.sweep, words, None, workers, progress=None, keywords=False)
    except Error as error:
        return {"error": str(error), "usage": isinstance(error, UsageError)}
    except KeyboardInterrupt:
        return {"error": "interrupted before anything was simulated", "usage": False}
    return {"folder": folder}


def main(arguments: list[str]) -> int:
    """Does what the arguments say; the exit status."""
    if arguments[:1] != ["sweep"]:
        print("what is there: python -m flashscope sweep OPTIONS", file=sys.stderr)
        return 2
    with os.fdopen(os.dup(sys.stdout.fileno()), "w") as answer:
        # What others print is no answer.
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        over = threading.Event()
        threading.Thread(target=_end_with_input, args=(over,), daemon=True).start()
        said = _sweep(arguments[1:])
        over.set()
        json.dump(said, answer)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
