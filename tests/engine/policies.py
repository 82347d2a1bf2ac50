"""The policy of the engine's stories: one pool over all GPU nodes, and defaults elsewhere."""

from __future__ import annotations

from app.domain.plans.repair import RUNGS
from app.domain.policies import AlertNames, Budgets, ClusterName, Mode, NodeJobs, Policy, Pool, Rung, Validation
from app.domain.xids import XidClass


def story_policy(mode: Mode = Mode.ACT, *, disruptions: int = 3, bandwidth_floor: float | None = 440.0) -> Policy:
    """Reboots for what needs a reset or a reboot."""
    return Policy(
        cluster=ClusterName(name="test"),
        alerts=AlertNames(xid=("GpuXid*",)),
        pools=(
            Pool(
                name="gpu",
                selector={"nvidia.com/gpu.present": "true"},
                mode=mode,
                capabilities=tuple(RUNGS),
                validation=Validation(bandwidth_floor=bandwidth_floor),
            ),
        ),
        ladders={XidClass.REBOOT: (Rung(rung="reboot"),), XidClass.RESET: (Rung(rung="reset"), Rung(rung="reboot"))},
        own_acts={},
        budgets=Budgets(disruptions=disruptions),
        node_jobs=NodeJobs(benchmark_image="registry.example/nccl-tests:1"),
    )
