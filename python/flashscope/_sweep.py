"""Sweeps over design spaces."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import tomli_w

from . import _native
from ._call import ShowProgress, call, kept, replacing, text, words
from ._results import Sweep

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import SweepOptions

Space = str | PathLike[str] | Mapping[str, Any]
"""A design space: the path of a TOML file, TOML text, or a mapping with the same keys and values."""


def sweep(
    space: Space | None = None,
    *,
    engine: str = "local",
    overwrite: bool = False,
    progress: ShowProgress = None,
    **options: Unpack[SweepOptions],
) -> Sweep:
    """Simulates the points of a design space, as ``flashscope sweep`` does (docs/sweep.md)::

        sweep("space.toml")
        sweep({"ios": 10_000, "factors": {"over_provisioning": [0.07, 0.28], "cleaning": {"policy": ["greedy", "fifo"]}}})
        sweep(resume="space.flashscope")

    ``engine="ray"`` simulates the points on the connected Ray cluster, or on the cluster that ``ray.init()`` finds or
    starts. Both engines give the same result. ``overwrite`` works as in :func:`bench`.
    """
    arguments = words({**options, "engine": engine}, *([] if space is None else [_name(space)]))
    workers = None
    if engine == "ray":
        from ._ray import Cluster

        workers = Cluster()
    with replacing(options.get("output"), overwrite):
        outcome = call(_native.sweep, arguments, None if space is None else _toml(space), workers, progress=progress)
    result = kept(outcome, Sweep)
    _native.sweep_outcome(str(result.path))
    return result


def _is_toml(space: Space) -> bool:
    """True if a space is given directly, not as the name of a file."""
    return isinstance(space, Mapping) or (isinstance(space, str) and "=" in space)


def _name(space: Space) -> str:
    """The name of a space, after which its result folder is named."""
    return "sweep" if isinstance(space, Mapping) or _is_toml(space) else fspath(space)


def _toml(space: Space) -> str | None:
    """Returns a space as TOML, or none if it is in a file."""
    if isinstance(space, Mapping):
        return tomli_w.dumps(_plain(space))
    return str(space) if _is_toml(space) else None


def _plain(value: Any) -> Any:
    """Converts a value of a space to types that TOML has."""
    if isinstance(value, Mapping):
        return {key.rstrip("_"): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if isinstance(value, (bool, int, float, str)) else text(value)
