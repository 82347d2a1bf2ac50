"""Which changes in the cluster an open operation may be waiting for. Pure: before and after in, a nudge out.

It knows no operations: whether one is open on that node, and what it makes of the change, is found out by looking.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.facts import NodeView
from app.domain.marks import whose
from app.domain.policies import EXCLUDE_LABEL
from workers.watch.seen import SeenNodeJob, SeenPod

GPU_LABEL = "nvidia.com/gpu.present"
WATCHED_LABELS = (EXCLUDE_LABEL, "nvidia.com/gpu-driver-upgrade-state", "nvidia.com/mig.config.state")
"""A person's word to keep off, and where the GPU Operator reports how far its own work on the node is."""


@dataclass(frozen=True, slots=True)
class Nudge:
    """Somebody should look at this node's operation, because of this."""

    node: str
    why: str


def of_node(before: NodeView | None, after: NodeView | None) -> Nudge | None:
    """For a node that joined, left, or changed in what steps and guards decide by. Others than GPU nodes give none."""
    there = after or before
    if there is None or not any(has_gpus(node) for node in (before, after) if node is not None):
        return None
    if before is None:
        return Nudge(there.name, "it has joined")
    if after is None:
        return Nudge(there.name, "it was deleted")
    changes = _changes(before, after)
    return Nudge(there.name, ", ".join(changes)) if changes else None


def of_pod(before: SeenPod | None, after: SeenPod | None) -> Nudge | None:
    """For a pod that is told to end, has finished, or is gone: a drain may be over."""
    if before is None or before.over:
        return None
    if after is None:
        return Nudge(before.node, f"pod {before.full_name} is gone")
    if after.over:
        return Nudge(before.node, f"pod {before.full_name} has finished")
    if after.going and not before.going:
        return Nudge(before.node, f"pod {before.full_name} is told to end")
    return None


def of_node_job(before: SeenNodeJob | None, after: SeenNodeJob | None) -> Nudge | None:
    """For a node job that has ended, or was deleted before it did."""
    if after is None:
        if before is None or before.ended:
            return None
        return Nudge(before.node, f"node job {before.name} was deleted")
    if after.ended and not (before and before.ended):
        return Nudge(after.node, f"node job {after.name} has ended")
    return None


def has_gpus(node: NodeView) -> bool:
    """Whether it is a GPU node, also while none of its GPUs is to be seen."""
    return node.gpu_capacity > 0 or node.labels.get(GPU_LABEL) == "true"


def _changes(before: NodeView, after: NodeView) -> list[str]:
    if before.uid != after.uid:
        return ["another machine has its name"]
    changes = []
    if before.ready != after.ready:
        changes.append("it is Ready" if after.ready else "it is not Ready any more")
    if before.boot_id != after.boot_id:
        changes.append("its boot id changed")
    if before.unschedulable != after.unschedulable:
        changes.append("it was cordoned" if after.unschedulable else "it was uncordoned")
    if whose(before) != whose(after):
        changes.append("its mark changed")
    changes += [
        f"label {label} changed" for label in WATCHED_LABELS if before.labels.get(label) != after.labels.get(label)
    ]
    if (before.gpu_allocatable, before.gpu_capacity) != (after.gpu_allocatable, after.gpu_capacity):
        changes.append(f"{after.gpu_allocatable} of {after.gpu_capacity} GPUs are allocatable")
    return changes
