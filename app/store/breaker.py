"""Whether the breaker has tripped, and what fell ill. It trips in the commit that opens one operation too many.

`store.standing` lifts it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from app.domain.breaker import Breaker, Dimension, Fleet, Opened, explain
from app.store.connection import Link
from app.store.documents import micros, read, read_readable, write
from app.store.keys import KEYS
from app.store.values import FellIll, NodeSummary, Trip

ALL: Final = "all"
"""The field of the whole fleet; those of racks and drivers are like `rack|r7`."""


class BreakerState:
    """`store.breaker`."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._told: tuple[tuple[object, ...], str] | None = None

    def tripped(self) -> Trip | None:
        """When it tripped; None while it lets everything pass."""
        text = self._link.ask("GET", KEYS["breaker"])
        return None if text is None else read(Trip, text)

    def sentence(self, rules: Breaker) -> str | None:
        """Why it has tripped, in the words that are shown everywhere; None while it has not.

        Told anew only when something has changed: in a storm each of a thousand operations asks for it.
        """
        trip = self.tripped()
        if trip is None:
            return None
        commands = [("ZCARD", KEYS["ill"]), ("ZREVRANGE", KEYS["ill"], 0, 0), ("HGETALL", KEYS["fleet"])]
        seen = (trip, rules, *self._link.ask_all(commands))
        known = self._told
        if known is None or known[0] != seen:
            known = self._told = (seen, explain(self.opened(), self.fleet(), rules, trip.at))
        return known[1]

    def opened(self) -> list[Opened]:
        """What fell ill since the last resume, within a day, oldest first."""
        return read_readable(Opened, self._link.ask("ZRANGE", KEYS["ill"], 0, -1))

    def fleet(self) -> Fleet:
        """How many nodes of pools the last inventory had, and how many share a rack or driver."""
        counts: dict[str, str] = self._link.ask("HGETALL", KEYS["fleet"])
        shared: dict[str, dict[str, int]] = {Dimension.RACK: {}, Dimension.DRIVER: {}}
        for name, count in counts.items():
            dimension, bar, value = name.partition("|")
            if bar:
                shared[dimension][value] = int(count)
        return Fleet(nodes=int(counts.get(ALL, 0)), racks=shared[Dimension.RACK], drivers=shared[Dimension.DRIVER])


def populations(nodes: Sequence[NodeSummary]) -> Mapping[str, int]:
    """The fleet as it is stored with the inventory, for the script of a commit to count against."""
    ours = [node for node in nodes if node.pool is not None]
    counts = Counter({ALL: len(ours)})
    counts.update(f"{Dimension.RACK}|{node.rack}" for node in ours if node.rack)
    counts.update(f"{Dimension.DRIVER}|{node.driver_version}" for node in ours if node.driver_version)
    return counts


def request(ill: FellIll, now: datetime) -> dict[str, Any]:
    """A node that fell ill, as the script of a commit wants it, with the groups that it may be one too many in."""
    opened, rules = ill.opened, ill.rules
    groups: list[dict[str, str]] = [{"population": ALL}]
    for dimension in rules.dimensions:
        value = str(getattr(opened, dimension.value))
        if value:
            population = ALL if dimension is Dimension.CODE else f"{dimension}|{value}"
            groups.append({"field": dimension.value, "value": value, "population": population})
    return {
        "document": write(opened),
        "groups": groups,
        "since": str(micros(now - rules.window)),
        "share": rules.share,
        "most": rules.most,
        "least": rules.least,
        "trip": write(Trip(at=now)),
    }
