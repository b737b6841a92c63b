"""Measures the overhead of Ray per point of a sweep that simulates one point at a time, and prints it with its limit.
Needs ``flashscope`` and ``ray``, and an idle machine."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

import flashscope as fs

LIMIT_MS = 20.0
POINTS = 2000
SPACE = {
    "drive": "sim:demo?flash.packages=1&flash.dies_per_package=1&flash.planes_per_die=1&flash.blocks_per_plane=64",
    "fill": "none",
    "warm_up": "none",
    "ios": 1,
    "factors": {"over_provisioning": {"from": 0.1, "to": 0.5, "count": POINTS}},
}


def seconds(engine: str, folder: Path) -> float:
    """Returns the duration of the sweep."""
    start = monotonic()
    fs.sweep(SPACE, engine=engine, jobs=1, output=folder, progress=False)
    return monotonic() - start


def main() -> None:
    """Measures both engines twice: the first measurement includes the start of Ray."""
    with TemporaryDirectory() as place:
        for nth, name in enumerate(("with the start of Ray", "without the start of Ray")):
            here, there = (seconds(engine, Path(place) / f"{engine}-{nth}") for engine in ("local", "ray"))
            each = 1e3 * (there - here) / POINTS
            print(
                f"Ray adds {each:.2f} ms to each of {POINTS} points {name} (limit {LIMIT_MS:g}); "
                f"a point takes {1e3 * here / POINTS:.2f} ms without Ray"
            )


if __name__ == "__main__":
    main()
