"""Budgets: how many nodes may be out at once or in a while, whom each counts, and the sentence when it is full.

Places are taken by commits alone, where they cannot be raced (`app/store/lua/commit.lua`); the sentence is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from app.domain import node_labels
from app.domain.timeline import spell

CORDONS: Final = "cordons"
CORDON_RATE: Final = "cordon rate"
DISRUPTIONS: Final = "disruptions"
WITH_VENDOR: Final = "places with the vendor"
"""The budget of nodes that wait for a vendor; its sentence reads "10 of 10 places with the vendor are in use"."""
INVENTORY: Final = "inventory"
"""What an operation waits for when it is not known how many nodes are out: the next inventory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """`most` nodes in the budget of that name, at once or, with `within`, newly in each such time.

    `group` is what its nodes share, such as `rack r7`; empty for all. With `inventory_max_age` nodes that are out by
    other hands use it up too, counted from an inventory no older than that.
    """

    budget: str
    most: int
    within: timedelta | None = None
    group: str = ""
    inventory_max_age: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A limit, and how far it is used up now.

    * `users` are the nodes in it; `holders` those of them that have a place which Sickbay gave them.
    * `made` counts, of one with a time, what was begun within it, and `next_at` is when the next may be.
    * `inventory_at` is when nodes that are out by other hands were counted; None: never.
    """

    limit: Limit
    users: frozenset[str] = frozenset()
    holders: frozenset[str] = frozenset()
    made: int = 0
    next_at: datetime | None = None
    inventory_at: datetime | None = None

    @property
    def used(self) -> int:
        """How much of it is used up."""
        return len(self.users) if self.limit.within is None else self.made

    def full_for(self, node: str) -> str | None:
        """The sentence why this node has no place, None when it has one, or holds one since before others came."""
        limit, others = self.limit, self.users - {node}
        if node in self.holders:
            return None
        if limit.within is not None:
            told = f"{self.made} nodes were cordoned within {spell(limit.within)}, and the limit is {limit.most}."
            return told if self.made >= limit.most else None
        if len(others) < limit.most:
            return None
        shown = ", ".join(sorted(others)[:5]) + (", …" if len(others) > 5 else "")
        if limit.group:
            group = limit.group[:1].upper() + limit.group[1:]
            return f"{group} has {len(others)} of {limit.most} nodes out ({shown})."
        return f"{len(others)} of {limit.most} {limit.budget} are in use ({shown})."

    def doubted_for(self, node: str, now: datetime) -> str | None:
        """The sentence why it is not known how many nodes are out, None when it is, or need not be for this node."""
        longest = self.limit.inventory_max_age
        if longest is None or node in self.holders:
            return None
        if self.inventory_at is None:
            return "No inventory of the nodes is there yet, so it is not known how many are out by other hands."
        if now - self.inventory_at <= longest:
            return None
        at = f"{self.inventory_at:%Y-%m-%d %H:%M:%S}"
        return f"The inventory of the nodes is from {at} UTC, so it is not known how many are out by other hands now."


def groups(pool: str | None, labels: Mapping[str, str]) -> tuple[str, ...]:
    """What a node shares with others, in the words of sentences; what is not known of it is shared with nobody."""
    named = {"pool": pool or "", "rack": node_labels.rack(labels), "driver": node_labels.driver_version(labels)}
    return tuple(f"{kind} {value}" for kind, value in named.items() if value)
