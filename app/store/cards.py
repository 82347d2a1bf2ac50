"""Under which names a card's records stand: its serial, its UUID until that is known, or for one GPU of several."""

from __future__ import annotations

from app.domain.faults import Gpu
from app.store.connection import Link
from app.store.keys import KEYS, plain


def is_shared(link: Link, serial: str) -> bool:
    """Whether several UUIDs have come with this serial, so that it names no single card."""
    return int(link.ask("SCARD", KEYS["dies"] + plain(serial))) > 1


def names(link: Link, card: str | Gpu) -> list[str]:
    """The names to read under, as they stand in keys.

    A serial that several UUIDs share (a board with two GPUs) gives them all, since whoever asks knows no better; a card
    that is known by both gives its own alone.
    """
    serial, uuid = (card.serial, card.uuid) if isinstance(card, Gpu) else (card, None)
    if serial is None:
        if uuid is None:
            return []
        serial = uuid
    name = plain(serial)
    alias, dies = link.ask_all([("GET", KEYS["alias"] + name), ("SMEMBERS", KEYS["dies"] + name)])
    if len(dies) < 2:
        return [alias or name]
    return [plain(uuid)] if uuid else [name, *sorted(dies)]
