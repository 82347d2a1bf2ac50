"""Cordon: keep new pods off the node, and remember in the same patch what was there before us."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from app.domain.effects import PatchNode
from app.domain.facts import NodeView
from app.domain.guards import Hurts
from app.domain.marks import ANNOTATION, cordon_patch, read_mark
from app.domain.operations import Operation
from app.domain.outcomes import Act, Done, NeedsHuman, Outcome
from app.domain.policies import Policy
from app.domain.timeline import spell
from workers.ports import Ports

FOREIGN_CORDON = "foreign-cordon"


class Cordon:
    """Done once the node is unschedulable and carries our mark; a person's cordon is asked about first (P6)."""

    name: ClassVar[str] = "cordon"
    hurts: ClassVar[Hurts] = Hurts.NEW_WORK

    def look(self, operation: Operation, node: NodeView, ports: Ports) -> NodeView:
        """The node is all there is to see."""
        return node

    def judge(self, operation: Operation, facts: NodeView, policy: Policy, now: datetime) -> Act | Outcome:
        """Marked and unschedulable is done, unless it was unschedulable before us and nobody approved."""
        mark = read_mark(facts)
        if mark is None and ANNOTATION in facts.annotations:
            text = f"{facts.name} carries an annotation {ANNOTATION} that cannot be read: what was before is unknown."
            return NeedsHuman(f"{text} Nothing is done until somebody has taken it away.")
        if mark is None or mark.operation != operation.id or not facts.unschedulable:
            patch = PatchNode(
                key=f"{operation.id}/cordon",
                node=facts.name,
                uid=facts.uid,
                resource_version=facts.resource_version,
                body=cordon_patch(facts, operation.id),
            )
            return Act((patch,), f"Cordons {facts.name}.")
        if not mark.was_unschedulable:
            return Done(f"Cordoned {facts.name}, {spell(now - operation.opened_at)} after the operation opened.")
        if FOREIGN_CORDON in operation.approvals:
            return Done(f"{facts.name} stays cordoned as it was before Sickbay; a person approved going on.")
        text = f"{facts.name} was cordoned by somebody before Sickbay: nothing is evicted before a person approves."
        return NeedsHuman(text, asks=FOREIGN_CORDON)
