"""Restart-plugin: the device plugin keeps a GPU unhealthy after a harmless fault until its pod is started anew."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from app.domain.deadlines import due_at, is_past, next_look
from app.domain.effects import EvictPod
from app.domain.facts import NodeView, PodView
from app.domain.guards import Hurts
from app.domain.operations import Operation
from app.domain.outcomes import Act, Done, Failed, Outcome, Wait
from app.domain.policies import Policy
from app.domain.refusals import standing_refusal
from app.domain.timeline import counted
from workers.ports import Ports
from workers.step import current

PLUGIN = ("app", "nvidia-device-plugin-daemonset")
"""The GPU Operator's label on the pods of its device plugin."""

WITHIN = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Plugin:
    """The node and its device plugin's pods."""

    node: NodeView
    pods: tuple[PodView, ...]


class RestartPlugin:
    """Done when every GPU of the node is allocatable again. Pods that hold GPUs are not touched."""

    name: ClassVar[str] = "restart-plugin"
    hurts: ClassVar[Hurts] = Hurts.NEW_WORK
    """For a moment no pod gets a GPU here, so that a pause holds it; nobody's work ends."""

    def look(self, operation: Operation, node: NodeView, ports: Ports) -> Plugin:
        """The plugin's pods on this node."""
        pods = ports.pods.on_node(node.name)
        return Plugin(node, tuple(pod for pod in pods if pod.labels.get(PLUGIN[0]) == PLUGIN[1]))

    def judge(self, operation: Operation, facts: Plugin, policy: Policy, now: datetime) -> Act | Outcome:
        """Evict the pod that was there, then wait for what its successor offers."""
        step, node = current(operation), facts.node
        asked = step.memo.get("asked", "")
        old = tuple(pod for pod in facts.pods if not asked or pod.uid in asked.split(","))
        if not asked and not old:
            return Failed(f"No device plugin runs on {node.name} that could be restarted.")
        ends = due_at(step, WITHIN, now)
        late = is_past(ends, now)
        due = tuple(pod for pod in old if pod.deleted_at is None)
        refused = [told for pod in due if (told := standing_refusal(step.memo, pod.uid, now)) is not None]
        if refused and not late:
            text = f"Waits to restart the device plugin of {node.name}: {refused[0].why}"
            return Wait(text, after=next_look(now, ends, refused[0].until))
        if due and not late:
            evictions = tuple(
                EvictPod(key=f"{operation.id}/evict/{pod.uid}", namespace=pod.namespace, name=pod.name, uid=pod.uid)
                for pod in due
            )
            return Act(
                evictions, f"Restarts the device plugin of {node.name}.", {"asked": ",".join(p.uid for p in old)}
            )
        if not old and node.gpu_allocatable >= node.gpu_capacity > 0:
            return Done(f"The device plugin restarted: all {counted(node.gpu_capacity, 'GPU')} are allocatable.")
        if late:
            offered = f"{node.gpu_allocatable} of {counted(node.gpu_capacity, 'GPU')} are allocatable"
            tried = "could not be restarted" if old else "was restarted"
            return Failed(f"The device plugin of {node.name} {tried}: {offered}.")
        text = f"Waits for the device plugin of {node.name} to offer all its GPUs again."
        return Wait(text, after=next_look(now, ends))
