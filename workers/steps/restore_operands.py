"""Restore-operands: the undo of pause-operands, owed from the moment its first label may have been written."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar

from app.domain.deadlines import due_at, is_past, next_look
from app.domain.effects import PatchNode
from app.domain.evidence import gpus_noted
from app.domain.facts import NodeView
from app.domain.guards import Hurts
from app.domain.marks import paused_operands, restore_patch
from app.domain.operations import Operation
from app.domain.outcomes import Act, Done, Outcome, Wait
from app.domain.policies import Policy
from app.domain.timeline import spell
from workers.ports import Ports
from workers.step import current

WITHIN = timedelta(minutes=10)


class RestoreOperands:
    """Done when the labels are as before and the device plugin offers the GPUs again, or did not in time.

    GPUs that stay away are for the proof that follows to judge; nothing may keep the undo from ending.
    """

    name: ClassVar[str] = "restore-operands"
    hurts: ClassVar[Hurts] = Hurts.NOTHING

    def look(self, operation: Operation, node: NodeView, ports: Ports) -> NodeView:
        """The node is all there is to see."""
        return node

    def judge(self, operation: Operation, facts: NodeView, policy: Policy, now: datetime) -> Act | Outcome:
        """Labels first, then the GPUs."""
        step = current(operation)
        if paused_operands(facts):
            patch = PatchNode(
                key=f"{operation.id}/restore-operands",
                node=facts.name,
                uid=facts.uid,
                resource_version=facts.resource_version,
                body=restore_patch(facts),
            )
            return Act((patch,), f"Gives the operands of {facts.name} their labels back.")
        wanted = gpus_noted(operation)
        if facts.gpu_allocatable >= wanted:
            return Done(f"The operands of {facts.name} run again and offer {facts.gpu_allocatable} GPUs.")
        ends = due_at(step, WITHIN, now)
        if is_past(ends, now):
            offered = f"{facts.gpu_allocatable} of {wanted} GPUs are offered after {spell(WITHIN)}"
            return Done(f"The operands of {facts.name} have their labels back; {offered}.")
        return Wait(f"Waits for the operands of {facts.name} to offer its GPUs again.", after=next_look(now, ends))
