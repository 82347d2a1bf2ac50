"""Release: give back what we took, as it was, and never while something of ours still runs on the node."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar

from app.domain.deadlines import due_at, is_past, next_look
from app.domain.effects import PatchNode, RemoveNodeJob
from app.domain.facts import NodeJobView, NodeView
from app.domain.guards import Hurts
from app.domain.marks import (
    STATE_LABEL,
    cordon_patch,
    leftovers_patch,
    noted,
    noted_mark,
    read_mark,
    release_patch,
)
from app.domain.operations import Operation
from app.domain.outcomes import Act, Done, Failed, NeedsHuman, Outcome, Wait
from app.domain.plans.planned import PlannedStep
from app.domain.policies import Policy
from app.domain.timeline import spell
from workers.ports import Ports
from workers.step import current

LOOK_AGAIN = timedelta(seconds=10)
ENDS_WITHIN = timedelta(minutes=10)
"""How long node jobs that were told to end may take before a person is asked: a pod of a dead kubelet never ends."""


@dataclass(frozen=True, slots=True)
class Held:
    """The node, and our node jobs on it that still run."""

    node: NodeView
    running: tuple[NodeJobView, ...]


class Release:
    """Done when the node carries nothing of this operation."""

    name: ClassVar[str] = "release"
    hurts: ClassVar[Hurts] = Hurts.NOTHING

    def look(self, operation: Operation, node: NodeView, ports: Ports) -> Held:
        """The node, and what runs there for this operation."""
        jobs = ports.node_jobs.of_operation(operation.id)
        return Held(node, tuple(job for job in jobs if not job.ended))

    def judge(self, operation: Operation, facts: Held, policy: Policy, now: datetime) -> Act | Outcome:
        """End our node jobs, then take the marks away; faults that came after the repair keep the node."""
        ordered = "ordered" in current(operation).memo
        mark = read_mark(facts.node)
        ours = mark is not None and mark.operation == operation.id
        if ours and not ordered and operation.uncovered_faults:
            told = "; ".join(fault.evidence for fault in operation.uncovered_faults)
            return Failed(f"{facts.node.name} stays cordoned: after the repair came {told}.")
        if facts.running:
            return _end(current(operation), facts.running, now)
        if not ours and not ordered and operation.uncovered_faults and "patched" in current(operation).memo:
            body = cordon_patch(facts.node, operation.id)
            return Act(
                (_patch(operation, facts.node, "cordon-again", body),),
                f"Cordons {facts.node.name} again: a fault came while it was given back.",
                noted(body, facts.node),
            )
        if mark is not None and ours:
            body = release_patch(facts.node, mark)
            return Act(
                (_patch(operation, facts.node, "release", body),),
                f"Gives {facts.node.name} back.",
                {"patched": "yes"},
            )
        left = None if mark is not None else _leftovers(operation, facts.node)
        if left is not None:
            return Act(
                (_patch(operation, facts.node, "leftovers", left),),
                f"Sickbay's annotation on {facts.node.name} was taken away: takes its other marks away too.",
                {"patched": "yes"},
            )
        return Done(_gone(operation, facts.node, now))


def _end(step: PlannedStep, running: tuple[NodeJobView, ...], now: datetime) -> Act | Outcome:
    names = ", ".join(job.name for job in running)
    told = set(step.memo.get("told", "").split(", "))
    if not {job.name for job in running} <= told:
        removals = tuple(RemoveNodeJob(key=f"{job.name}/remove", name=job.name) for job in running)
        return Act(removals, f"Ends {names} first.", {"told": names})
    ends = due_at(step, ENDS_WITHIN, now)
    if is_past(ends, now):
        return NeedsHuman(f"{names} was told to end and still runs on the node. Delete it, then retry.")
    return Wait(f"Waits for {names} to end.", after=next_look(now, ends, at_most=LOOK_AGAIN))


def _leftovers(operation: Operation, node: NodeView) -> dict[str, Any] | None:
    """What takes away the marks that somebody left who took our annotation, by what the record says was there before.

    Once our own patch has been here, which took the label too, any value is somebody else's.
    """
    if "patched" in current(operation).memo and STATE_LABEL not in node.labels:
        return None
    mark = noted_mark((step.memo for step in reversed(operation.plan)), node)
    return None if mark is None else leftovers_patch(node, mark)


def _patch(operation: Operation, node: NodeView, what: str, body: dict[str, Any]) -> PatchNode:
    return PatchNode(
        key=f"{operation.id}/{what}",
        node=node.name,
        uid=node.uid,
        resource_version=node.resource_version,
        body=body,
    )


def _gone(operation: Operation, node: NodeView, now: datetime) -> str:
    out = spell(now - operation.opened_at)
    if node.unschedulable:
        return f"Handed back after {out}; {node.name} stays cordoned, as somebody else wants it."
    return f"Released: {node.name} takes work again after {out}."
