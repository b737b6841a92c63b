"""Drives, by their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _native
from ._call import ShowProgress, call, flat, kept, replacing, spec, text, words
from ._decode import decode
from .documents.common import DeviceInfo
from .documents.what_if import Variant, WhatIf

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import WhatIfOptions
    from ._workloads import Workload


@dataclass(frozen=True)
class Kind:
    """A drive or a workload that comes with flashscope."""

    name: str
    summary: str
    """A sentence about the drive or workload."""
    source: str
    """The source of the drive or workload, or of its parameters."""


class Drive:
    """A drive, by its name: ``sim:PROFILE``, ``file:PATH``, ``/dev/NAME`` or ``null:``.

    Fields of a simulated drive are keywords; nested fields are dictionaries::

        Drive("sim:demo", over_provisioning=0.28, cleaning={"policy": "fifo"})
        Drive("file:scratch.img", size="1GiB")
    """

    def __init__(self, name: str, **fields: Any) -> None:
        self.name = spec(name, fields)

    def info(self) -> DeviceInfo:
        """Returns the properties of the drive. Opens it for reading only."""
        return decode(DeviceInfo, _native.info(self.name))

    def but(self, **fields: Any) -> Drive:
        """Returns the same drive with other fields."""
        return Drive(self.name, **fields)

    def what_if(
        self,
        workload: Workload | str,
        *changes: str | Mapping[str, Any],
        row: Callable[[Variant], object] | None = None,
        overwrite: bool = False,
        progress: ShowProgress = None,
        **options: Unpack[WhatIfOptions],
    ) -> WhatIf:
        """Predicts and simulates how changes affect performance, as ``flashscope what-if`` does. Each change is a
        variant, given as text or as fields::

            drive.what_if("zipf", {"over_provisioning": 0.28}, {"cleaning": {"policy": "fifo"}}, "workload.trims=0.2")

        Calls ``row`` with the baseline and each variant: after its prediction, and after its simulation.
        ``overwrite`` works as in :func:`bench`.
        """
        arguments = [*words(options), f"--drive={self}", f"--workload={workload}"]
        arguments += [f"--change={_change(change)}" for change in changes]
        on_row = None if row is None else lambda json: row(decode(Variant, json))
        with replacing(options.get("output"), overwrite):
            outcome = call(_native.what_if, arguments, on_row, progress=progress)
        return kept(outcome, lambda json: decode(WhatIf, json))

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Drive({self.name!r})"


def _change(change: str | Mapping[str, Any]) -> str:
    """Formats a change as typed on the command line."""
    return change if isinstance(change, str) else text(list(f"{key}={text(value)}" for key, value in flat(change)))


def drives() -> list[Kind]:
    """Returns the simulated drives that come with flashscope."""
    return [Kind(f"sim:{name}", summary, source) for name, summary, source in _native.kinds("drives")]
