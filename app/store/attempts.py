"""Rungs that were begun, for each node and each card, outlasting their operations. Written by commits alone."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from app.domain.faults import Gpu
from app.domain.operations import Operation
from app.domain.rungs import Attempt
from app.store import cards
from app.store.connection import Link
from app.store.documents import micros, moment
from app.store.keys import KEYS, plain


class AttemptsMade:
    """`store.attempts`."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def of(
        self, node: str, of_cards: Iterable[str | Gpu], *, since: datetime, besides: str = ""
    ) -> tuple[Attempt, ...]:
        """What was begun on this node, and for these cards on any node, oldest first.

        Args:
            node: its attempts have no card, so that none is told twice as the node's.
            of_cards: serials, UUIDs, or cards as far as they are known; an attempt's `card` is the key that was asked.
            since: what was begun before is left out. At most 50 a node or card are kept, for 90 days.
            besides: an operation whose own attempts are left out.
        """
        asked: list[tuple[str, str | None]] = [(KEYS["node_attempts"] + node, None)]
        for card in of_cards:
            key = card.key if isinstance(card, Gpu) else card
            asked += [(KEYS["card_attempts"] + name, key) for name in cards.names(self._link, card)]
        commands = [("ZRANGEBYSCORE", name, micros(since), "+inf", "WITHSCORES") for name, _ in asked]
        found = []
        for (_, key), members in zip(asked, self._link.ask_all(commands), strict=True):
            for member, at in members:
                operation, rung, where = str(member).split("|", 2)
                if operation != besides:
                    found.append(Attempt(rung=rung, at=moment(at), operation=operation, node=where, card=key))
        return tuple(sorted(found, key=lambda one: one.at))


def request(rung: str | None, operation: Operation) -> dict[str, Any] | None:
    """The attempt as the script of a commit wants it: for every card that the operation is about."""
    if rung is None:
        return None
    gpus = {fault.gpu for fault in operation.faults if fault.gpu and fault.gpu.key}
    named = [{"serial": gpu.serial, "uuid": gpu.uuid} for gpu in gpus]
    return {"rung": rung, "cards": [{name: plain(value) for name, value in one.items() if value} for one in named]}
