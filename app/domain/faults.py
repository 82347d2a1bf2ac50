"""What is wrong: a fault on one GPU of one node. Whether to act on it is policy's business."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

BLANK_SERIALS = frozenset(
    {"", "n/a", "[n/a]", "[not supported]", "not supported", "[unknown error]", "unknown", "none"}
)
"""What tools print when a board has no serial; none of them may become a key that strangers share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """A card as far as it is known: serial and UUID are texts (leading zeros kept), the index is DCGM's on its node."""

    serial: str | None = None
    uuid: str | None = None
    index: int | None = None

    @property
    def key(self) -> str | None:
        """What its history is filed under: the serial, until it is known the UUID, else nothing."""
        return self.serial or self.uuid

    def is_same_as(self, other: Gpu) -> bool:
        """Whether two sightings on one node mean one card: by UUID and serial as far as both know them, else by index.

        Two GPUs of one board have one serial, and some tools report one that is none: two UUIDs are never one card.
        """
        told = [(mine, its) for mine, its in ((self.uuid, other.uuid), (self.serial, other.serial)) if mine and its]
        if told:
            return all(mine == its for mine, its in told)
        return self.index is not None and self.index == other.index

    def joined_with(self, other: Gpu) -> Gpu:
        """This card with what the other sighting knows beyond it."""
        return Gpu(
            serial=self.serial or other.serial,
            uuid=self.uuid or other.uuid,
            index=self.index if self.index is not None else other.index,
        )

    def __str__(self) -> str:
        name = "GPU" if self.index is None else f"GPU {self.index}"
        return f"{name} (serial {self.serial})" if self.serial else name


def told_apart(gpus: Sequence[Gpu]) -> tuple[tuple[Gpu, ...], str]:
    """The GPUs of one node without the serials that several of them report, and the sentence that says so.

    Such a serial names no single card: whatever were filed under it would mix what two of them have been through.
    """
    serials = Counter(gpu.serial for gpu in gpus if gpu.serial)
    shared = sorted(serial for serial, count in serials.items() if count > 1)
    alone = tuple(replace(gpu, serial=None) if gpu.serial in shared else gpu for gpu in gpus)
    told = (f"{serials[serial]} GPUs report the serial {serial}, so it names none of them." for serial in shared)
    return alone, " ".join(told)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is wrong, where, since when, and who says so.

    `code` is like `xid-79`; `gpu` is None when no card is to blame; `source` names the witness (`alert GpuXid`);
    `evidence` is one sentence in the field's words; `rung` is the first that policy answers it with, empty when
    software cannot repair it.
    """

    code: str
    node: str
    gpu: Gpu | None
    at: datetime
    source: str
    evidence: str
    rung: str = ""

    @property
    def alert(self) -> str:
        """Its alert's own name: an entry of the timeline whose actor is `alert` need not say that word again."""
        return self.source.removeprefix("alert ")

    def is_same_as(self, other: Fault) -> bool:
        """One fault told twice: same node, card and code. Times, fingerprints and statuses drift and do not count."""
        if (self.code, self.node) != (other.code, other.node):
            return False
        if self.gpu is None or other.gpu is None:
            return self.gpu is other.gpu
        return self.gpu.is_same_as(other.gpu)

    def known_better_by(self, other: Fault) -> Fault:
        """This fault, its card completed by what a second sighting knows."""
        if self.gpu is None or other.gpu is None:
            return self
        return replace(self, gpu=self.gpu.joined_with(other.gpu))


def read_serial(text: str | None) -> str | None:
    """A serial as a key, or None for everything tools print instead of one."""
    cleaned = (text or "").strip()
    if cleaned.casefold() in BLANK_SERIALS or not cleaned.strip("0"):
        return None
    return cleaned
