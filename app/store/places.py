"""Places in budgets: which nodes hold one, and which nodes are out by other hands and use the budget up too.

Places are taken and given back by commits alone; here they are read, by the same rules (`lua/shared.lua`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from app.domain.budgets import WITH_VENDOR, Budget, Limit
from app.store.connection import Link
from app.store.documents import micros, moment
from app.store.keys import KEYS


class Places:
    """Read by `store.operations`."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def reservations(self) -> dict[str, frozenset[str]]:
        """Budget to the nodes that hold a place in it."""
        budgets = sorted(self._link.ask("SMEMBERS", KEYS["budgets"]))
        holders = self._link.ask_all([("HKEYS", KEYS["places"] + budget) for budget in budgets], at_once=True)
        return {budget: frozenset(nodes) for budget, nodes in zip(budgets, holders, strict=True) if nodes}

    def budgets(self, limits: Sequence[Limit], now: datetime) -> tuple[Budget, ...]:
        """Each budget as a commit would count it."""
        found = self._link.run("budgets", {"budgets": [request(limit, now) for limit in limits]})
        return tuple(budget(limit, use) for limit, use in zip(limits, found, strict=True))


def request(limit: Limit, now: datetime) -> dict[str, Any]:
    """One budget as the scripts want it."""
    asked: dict[str, Any] = {"name": limit.budget, "most": limit.most, "group": limit.group, "vendor": WITH_VENDOR}
    if limit.within is not None:
        asked["since"] = str(micros(now - limit.within))
    if limit.inventory_max_age is not None:
        asked["fresh_since"] = str(micros(now - limit.inventory_max_age))
    return asked


def budget(limit: Limit, use: str) -> Budget:
    """A budget from what a script counted. Lua knows no empty lists: they come as empty mappings."""
    found = json.loads(use)
    begun, counted = found.get("from"), found.get("inventory_at")
    users = list(found["users"])
    others = {found["holder"]} if "holder" in found else set()
    return Budget(
        limit=limit,
        users=frozenset(users),
        holders=frozenset(users[: found["held"]]) | others,
        made=found["made"],
        next_at=None if begun is None or limit.within is None else moment(begun) + limit.within,
        inventory_at=None if counted is None else moment(counted),
    )
