"""Evidence: note what the node and its pods say, once it is cordoned and before anything else is changed on it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from app.domain.drains import sort_pods
from app.domain.facts import NodeView, PodView
from app.domain.gpu_counts import cards, offers_parts
from app.domain.guards import Hurts
from app.domain.operations import Operation
from app.domain.outcomes import Done, Outcome
from app.domain.policies import Policy
from app.domain.timeline import counted
from workers.ports import Ports

SHOWN_PODS = 8


@dataclass(frozen=True, slots=True)
class Seen:
    """The node and its pods while the fault is fresh."""

    node: NodeView
    pods: tuple[PodView, ...]
    when_well: int | None = None
    """How many GPUs the node had when it was well, None when nobody saw it so."""


class Evidence:
    """Always done at once: what cannot be read now is gone, and nothing waits for it."""

    name: ClassVar[str] = "evidence"
    hurts: ClassVar[Hurts] = Hurts.NOTHING

    def look(self, operation: Operation, node: NodeView, ports: Ports) -> Seen:
        """The node, and the pods that are still on it."""
        known = ports.gpu_counts.when_well(node.uid) if ports.gpu_counts else None
        return Seen(node, ports.pods.on_node(node.name), known)

    def judge(self, operation: Operation, facts: Seen, policy: Policy, now: datetime) -> Outcome:
        """Boot id, GPU counts and pods; the count is what the node must have again before it is released."""
        node = facts.node
        pods = sort_pods(facts.pods)
        work = [pod.full_name for pod in (*pods.go, *pods.leaving, *pods.left_alone)]
        shown = ", ".join(work[:SHOWN_PODS]) + (", …" if len(work) > SHOWN_PODS else "")
        whole = max(cards(node), facts.when_well or 0)
        gpus = node.gpu_capacity if offers_parts(node) else whole
        doubt = (
            "" if facts.when_well else " How many GPUs it has when it is well was never seen: what shows now counts."
        )
        text = (
            f"Evidence noted: {node.gpu_allocatable} of {counted(gpus, 'GPU')} allocatable, "
            f"{counted(len(work), 'pod')} at work{f' ({shown})' if shown else ''}, "
            f"{'Ready' if node.ready else 'not Ready'}.{doubt}"
        )
        return Done(text, {"gpus": str(gpus), "cards": str(whole), "boot_id": node.boot_id, "pods": shown})
