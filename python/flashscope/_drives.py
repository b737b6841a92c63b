"""Drives by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import _native
from ._call import spec
from ._decode import decode
from .documents.manifest import DeviceInfo


@dataclass(frozen=True)
class Kind:
    """Something that there is by name."""

    name: str
    summary: str
    """What it is, in a sentence."""
    source: str
    """Where it, or its parameters, are from."""


class Drive:
    """A drive by its name: ``sim:PROFILE``, ``file:PATH``, ``/dev/NAME`` or ``null:``.

    Fields of a simulated drive are keywords, those with a dot in their name as dictionaries::

        Drive("sim:demo", over_provisioning=0.28, cleaning={"policy": "fifo"})
        Drive("file:scratch.img", size="1GiB")
    """

    def __init__(self, name: str, **fields: Any) -> None:
        self.name = spec(name, fields)

    def info(self) -> DeviceInfo:
        """What is known of it before anything is measured: it is opened for reading alone."""
        return decode(DeviceInfo, _native.info(self.name))

    def but(self, **fields: Any) -> Drive:
        """The same drive with other fields."""
        return Drive(self.name, **fields)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Drive({self.name!r})"


def drives() -> list[Kind]:
    """The simulated drives that come with flashscope."""
    return [Kind(f"sim:{name}", summary, source) for name, summary, source in _native.kinds("drives")]
