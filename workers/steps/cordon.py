"""Cordon: keep new pods off the node, and remember in the same patch what was there before us."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from app.domain.deadlines import due_at, is_past, next_look
from app.domain.effects import PatchNode
from app.domain.facts import NodeView, PodView
from app.domain.guards import Hurts
from app.domain.idleness import holders, judge_idleness, waits_for_idle
from app.domain.marks import ANNOTATION, cordon_patch, noted, noted_mark, read_mark
from app.domain.operations import CORDONED_AGAIN, Operation
from app.domain.outcomes import Act, Done, NeedsHuman, Outcome, Wait
from app.domain.plans import repair
from app.domain.policies import Policy
from app.domain.timeline import spell
from app.domain.uncordons import service_that_upgrades, who_cordoned
from workers.ports import Ports
from workers.step import current

FOREIGN_CORDON = "foreign-cordon"
LOOK_AGAIN = timedelta(minutes=2)
"""How soon a node that the GPU Operator has is looked at again; the watch tells sooner when its state moves."""

UPGRADES_WITHIN = timedelta(hours=2)
"""How long such an upgrade is waited for before a person is asked."""


@dataclass(frozen=True, slots=True)
class Site:
    """The node, and the pods that hold its GPUs if the repair waits for them."""

    node: NodeView
    busy: tuple[PodView, ...] = ()


class Cordon:
    """Done once the node is unschedulable and carries our mark; a person's cordon is asked about first (P6).

    A repair that waits until the node is idle looks for work once more: this step may have been held for hours.
    """

    name: ClassVar[str] = "cordon"
    hurts: ClassVar[Hurts] = Hurts.NEW_WORK

    def look(self, operation: Operation, node: NodeView, ports: Ports) -> Site:
        """The node, and its pods only where they count: in a storm every read is one too many."""
        busy = holders(ports.pods.on_node(node.name)) if waits_for_idle(operation) else ()
        return Site(node, busy)

    def judge(self, operation: Operation, facts: Site, policy: Policy, now: datetime) -> Act | Outcome:
        """Marked and unschedulable is done, unless it was unschedulable before us and nobody approved."""
        wait = operation.last(repair.WAIT)
        if wait is not None and facts.busy:
            idle = judge_idleness(operation, wait, facts.busy, now)
            if not isinstance(idle, Done):
                return idle
        return _cordoned(operation, facts.node, now)


def _cordoned(operation: Operation, node: NodeView, now: datetime) -> Act | Outcome:
    mark = read_mark(node)
    if mark is None and ANNOTATION in node.annotations:
        text = f"{node.name} carries an annotation {ANNOTATION} that cannot be read: what was before is unknown."
        return NeedsHuman(f"{text} Nothing is done until somebody has taken it away.")
    if mark is None or mark.operation != operation.id or not node.unschedulable:
        earlier = noted_mark([current(operation).memo], node)
        body = cordon_patch(node, operation.id, earlier)
        patch = PatchNode(
            key=f"{operation.id}/cordon",
            node=node.name,
            uid=node.uid,
            resource_version=node.resource_version,
            body=body,
        )
        return Act((patch,), f"Cordons {node.name}.", noted(body, node))
    if CORDONED_AGAIN in current(operation).memo and not mark.was_unschedulable:
        return Done(f"Cordoned {node.name} again.")
    if not mark.was_unschedulable:
        return Done(f"Cordoned {node.name}, {spell(now - operation.opened_at)} after the operation opened.")
    if FOREIGN_CORDON in operation.approvals:
        return Done(f"{node.name} stays cordoned as it was before Sickbay; a person approved going on.")
    service, asks_at = service_that_upgrades(node), due_at(current(operation), UPGRADES_WITHIN, now)
    if service is not None and not is_past(asks_at, now):
        return Wait(
            f"{node.name} was cordoned before Sickbay by {service}: waits until that is over.",
            next_look(now, asks_at, at_most=LOOK_AGAIN),
        )
    text = (
        f"{node.name} was cordoned by {who_cordoned(node)} before Sickbay: nothing is evicted before a person approves."
    )
    return NeedsHuman(text, asks=FOREIGN_CORDON)
