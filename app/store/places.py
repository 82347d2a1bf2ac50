"""Places in budgets: which nodes hold one, and which nodes are out by other hands and use the budget up too.

Places are taken and given back by commits alone; here they are read, by the rules of `lua/commit.lua`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from app.domain.guards import Budget
from app.store.connection import Link
from app.store.documents import moment
from app.store.keys import KEYS

CLUSTER_WIDE: Final = "disruptions"
OF_POOL: Final = "disruptions of pool "


class Places:
    """Read by `store.operations`."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def reservations(self) -> dict[str, frozenset[str]]:
        """Budget to the nodes that hold a place in it."""
        found: dict[str, set[str]] = {}
        for place in self._link.ask("HKEYS", KEYS["places"]):
            node, _, budget = place.partition("|")
            found.setdefault(budget, set()).add(node)
        return {budget: frozenset(nodes) for budget, nodes in found.items()}

    def budgets(self, names_and_limits: Mapping[str, int]) -> tuple[Budget, ...]:
        """Each budget with the nodes that use it up, as a commit would count them."""
        reserved = self.reservations()
        out: dict[str, str] = self._link.ask("HGETALL", KEYS["out"])
        return tuple(
            Budget(name, limit, reserved.get(name, frozenset()) | _out(name, out), reserved.get(name, frozenset()))
            for name, limit in names_and_limits.items()
        )

    def last_disruption(self, node: str, *, besides: str) -> datetime | None:
        """When an operation other than `besides` last disrupted this node, or ended after doing so."""
        newest = self._link.ask("ZREVRANGE", KEYS["disruptions"] + node, 0, 1)
        other = next((operation for operation in newest if operation != besides), None)
        at = None if other is None else self._link.ask("ZSCORE", KEYS["disruptions"] + node, other)
        return None if at is None else moment(at)


def request(name: str, limit: int) -> dict[str, Any]:
    """One budget as the script wants it: whether nodes that are out count in it, and of which pool alone."""
    if name.startswith(OF_POOL):
        return {"name": name, "limit": limit, "counts_out": True, "pool": name.removeprefix(OF_POOL)}
    return {"name": name, "limit": limit, "counts_out": name == CLUSTER_WIDE}


def _out(name: str, out: Mapping[str, str]) -> frozenset[str]:
    asked = request(name, 0)
    if not asked["counts_out"]:
        return frozenset()
    return frozenset(node for node, pool in out.items() if asked.get("pool", pool) == pool)
