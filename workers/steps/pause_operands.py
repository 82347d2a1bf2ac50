"""Pause-operands: what holds the GPUs open, but works for nobody, leaves the node for the time of a reset.

It owes an undo, `restore-operands`, which is done whatever happens to the reset.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from app.domain.deadlines import due_at, is_past, next_look
from app.domain.effects import PatchNode
from app.domain.facts import NodeView, PodView
from app.domain.guards import Hurts
from app.domain.marks import OPERANDS, pause_patch, paused_operands
from app.domain.operations import Operation
from app.domain.outcomes import Act, Done, Failed, Outcome, Wait
from app.domain.policies import Policy
from app.domain.timeline import counted, spell
from workers.ports import Ports
from workers.step import current

WITHIN = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Holders:
    """The node and the operands' pods that are still on it."""

    node: NodeView
    pods: tuple[PodView, ...]


class PauseOperands:
    """Done when the labels carry our value and no operand's pod is left."""

    name: ClassVar[str] = "pause-operands"
    hurts: ClassVar[Hurts] = Hurts.RUNNING_WORK
    """So that a pause or a person's no comes before it, and not between it and the reset that it is for."""

    def look(self, operation: Operation, node: NodeView, ports: Ports) -> Holders:
        """Pods of DaemonSets that are named after an operand."""
        pods = ports.pods.on_node(node.name)
        return Holders(node, tuple(pod for pod in pods if is_operand(pod)))

    def judge(self, operation: Operation, facts: Holders, policy: Policy, now: datetime) -> Act | Outcome:
        """Label, wait, and give up after a while: the reset then takes the next rung."""
        node, step = facts.node, current(operation)
        wanted = [name for name in OPERANDS if node.labels.get(f"nvidia.com/gpu.deploy.{name}") == "true"]
        ends = due_at(step, WITHIN, now)
        late = is_past(ends, now)
        if wanted and late:
            return Failed(f"Somebody keeps {', '.join(wanted)} of {node.name} running: they were not paused.")
        if wanted:
            patch = PatchNode(
                key=f"{operation.id}/pause-operands",
                node=node.name,
                uid=node.uid,
                resource_version=node.resource_version,
                body=pause_patch(node),
            )
            return Act((patch,), f"Pauses {', '.join(wanted)} on {node.name}.")
        if not facts.pods:
            paused = counted(len(paused_operands(node)), "operand")
            return Done(f"{paused} paused: nothing of the GPU Operator holds the GPUs.")
        if late:
            left = ", ".join(pod.full_name for pod in facts.pods)
            return Failed(f"{left} did not leave {node.name} within {spell(WITHIN)}.")
        text = f"Waits for {counted(len(facts.pods), 'operand')} to leave {node.name}."
        return Wait(text, after=next_look(now, ends))


def is_operand(pod: PodView) -> bool:
    """Whether the pod is one of the operands that can be paused: the DaemonSets have their names."""
    name = pod.controller_name.removeprefix("nvidia-").removesuffix("-daemonset")
    return pod.controller_kind == "DaemonSet" and (name in OPERANDS or pod.controller_name in OPERANDS)
