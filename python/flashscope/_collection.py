"""Collections of traces."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from . import _native
from ._call import ShowProgress, call, kept, replacing, words
from ._results import Collection

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import TraceCollectionOptions


def collection(
    *paths: str | PathLike[str],
    overwrite: bool = False,
    progress: ShowProgress = None,
    **options: Unpack[TraceCollectionOptions],
) -> Collection:
    """Summarizes many traces by volume, on all cores and in bounded memory, as ``flashscope trace collection`` does
    (docs/collections.md). Paths are files, folders and patterns::

        collection("tencent/*.csv.zst", format="tencent", output="tencent.flashscope")
        collection(resume="tencent.flashscope")

    Ctrl-C keeps the finished parts, and ``resume`` reads the others. ``overwrite`` works as in :func:`bench`.
    """
    with replacing(options.get("output"), overwrite):
        outcome = call(_native.collection, words(options, *(fspath(path) for path in paths)), progress=progress)
    return kept(outcome, lambda folder: Collection(Path(folder)))
