"""Await-idle: a repair that may wait lets the work on the node end by itself; nothing is evicted or cordoned yet."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from app.domain.deadlines import is_past, next_look
from app.domain.facts import NodeView, PodView
from app.domain.guards import Hurts
from app.domain.operations import Operation
from app.domain.outcomes import Done, NeedsHuman, Outcome, Wait
from app.domain.policies import Policy, Then
from app.domain.timeline import counted, spell
from workers.ports import Ports
from workers.step import current

NOT_IDLE = "drain-although-busy"
LOOK_AGAIN = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Work:
    """The node, and the pods on it that hold GPUs."""

    node: NodeView
    holders: tuple[PodView, ...]


class AwaitIdle:
    """Done when no pod holds a GPU of the node, or at the deadline if policy then drains."""

    name: ClassVar[str] = "await-idle"
    hurts: ClassVar[Hurts] = Hurts.NOTHING

    def look(self, operation: Operation, node: NodeView, ports: Ports) -> Work:
        """Pods that have not finished and hold GPUs."""
        pods = ports.pods.on_node(node.name)
        return Work(node, tuple(pod for pod in pods if pod.gpus and pod.phase not in {"Succeeded", "Failed"}))

    def judge(self, operation: Operation, facts: Work, policy: Policy, now: datetime) -> Outcome:
        """The deadline stands in the step since the operation opened: a changed policy does not move it."""
        step, name = current(operation), facts.node.name
        if not facts.holders:
            return Done(f"No pod holds a GPU of {name}: the repair begins.")
        if NOT_IDLE in operation.approvals:
            return Done(f"A person approved going on although {counted(len(facts.holders), 'pod')} still works.")
        limit = timedelta(seconds=int(step.memo.get("deadline_s", "86400")))
        ends = operation.opened_at + limit
        if not is_past(ends, now):
            shown = ", ".join(pod.full_name for pod in facts.holders[:5])
            after = next_look(now, ends, at_most=LOOK_AGAIN)
            return Wait(f"Waits until {name} is idle, for {spell(limit)} at most: {shown}.", after=after)
        if step.memo.get("then") == Then.DRAIN:
            return Done(f"{name} was not idle within {spell(limit)}; by policy it is drained now.")
        text = f"{name} was not idle within {spell(limit)}: approve its drain, or cancel."
        return NeedsHuman(text, asks=NOT_IDLE)
