"""Drain: evict what works on the node through the Eviction API, and wait until it is gone.

Budgets are never circumvented: a refused eviction is asked again, and at the deadline a person is.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from app.domain.deadlines import due_at, is_past, next_look
from app.domain.drains import DrainView, refusal_key, sort_pods, standing_refusal
from app.domain.effects import EvictPod
from app.domain.facts import NodeView, PodView
from app.domain.guards import Hurts
from app.domain.operations import Operation
from app.domain.outcomes import Act, Done, NeedsHuman, Outcome, Wait
from app.domain.plans.planned import PlannedStep
from app.domain.policies import Policy
from app.domain.questions import are_allowed
from app.domain.timeline import counted
from workers.ports import Ports
from workers.step import current

BARE_PODS = "bare-pods"
SHOWN_PODS = 5
ASKED_PODS = 50
"""Pods that one question is about; the others are asked about after them."""
COUNTED_PODS = 500
"""Evicted pods that the memo keeps apart; more come only from a controller that puts its pods back on the node."""


@dataclass(frozen=True, slots=True)
class Pods:
    """The node and all pods bound to it."""

    node: NodeView
    pods: tuple[PodView, ...]


class Drain:
    """Done when every pod that had to go is gone by uid."""

    name: ClassVar[str] = "drain"
    hurts: ClassVar[Hurts] = Hurts.RUNNING_WORK

    def look(self, operation: Operation, node: NodeView, ports: Ports) -> Pods:
        """The pods, from a list that is not older than the last eviction."""
        return Pods(node, ports.pods.on_node(node.name))

    def judge(self, operation: Operation, facts: Pods, policy: Policy, now: datetime) -> Act | Outcome:
        """Evict what may go now; otherwise wait, or ask when waiting does not help."""
        step = current(operation)
        approved = are_allowed(operation.approvals, BARE_PODS, (pod.uid for pod in facts.pods))
        view = sort_pods(facts.pods, approved=approved)
        if view.empty:
            return Done(_drained(step, view))
        refusals = [standing_refusal(step.memo, pod.uid, now) for pod in view.go]
        due = [pod for pod, refusal in zip(view.go, refusals, strict=True) if refusal is None]
        ends = due_at(step, policy.rules_for(facts.node.labels).deadlines.drain, now)
        if is_past(ends, now):
            return NeedsHuman(f"The drain is past its deadline. {_waiting_for(step, view)} Retry it or cancel.")
        if due:
            asked = {uid for uid in step.memo.get("asked", "").split(",") if uid} | {pod.uid for pod in due}
            evictions = tuple(
                EvictPod(key=f"{operation.id}/evict/{pod.uid}", namespace=pod.namespace, name=pod.name, uid=pod.uid)
                for pod in due
            )
            return Act(evictions, f"Evicts {_named(due)}.", {"asked": ",".join(sorted(asked)[:COUNTED_PODS])})
        if view.asked_for and not view.go and not view.leaving:
            text = f"{_named(view.asked_for)} has no controller to start it again: approve its eviction, or move it."
            of = {pod.uid: pod.full_name for pod in view.asked_for[:ASKED_PODS]}
            return NeedsHuman(text, asks=BARE_PODS, of=of)
        asked_again = [refusal[0] for refusal in refusals if refusal]
        return Wait(_waiting_for(step, view), after=next_look(now, ends, *asked_again))


def _waiting_for(step: PlannedStep, view: DrainView) -> str:
    sentences = []
    if view.leaving:
        sentences.append(f"Waits for {_named(view.leaving)} to end within its grace.")
    refusals = {step.memo.get(refusal_key(pod.uid), "").partition(" ")[2] for pod in view.go}
    sentences += [f"Waits: {refusal}" for refusal in sorted(refusals - {""})]
    if view.asked_for:
        sentences.append(f"{_named(view.asked_for)} has no controller.")
    return " ".join(sentences) or f"Waits to evict {_named(view.go)}."


def _drained(step: PlannedStep, view: DrainView) -> str:
    evicted = len([uid for uid in step.memo.get("asked", "").split(",") if uid])
    left = counted(len(view.stay), "pod")
    return f"Drained: {counted(evicted, 'pod')} evicted, {left} of DaemonSets or finished left in place."


def _named(pods: tuple[PodView, ...] | list[PodView]) -> str:
    shown = ", ".join(pod.full_name for pod in pods[:SHOWN_PODS])
    return shown + (f" and {len(pods) - SHOWN_PODS} more" if len(pods) > SHOWN_PODS else "")
