"""The nodes as the watch last saw them, so that the web process can place alerts and draw nodes without a cluster."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.domain.budgets import DISRUPTIONS, INVENTORY, groups
from app.domain.facts import NodeView
from app.domain.placement import Inventory, KnownNode
from app.store import breaker
from app.store.connection import Link
from app.store.documents import micros, moment, read_readable, write
from app.store.keys import KEYS, hashed
from app.store.values import NodeSummary, SeenNodes


@dataclass(frozen=True, slots=True)
class _Writing:
    digest: str
    nodes: tuple[NodeSummary, ...] = ()
    inventory: Inventory | None = None


class Inventories:
    """`store.inventory`. What was decoded last is kept, since thousands of reads meet one and the same writing."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._last: _Writing | None = None

    def write(
        self,
        nodes: Sequence[NodeView],
        pools: Mapping[str, str],
        exporter_pods: Mapping[str, str],
        ours: Collection[str],
        *,
        at: datetime,
    ) -> None:
        """Replace the inventory in one step, which also wakes who waited for it, or for a node that was out.

        Args:
            nodes: all nodes of the cluster.
            pools: node to pool; a node in no pool is left out.
            exporter_pods: `namespace/name` of each exporter pod to its node.
            ours: the nodes that carry our mark.
            at: when they were read.
        """
        seen = sorted((_summary(node, pools.get(node.name), node.name in ours) for node in nodes), key=_name)
        text = write(SeenNodes(nodes=tuple(seen), exporter_pods=exporter_pods))
        self._link.run(
            "write_inventory",
            {
                "now": str(micros(at)),
                "digest": hashed(text),
                "document": text,
                "fleet": breaker.populations(seen),
                "out": {node.name: "|".join(groups(node.pool, node.labels)) for node in seen if node.out},
                "budget": DISRUPTIONS,
                "waits_for": INVENTORY,
            },
        )

    def read(self) -> tuple[Inventory, datetime] | None:
        """The inventory and when it was read from the cluster; None before the first one.

        One of a later version of Sickbay counts as none: alerts then wait for a worker, which reads nodes afresh.
        """
        found = self._current()
        if found is None or found[0].inventory is None:
            return None
        return found[0].inventory, found[1]

    def nodes(self) -> list[NodeSummary]:
        """The nodes, by name."""
        found = self._current()
        return [] if found is None else list(found[0].nodes)

    def written_at(self) -> datetime | None:
        """When it was read from the cluster; None before the first one."""
        at = self._link.ask("HGET", KEYS["inventory"], "at")
        return None if at is None else moment(at)

    def _current(self) -> tuple[_Writing, datetime] | None:
        at, digest = self._link.ask("HMGET", KEYS["inventory"], "at", "digest")
        if self._last is None or self._last.digest != digest:
            # All three at once: another writing may have come since.
            at, digest, text = self._link.ask("HMGET", KEYS["inventory"], "at", "digest", "document")
            self._last = _decoded(digest, text)
        return None if at is None else (self._last, moment(at))


def _decoded(digest: str, text: str | None) -> _Writing:
    seen = next(iter(read_readable(SeenNodes, [text])), None)
    if seen is None:
        return _Writing(digest)
    known = tuple(
        KnownNode(name=node.name, uid=node.uid, addresses=node.addresses, labels=node.labels) for node in seen.nodes
    )
    return _Writing(digest, seen.nodes, Inventory(nodes=known, exporter_pods=seen.exporter_pods))


def _name(node: NodeSummary) -> str:
    return node.name


def _summary(node: NodeView, pool: str | None, marked: bool) -> NodeSummary:  # noqa: FBT001 - a private constructor
    return NodeSummary(
        name=node.name,
        uid=node.uid,
        pool=pool,
        ready=node.ready,
        unschedulable=node.unschedulable,
        marked_by_us=marked,
        gpu_capacity=node.gpu_capacity,
        gpu_allocatable=node.gpu_allocatable,
        boot_id=node.boot_id,
        addresses=node.addresses,
        labels=node.labels,
    )
