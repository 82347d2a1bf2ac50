"""What the text of an Xid's log line adds to its number: a recovery action, a containment, counters, a harmless case.

A text can make a number milder. It can make it graver only where the catalogue says that the number alone does not
tell (class unknown): 144 to 150 and 154. Whatever is cut, odd or contradicts itself leaves the class unknown or lower,
never higher (P1).

Source: NVIDIA/open-gpu-kernel-modules 595.45.04, src/nvidia/src/kernel/gpu/gpu.c (154) and rc/kernel_rc.c, and NVIDIA's
Xid catalogue of 2025-09-30.
"""

from __future__ import annotations

import re
from dataclasses import replace

from app.domain.nvlink import NVLINK5, NvlinkTables, Reading, read_registers, read_words
from app.domain.xids import Xid, XidClass

GRAVITY = (
    XidClass.UNKNOWN,
    XidClass.APPLICATION,
    XidClass.NOTE,
    XidClass.RESTART_PLUGIN,
    XidClass.RESET_IDLE,
    XidClass.RESET,
    XidClass.REBOOT,
    XidClass.ISOLATE,
)
"""From what does nothing to the gravest."""

RECOVERY_ACTIONS = {
    0x0: ("none", XidClass.NOTE, "nothing has to be done: all is well again"),
    0x1: ("reset", XidClass.RESET, "the GPU has to be reset"),
    0x2: ("reboot", XidClass.REBOOT, "the node has to boot again"),
    0x3: ("drain-p2p", XidClass.UNKNOWN, "peer traffic has to end, after which the driver decides anew"),
    0x4: ("drain-and-reset", XidClass.RESET_IDLE, "the GPU works on at less capacity until it is reset"),
    0x5: ("recover-imex", XidClass.UNKNOWN, "the IMEX domain has to be recovered, which Sickbay cannot do"),
}
"""Xid 154's codes of the driver: name, class, meaning. NVML knows more; no kernel line was seen with them."""

_RECOVERY = re.compile(r"GPU recovery action changed from 0x[0-9a-fA-F]{1,8} \([^()]*\) to 0x([0-9a-fA-F]{1,8}) \(")
_CONTAINMENT = re.compile(r"(Contained|Uncontained): (.{0,200}?)\. RST: (Yes|No)(?:, D-RST: (Yes|No))?")
_COUNTER = re.compile(r"\b([A-Z][A-Z0-9_]{1,15}): ?(-?[0-9]{1,20})\b")
_ACTIVATION = re.compile(r"Perform (node reboot|GPU reset) to activate repair")
_PENDING = re.compile(r"already pending remapping")
_UNIT = re.compile(r"\(GPC ([0-9]{1,3}), TPC ([0-9]{1,3}), SM ([0-9]{1,3})\)")
_CONTAINED_BY_NUMBER = {94: "Contained", 95: "Uncontained"}


def judge(xid: Xid, text: str, tables: NvlinkTables, driver_major: int | None = None) -> Reading:
    """The class of a line with this Xid and text, never graver than the catalogue's unless that is unknown."""
    read = _read(xid, text, tables, driver_major)
    if xid.class_ is XidClass.UNKNOWN or _is_milder(read.class_, xid.class_):
        return read
    return replace(read, class_=xid.class_)


def _is_milder(one: XidClass, other: XidClass) -> bool:
    return GRAVITY.index(one) < GRAVITY.index(other)


def _read(xid: Xid, text: str, tables: NvlinkTables, driver_major: int | None) -> Reading:
    plain = Reading(xid.class_, xid.why)
    number = xid.number
    if number == 154:
        return _recovery(text)
    if number in NVLINK5:
        return read_words(number, text, tables, driver_major)
    if number == 74:
        return read_registers(text, tables) or plain
    if number == 64 and _PENDING.search(text):
        return Reading(XidClass.NOTE, "The row is already pending remapping, which is harmless.", only_noted=True)
    if number in _CONTAINED_BY_NUMBER:
        return _containment(plain, number, text)
    if number == 140:
        return replace(plain, details=dict(_COUNTER.findall(text)))
    if number == 160 and (found := _ACTIVATION.search(text)):
        why = f"{xid.why} The line asks for a {found[1]}.".strip()
        return replace(plain, why=why, details={"activation": found[1]})
    if number == 13 and (found := _UNIT.search(text)):
        return replace(plain, details={"gpc": found[1], "tpc": found[2], "sm": found[3]})
    return plain


def _recovery(text: str) -> Reading:
    """By the code of the new value alone: the words beside it differ between drivers, and some were wrong."""
    found = _RECOVERY.search(text)
    if found is None:
        return Reading(XidClass.UNKNOWN, "The line does not tell the new recovery action.")
    code = int(found[1], 16)
    if code not in RECOVERY_ACTIONS:
        why = f"The new recovery action 0x{code:x} is none that the driver is known to have."
        return Reading(XidClass.UNKNOWN, why, {"action": f"0x{code:x}"})
    name, class_, meaning = RECOVERY_ACTIONS[code]
    why = f"The new recovery action is 0x{code:x}: {meaning}."
    return Reading(class_, why, {"action": name}, only_noted=code == 0)


def _containment(plain: Reading, number: int, text: str) -> Reading:
    found = _CONTAINMENT.search(text)
    if found is None:
        return plain
    word, location, reset, drain = found.groups()
    told = {"containment": word.lower(), "location": location, "reset": reset.lower(), "drain-and-reset": drain}
    details = {name: value.lower() if name != "location" else value for name, value in told.items() if value}
    if word != _CONTAINED_BY_NUMBER[number]:
        why = f"The number says {_CONTAINED_BY_NUMBER[number].lower()} and the text says {word.lower()}."
        return Reading(XidClass.UNKNOWN, why, details, only_noted=True)
    return replace(plain, details=details)
