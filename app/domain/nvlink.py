"""What an NVLink error in the kernel log means beyond its number: registers of Xid 74, words of Xids 144 to 150.

The tables are `config/nvlink.yaml`, read by `app.kernel_files`, where their source and columns are described. What a
line is, and which class its number has without these words, is not decided here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from app.domain.xids import XidClass

NVLINK5 = range(144, 151)
"""The Xids of the fifth generation's links, which are decoded by rules."""
ANALYSED = (0, 2, 3, 4)
"""The registers of Xid 74 that mean something on Hopper; the others are spare."""

_REGISTERS = re.compile(r"\blink ([0-9]{1,3})\(((?:0x[0-9a-fA-F]{1,8}(?:, ?)?){7})\)")
_WORDS = re.compile(
    r"(?P<unit>\w[\w/ ]{0,60}?) (?P<severity>Fatal|Nonfatal) XC ?(?P<contained>[0-9]) i ?(?P<injected>[0-9])"
    r" Link (?P<link>-?[0-9]{1,3})(?: [(\[](?P<words>0x[0-9a-fA-F]{1,8}(?: 0x[0-9a-fA-F]{1,8}){0,9})[)\]])?",
    re.ASCII,
)
_R575 = 575
"""The driver's major version from which on the first word is laid out anew."""


class Weight(StrEnum):
    """What a bit of Xid 74's registers counts for."""

    HARMLESS = "harmless"
    SECONDARY = "secondary"
    FAULT = "fault"


class Advice(StrEnum):
    """What the catalogue asks for at once."""

    IGNORE = "ignore"
    RESET = "reset"
    FOLLOW_154 = "follow-154"


CLASSES = {
    Advice.IGNORE: XidClass.NOTE,
    Advice.RESET: XidClass.RESET,
    # "If a 154 is seen take that action, else restart the application": the 154 is a line of its own.
    Advice.FOLLOW_154: XidClass.APPLICATION,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bits:
    """Bits of one register of Xid 74 that mean the same."""

    register: int
    bits: tuple[int, ...]
    weight: Weight
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One row of the decode table; patterns are 32 characters of 0, 1 and -, the highest bit first."""

    xid: int
    unit: str
    before_575: str
    from_575: str
    status: tuple[str, ...]
    advice: Advice
    later: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NvlinkTables:
    """All of the file."""

    edition: str
    registers: tuple[Bits, ...]
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text says: class, why in one sentence, and what it is made of."""

    class_: XidClass
    why: str
    details: Mapping[str, str] = field(default_factory=dict)
    only_noted: bool = False
    """The text says itself that nothing is wrong, or contradicts itself: nothing follows, whatever a policy says."""


def read_registers(text: str, tables: NvlinkTables) -> Reading | None:
    """What the registers in a text of Xid 74 say; None when it holds none, or none of them has a bit set."""
    found = _REGISTERS.search(text)
    if found is None:
        return None
    values = [int(value, 16) for value in re.findall(r"0x([0-9a-fA-F]+)", found[2])]
    bits = {(register, bit) for register in ANALYSED for bit in range(32) if values[register] >> bit & 1}
    if not bits:
        return None
    known = [row for row in tables.registers if any((row.register, bit) in bits for bit in row.bits)]
    unlisted = sorted(bits - {(row.register, bit) for row in known for bit in row.bits})
    told = [
        f"register {row.register} bit {', '.join(str(bit) for bit in row.bits if (row.register, bit) in bits)}:"
        f" {row.meaning}"
        for row in known
    ]
    told += [f"register {register} bit {bit}: not listed" for register, bit in unlisted]
    why = f"The registers say {'; '.join(told)}."
    details = {"link": found[1], "registers": found[2]}
    weights = {row.weight for row in known} | ({Weight.FAULT} if unlisted else set())
    return Reading(XidClass.RESET if Weight.FAULT in weights else XidClass.NOTE, why, details)


def read_words(number: int, text: str, tables: NvlinkTables, driver_major: int | None = None) -> Reading:
    """What the words of an Xid from 144 to 150 ask for.

    Without the driver's major version both layouts of the first word are tried. Rules that differ leave it unknown.
    """
    found = _WORDS.match(text)
    if found is None or found["words"] is None:
        return Reading(XidClass.UNKNOWN, "The line holds no words to decode.", _details(found))
    first, status, *_ = (*(int(word, 16) for word in found["words"].split()), -1)
    rules = [rule for rule in tables.rules if _fits(rule, number, found["unit"], first, driver_major)]
    rules = [rule for rule in rules if not rule.status or status in {int(value, 16) for value in rule.status}]
    details = _details(found)
    if found["injected"] == "1":
        why = "It was injected on purpose (i1), so nothing is repaired."
        return Reading(XidClass.NOTE, why, details, only_noted=True)
    if len({rule.advice for rule in rules}) != 1:
        why = "Several rules of the decode table fit and differ." if rules else "No rule of the decode table fits."
        return Reading(XidClass.UNKNOWN, why, details)
    rule = rules[0]
    return Reading(CLASSES[rule.advice], f"Decoded as {rule.unit}: {rule.advice}, later {rule.later}.", details)


def _fits(rule: Rule, number: int, unit: str, first: int, driver_major: int | None) -> bool:
    if rule.xid != number or unit not in {rule.unit, *rule.unit.split("/")}:
        return False
    layouts = {
        None: (rule.before_575, rule.from_575),
        False: (rule.before_575,),
        True: (rule.from_575,),
    }[None if driver_major is None else driver_major >= _R575]
    bits = f"{first:032b}"
    return any(all(want in {"-", bit} for want, bit in zip(layout, bits, strict=True)) for layout in layouts)


def _details(found: re.Match[str] | None) -> dict[str, str]:
    if found is None:
        return {}
    names = {"unit": "unit", "severity": "severity", "link": "link", "words": "words"}
    return {name: found[group] for name, group in names.items() if found[group]}
