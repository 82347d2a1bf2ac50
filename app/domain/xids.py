"""What an Xid number means to Sickbay, and how the number is read from an alert's labels.

An Xid is the number under which the NVIDIA driver reports that something happened to a GPU. The catalogue itself is
`config/xids.yaml`, read by `app.xid_file`; which ladder follows from a class is the policy's business
(`app.domain.policies`). The class is a judgement about the number alone: what companions, counters or the kernel log
add to it is decided elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

XID_LABELS = ("err_code", "xid", "Xid")
"""The labels that may hold the number: dcgm-exporter's attribute, its counter's label, and its capitalised twin.

Never an annotation, an alert's name or its value: a rule on `increase(...)` renders a difference of two codes, which
can look like a third and graver one.
"""

_DECIMAL = re.compile(r"[0-9]{1,20}(?:\.[0-9]{0,20})?(?:[eE][+-]?[0-9]{1,3})?")
_LOWEST_BLANK = 2147483632
"""DCGM_INT32_BLANK of dcgm_structs.h (0x7ffffff0). It and its 64-bit and floating twins say "no value", not a code."""
_LONGEST_SHOWN = 64


class XidClass(StrEnum):
    """What a code asks for when nothing else is known about the GPU."""

    APPLICATION = "application"
    """The program on the GPU is to blame, or was ended. The GPU is well: a row in the history, never a cordon."""
    NOTE = "note"
    """Worth a row in the history; nothing to repair."""
    RESTART_PLUGIN = "restart-plugin"
    """The GPU is well, but the device plugin has to be restarted before it offers the GPU again."""
    RESET_IDLE = "reset-idle"
    """A repair waits for the next GPU reset; the work on the node may finish first."""
    RESET = "reset"
    """The GPU has to be reset now."""
    REBOOT = "reboot"
    """No reset can help; the node has to boot again."""
    ISOLATE = "isolate"
    """Software cannot repair it: take the node out and ask for hardware."""
    UNKNOWN = "unknown"
    """Nobody published what to do, or the number alone does not tell. Recorded and told, never acted on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Xid:
    """One code. `name` is the driver's mnemonic, `title` its plain words, `nvidia` the bucket of NVIDIA's catalogue.

    All three are empty when unpublished. `why` is one sentence where `class_` is not simply the bucket, or where
    tools of the field disagree about the code; empty otherwise.
    """

    number: int
    name: str
    title: str
    nvidia: str
    class_: XidClass
    why: str


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All codes of one edition of the catalogue. `edition` names its source and date, for people."""

    edition: str
    xids: Mapping[int, Xid]

    def xid(self, number: int) -> Xid:
        """The code with this number; one that is not in the catalogue has the class `unknown`."""
        found = self.xids.get(number)
        if found is not None:
            return found
        why = f"Xid {number} is not in the catalogue ({self.edition})."
        return Xid(number=number, name="", title="", nvidia="", class_=XidClass.UNKNOWN, why=why)

    def describe(self, number: int) -> str:
        """The code in plain words: "Xid 79, GPU has fallen off the bus", or just "Xid 999"."""
        title = self.xid(number).title
        return f"Xid {number}, {title}" if title else f"Xid {number}"


@dataclass(frozen=True, slots=True)
class UnreadableXid:
    """A label is there to hold an Xid and does not: `value` is what stood there, shortened, for the reason."""

    value: str


def read_xid(labels: Mapping[str, str]) -> int | UnreadableXid | None:
    """The Xid that the labels name.

    None: no label names one (all absent or blank, or 0, which dcgm-exporter writes while there is no error).
    `UnreadableXid`: a label holds something that is no Xid, or two labels name different ones. "79", " 79", "79.0"
    and "7.9e1" are all 79; fractions, negatives, hexadecimal, NaN and DCGM's blank values are not numbers of Xids.
    """
    stated = [value for value in (labels.get(label, "").strip() for label in XID_LABELS) if value]
    numbers: set[int] = set()
    for value in stated:
        number = _whole_number(value)
        if number is None:
            return UnreadableXid(value[:_LONGEST_SHOWN])
        numbers.add(number)
    if len(numbers) > 1:
        return UnreadableXid(" and ".join(stated)[:_LONGEST_SHOWN])
    return next(iter(numbers), None) or None


def _whole_number(value: str) -> int | None:
    """The value as a whole number from 0 up to DCGM's blanks, else None. Decimal, so that 78.99… does not round up."""
    if not _DECIMAL.fullmatch(value):
        return None
    number = Decimal(value)
    if number >= _LOWEST_BLANK or number != number.to_integral_value():
        return None
    return int(number)
