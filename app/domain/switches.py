"""What an SXid means to Sickbay: the number under which the NVSwitch driver reports what happened to a switch.

The catalogue is `config/sxids.yaml`, read by `app.kernel_files`. A line names a switch and no GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.domain.xids import XidClass


class Reach(StrEnum):
    """What is lost when the error is fatal."""

    ALWAYS = "always"
    """Every GPU at the switch."""
    PORT = "port"
    """What is behind the port: one GPU, or a partition."""
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sxid:
    """One code. `fatal` is the class of a line that calls it fatal."""

    sxid: int
    name: str
    reach: Reach
    fatal: XidClass


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchCatalogue:
    """All codes of one edition."""

    edition: str
    sxids: Mapping[int, Sxid]

    def judge(self, number: int, *, fatal: bool) -> tuple[XidClass, str]:
        """The class of a line with this number, and why in one sentence."""
        known = self.sxids.get(number)
        if known is None:
            return XidClass.UNKNOWN, f"SXid {number} is not in the catalogue ({self.edition})."
        if not fatal:
            return XidClass.NOTE, f"{known.name}: the driver calls it non-fatal."
        return known.fatal, f"{known.name}: the driver calls it fatal, {_REACHES[known.reach]}."

    def describe(self, number: int) -> str:
        """The code in plain words: "SXid 20034, LTSSM Fault Up", or just "SXid 99999"."""
        known = self.sxids.get(number)
        return f"SXid {number}, {known.name}" if known else f"SXid {number}"


_REACHES = {
    Reach.ALWAYS: "for every GPU at the switch",
    Reach.PORT: "for the GPU or the partition behind the port",
    Reach.NONE: "though the catalogue knows nothing that is lost by it",
}
