"""Drives by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _native
from ._call import ShowProgress, call, flat, kept, replacing, spec, text, words
from ._decode import decode
from .documents.manifest import DeviceInfo
from .documents.what_if import Variant, WhatIf

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import WhatIfOptions
    from ._workloads import Workload


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

    def what_if(
        self,
        workload: Workload | str,
        *changes: str | Mapping[str, Any],
        row: Callable[[Variant], object] | None = None,
        overwrite: bool = False,
        progress: ShowProgress = None,
        **options: Unpack[WhatIfOptions],
    ) -> WhatIf:
        """What a workload would come to if something were otherwise, as ``flashscope what-if`` says it: each change is
        a variant, as a text or as fields::

            drive.what_if("zipf", {"over_provisioning": 0.28}, {"cleaning": {"policy": "fifo"}}, "workload.trims=0.2")

        ``row`` is called with a variant as soon as a model has said what it expects, and again once it was simulated.
        ``overwrite`` is as of :func:`bench`.
        """
        told = [*words(options), f"--drive={self}", f"--workload={workload}"]
        told += [f"--change={_change(change)}" for change in changes]
        give = None if row is None else lambda json: row(decode(Variant, json))
        with replacing(options.get("output"), overwrite):
            outcome = call(_native.what_if, told, give, progress=progress)
        return kept(outcome, lambda json: decode(WhatIf, json))

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Drive({self.name!r})"


def _change(change: str | Mapping[str, Any]) -> str:
    """A change as it is typed."""
    return change if isinstance(change, str) else text(list(f"{key}={text(value)}" for key, value in flat(change)))


def drives() -> list[Kind]:
    """The simulated drives that come with flashscope."""
    return [Kind(f"sim:{name}", summary, source) for name, summary, source in _native.kinds("drives")]
