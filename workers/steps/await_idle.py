"""Await-idle: a repair that may wait lets the work on the node end by itself; nothing is evicted or cordoned yet."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from app.domain.facts import NodeView, PodView
from app.domain.guards import Hurts
from app.domain.idleness import holders, judge_idleness
from app.domain.operations import Operation
from app.domain.outcomes import Outcome
from app.domain.policies import Policy
from workers.ports import Ports
from workers.step import current


@dataclass(frozen=True, slots=True)
class Work:
    """The node, and the pods on it that hold GPUs."""

    node: NodeView
    holders: tuple[PodView, ...]


class AwaitIdle:
    """Done when no pod holds a GPU of the node, or at the deadline if policy then drains. The cordon asks it again."""

    name: ClassVar[str] = "await-idle"
    hurts: ClassVar[Hurts] = Hurts.NOTHING

    def look(self, operation: Operation, node: NodeView, ports: Ports) -> Work:
        """Pods that have not finished and hold GPUs."""
        return Work(node, holders(ports.pods.on_node(node.name)))

    def judge(self, operation: Operation, facts: Work, policy: Policy, now: datetime) -> Outcome:
        """Wait, go on, or ask, by what the plan says of this wait."""
        return judge_idleness(operation, current(operation), facts.holders, now)
