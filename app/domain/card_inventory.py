"""Which GPUs a machine has now, read from `nvidia-smi`: serial, UUID, place, and what the driver asks for.

It tells whether a card was replaced, and whether a GPU still asks for a reset. It judges no health: a card that is
listed may be as ill as before (P3).

The text is that of the script in `workers.steps.inventory`: the CSV of `--query-gpu=index,uuid,serial,pci.bus_id`, a
line `--`, then for each GPU what was picked from `nvidia-smi -q`: a line `GPU <bus id>` before its own lines, or its
lines alone in the order of the CSV. Standard error may stand between them, as in every container's log.
Sources: nvidia-smi's manual page; NVIDIA/nvidia-docker#1553 and NVIDIA/open-gpu-kernel-modules#387 for a lost GPU.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum

from app.domain.faults import Gpu, read_serial
from app.domain.outcomes import Verdict
from app.domain.timeline import counted

MARK = "--"
MAX_CARDS = 64
"""More than any machine has; a longer list is some other text."""

_ROW = re.compile(
    r"\s*(\d{1,3})\s*,\s*([^,]*?)\s*,\s*([^,]*?)\s*,\s*([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)\s*"
)
_ROW_LIKE = re.compile(r"\s*\d{1,3}\s*,")
_LOST = re.compile(r"(?i)(?:unable to determine the device handle for|gpu is lost|gpu requires reset).*")
_HEADING = re.compile(r"GPU\s+([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)")
_LINE = re.compile(r"(GPU Recovery Action|Remapped Rows Pending)\s*:\s*(.*)")
_ACTIONS = {
    "none": "None",
    "reset": "Reset",
    "gpu reset": "Reset",
    "reboot": "Reboot",
    "node reboot": "Reboot",
    "drain p2p": "Drain P2P",
    "drain and reset": "Drain and Reset",
}
"""What drivers print, in lower case with spaces, to the word that is used here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One GPU that answers. `serial` is None where the board has none.

    `recovery_action` is the driver's word (None, Reset, Reboot, Drain P2P, Drain and Reset), empty when it tells none
    (before R565); a word that is not known here stays as it was printed. `rows_pending` is None when it is not told.
    """

    index: int
    uuid: str
    serial: str | None
    bus_id: str
    recovery_action: str = ""
    rows_pending: bool | None = None

    @property
    def gpu(self) -> Gpu:
        """The card as faults name one."""
        return Gpu(serial=self.serial, uuid=self.uuid or None, index=self.index)

    @property
    def asks_for_nothing(self) -> bool:
        """Whether the driver says that it needs no action; silence does not say so (P2)."""
        return self.recovery_action == "None" and self.rows_pending is not True


@dataclass(frozen=True, slots=True, kw_only=True)
class CardInventory:
    """`pass`: every GPU that the driver knows is in `cards`. `fail`: the driver cannot reach one. Else inconclusive."""

    verdict: Verdict
    reason: str
    cards: tuple[Card, ...] = ()


class Found(StrEnum):
    """What has become of the card that was ill."""

    SAME = "same"
    OTHER = "other"
    MISSING = "missing"
    """It is gone, and no other one is in its place."""
    UNTOLD = "untold"
    """Neither serial nor UUID can be compared."""


def read_inventory(text: str) -> CardInventory:
    """What the machine has, in its own order."""
    before, mark, after = _parted(text)
    lost = next((found.group(0) for line in before + after if (found := _LOST.search(line))), None)
    if lost is not None:
        return CardInventory(verdict=Verdict.FAIL, reason=f"The driver cannot reach a GPU: {lost.strip().rstrip('.')}.")
    rows = [row for line in before if (row := _ROW.fullmatch(line))]
    odd = next((line.strip() for line in before if _ROW_LIKE.match(line) and not _ROW.fullmatch(line)), None)
    if odd is not None:
        return _inconclusive(f"a GPU's line cannot be read ({odd[:200]})")
    if not rows:
        said = next((line.strip() for line in before if line.strip()), "nothing was printed")
        return _inconclusive(f"no GPU is listed ({said[:200].rstrip('.')})")
    if not mark:
        return _inconclusive("the list of GPUs is cut off")
    cards = tuple(_card(*row.groups()) for row in rows[: MAX_CARDS + 1])
    if len(cards) > MAX_CARDS:
        return _inconclusive(f"more than {MAX_CARDS} GPUs are listed")
    for told in ([card.index for card in cards], [card.bus_id for card in cards], [c.uuid for c in cards if c.uuid]):
        if len(set(told)) != len(told):
            return _inconclusive("a GPU is listed twice")
    if not all(card.uuid or card.serial for card in cards):
        return _inconclusive("a GPU has neither serial nor UUID")
    reason = (
        f"{counted(len(cards), 'GPU')} listed, {counted(sum(card.serial is not None for card in cards), 'serial')}."
    )
    return CardInventory(verdict=Verdict.PASS, reason=reason, cards=_with_states(cards, after))


def became_of(ill: Gpu, cards: tuple[Card, ...], expected: int) -> Found:
    """What has become of a card, by serial, else by UUID. The index alone tells nothing: it moves with the bus."""
    serials = [card.serial for card in cards if card.serial]
    if ill.serial and len(serials) == len(cards):
        same = [card for card in cards if card.serial == ill.serial]
        if len(same) > 1 and ill.uuid:  # some boards share one serial; then only the UUID tells them apart
            same = [card for card in same if card.uuid == ill.uuid]
    elif ill.uuid and all(card.uuid for card in cards):
        same = [card for card in cards if card.uuid == ill.uuid]
    else:
        return Found.UNTOLD
    if same:
        return Found.SAME
    return Found.OTHER if len(cards) >= expected else Found.MISSING


def _parted(text: str) -> tuple[list[str], bool, list[str]]:
    lines = text.splitlines()
    place = next((place for place, line in enumerate(lines) if line.strip() == MARK), None)
    return (lines, False, []) if place is None else (lines[:place], True, lines[place + 1 :])


def _card(index: str, uuid: str, serial: str, bus_id: str) -> Card:
    return Card(index=int(index), uuid=read_serial(uuid) or "", serial=read_serial(serial), bus_id=_bus(bus_id))


def _with_states(cards: tuple[Card, ...], lines: list[str]) -> tuple[Card, ...]:
    """The cards with what the driver says of each. Lines that cannot be told apart are nobody's."""
    told: dict[str, dict[str, str]] = {}
    loose: dict[str, list[str]] = {}
    bus: str | None = None
    for line in lines:
        if heading := _HEADING.fullmatch(line.strip()):
            bus = _bus(heading.group(1))
        elif found := _LINE.fullmatch(line.strip()):
            if bus is None:
                loose.setdefault(found.group(1), []).append(found.group(2))
            else:
                told.setdefault(bus, {})[found.group(1)] = found.group(2)
    for name, values in loose.items():
        if len(values) == len(cards):
            for card, value in zip(cards, values, strict=True):
                told.setdefault(card.bus_id, {}).setdefault(name, value)
    return tuple(_with_state(card, told.get(card.bus_id, {})) for card in cards)


def _with_state(card: Card, told: dict[str, str]) -> Card:
    action = told.get("GPU Recovery Action", "").strip()
    known = _ACTIONS.get(action.replace("_", " ").casefold(), "" if action.casefold() in {"n/a", "[n/a]"} else action)
    pending = {"yes": True, "no": False}.get(told.get("Remapped Rows Pending", "").strip().casefold())
    return replace(card, recovery_action=known, rows_pending=pending)


def _bus(bus_id: str) -> str:
    """`00000000:1B:00.0` in one form: tools print the domain with four digits or eight, in either case."""
    domain, _, rest = bus_id.partition(":")
    return f"{int(domain, 16):08X}:{rest.upper()}"


def _inconclusive(reason: str) -> CardInventory:
    return CardInventory(verdict=Verdict.INCONCLUSIVE, reason=reason)
