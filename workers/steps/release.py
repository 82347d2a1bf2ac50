"""Release: give back what we took, as it was, and never while something of ours still runs on the node."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar

from app.domain import under_way
from app.domain.deadlines import due_at, is_past, next_look
from app.domain.effects import PatchNode, RemoveNodeJob
from app.domain.facts import NodeJobView, NodeView
from app.domain.guards import Hurts
from app.domain.interruptions import REPLACED_WITHIN
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
from app.domain.plans import repair
from app.domain.plans.planned import PlannedStep, StepState
from app.domain.policies import Policy
from app.domain.timeline import spell
from workers.ports import Ports
from workers.step import current, node_job_name

LOOK_AGAIN = timedelta(seconds=10)
ENDS_WITHIN = timedelta(minutes=10)
"""How long node jobs that were told to end may take before a person is asked: a pod of a dead kubelet never ends."""


@dataclass(frozen=True, slots=True)
class Held:
    """The node, our node jobs on it that still run, and the one of a reboot that was cut off by an order."""

    node: NodeView
    running: tuple[NodeJobView, ...]
    reboot: NodeJobView | None = None


class Release:
    """Done when the node carries nothing of this operation."""

    name: ClassVar[str] = "release"
    hurts: ClassVar[Hurts] = Hurts.NOTHING

    def look(self, operation: Operation, node: NodeView, ports: Ports) -> Held:
        """The node, and what runs there for this operation."""
        jobs = ports.node_jobs.of_operation(operation.id)
        place = under_way.cut_off(operation)
        reboot = None if place is None else ports.node_jobs.get(node_job_name(operation, place=place))
        return Held(node, tuple(job for job in jobs if not job.ended), reboot)

    def judge(self, operation: Operation, facts: Held, policy: Policy, now: datetime) -> Act | Outcome:
        """Let a boot end, end our node jobs, then take the marks away; faults after the repair keep the node."""
        mark = read_mark(facts.node)
        judged = self._judged(operation, facts, policy, now)
        if mark is None or mark.operation != operation.id or facts.node.unschedulable or mark.was_unschedulable:
            return judged
        # Whoever cordons it from here on does so for reasons of their own, before our marks are gone too.
        if not isinstance(judged, Act | Wait):
            return judged
        return replace(judged, memo={**judged.memo, repair.UNCORDONED: "yes"})

    def _judged(self, operation: Operation, facts: Held, policy: Policy, now: datetime) -> Act | Outcome:
        ordered = "ordered" in current(operation).memo
        uncordoned = repair.UNCORDONED in current(operation).memo
        mark = read_mark(facts.node)
        ours = mark is not None and mark.operation == operation.id
        if ours and not ordered and operation.uncovered_faults:
            told = "; ".join(fault.evidence for fault in operation.uncovered_faults)
            return Failed(f"{facts.node.name} stays cordoned: after the repair came {told}.")
        if mark is not None and ours and facts.node.unschedulable and not (mark.was_unschedulable or uncordoned):
            booting = _under_way(operation, facts, policy, now)
            if booting is not None:
                return booting
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
            body = release_patch(facts.node, mark, uncordoned=uncordoned)
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


def _under_way(operation: Operation, facts: Held, policy: Policy, now: datetime) -> Wait | None:
    """The wait for a boot or a replacement that was asked for before the order came; None when none is to come."""
    place = under_way.cut_off(operation)
    if place is None:
        return None
    step, node = operation.plan[place], facts.node
    within = REPLACED_WITHIN if step.step == under_way.REPLACE else policy.rules_for(node.labels).deadlines.reboot
    until = under_way.waits_until(step, node, facts.reboot, within=within, now=now)
    return None if until is None else Wait(under_way.told(step, node.name, until), after=next_look(now, until))


def _gone(operation: Operation, node: NodeView, now: datetime) -> str:
    out = spell(now - operation.opened_at)
    if node.unschedulable:
        return f"Handed back after {out}; {node.name} stays cordoned, as somebody else wants it."
    cordon, patched = operation.last("cordon"), "patched" in current(operation).memo
    if not patched and (cordon is None or cordon.state is not StepState.DONE):
        return f"Handed back after {out}; {node.name} was never cordoned and takes work as before."
    return f"Released: {node.name} takes work again after {out}."
