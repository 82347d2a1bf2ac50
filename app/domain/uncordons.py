"""Who made a node schedulable again that Sickbay holds: a person, whose word ends the operation, or a service.

No object says it. The API server keeps who last set a field, but nothing of who took one away, and an uncordon takes
`spec.unschedulable` away. So it is told by what a service sets beside it: the GPU Operator moves its upgrade state
right after its uncordon, others write on the node in the same moment. What fits none of these is a person's.

Sources: NVIDIA/k8s-operator-libs `pkg/upgrade` (uncordon, then `upgrade-done`); kubernetes/autoscaler
`utils/taints` (uncordon and taint in one write); sigs.k8s.io/structured-merge-diff `merge` (who owns a field).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from app.domain.facts import NodeView

UPGRADE_STATE = "nvidia.com/gpu-driver-upgrade-state"
UNCORDONS, UPGRADED = "uncordon-required", "upgrade-done"
AT_REST = frozenset({"", UPGRADED, "upgrade-required", "upgrade-failed"})
"""Upgrade states in which the GPU Operator leaves the node alone; one that has failed waits for a person."""

GPU_OPERATOR = "the GPU Operator"
SERVICES = {
    "gpu-operator": GPU_OPERATOR,
    "k8s-driver-manager": "the driver manager of the GPU Operator",
    "driver-manager": "the driver manager of the GPU Operator",
    "cluster-autoscaler": "the cluster autoscaler",
    "karpenter": "Karpenter",
}
"""The names under which services write that cordon and uncordon nodes, and what people call them."""

MOVED_WITHIN = timedelta(minutes=5)
"""How long ago the upgrade state may have moved: an operation is looked at that often also when no watch runs."""
WROTE_WITHIN = timedelta(seconds=10)
"""How long ago a service's last write may be: the watch tells within a second, and these times are whole seconds."""


def service_that_uncordoned(node: NodeView, *, since: datetime, now: datetime) -> str | None:
    """What people call the service that uncordoned it; None for a person.

    `since` is when Sickbay cordoned it: what was written before has nothing to do with it.
    """
    state = node.labels.get(UPGRADE_STATE, "")
    if state == UNCORDONS:
        return GPU_OPERATOR
    for write in node.writes:
        last = write.at >= _whole_second(since)
        if state == UPGRADED and last and write.upgrade_state and now - write.at <= MOVED_WITHIN:
            return GPU_OPERATOR
        service = SERVICES.get(write.by)
        if last and service not in {None, GPU_OPERATOR} and now - write.at <= WROTE_WITHIN:
            return service
    return None


def service_that_upgrades(node: NodeView) -> str | None:
    """The GPU Operator while it is in the midst of a driver upgrade on this node, by the state that it tells."""
    state = node.labels.get(UPGRADE_STATE, "")
    return None if state in AT_REST else f"{GPU_OPERATOR} (driver upgrade: {state})"


def who_cordoned(node: NodeView) -> str:
    """Who set `unschedulable`, as far as the API server tells: the service, or the program a person used."""
    write = next((write for write in node.writes if write.unschedulable), None)
    if write is None:
        return "somebody"
    return SERVICES.get(write.by, f"somebody with {write.by}" if write.by else "somebody")


def _whole_second(moment: datetime) -> datetime:
    return moment.replace(microsecond=0)
