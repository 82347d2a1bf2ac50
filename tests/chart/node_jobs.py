"""Every node job that a step starts, as the step itself makes it."""

from __future__ import annotations

from datetime import timedelta

from app.domain.effects import NodeJob, StartNodeJob
from app.domain.outcomes import Act
from app.domain.policies import Policy
from tests.building import a_fault, a_gpu, a_node, an_operation, at
from workers.proof import Run, Test
from workers.steps import STEPS
from workers.steps.benchmark import AllReduce
from workers.steps.diagnose import Dcgm
from workers.steps.inventory import CardList
from workers.steps.reboot import Reboot
from workers.steps.recovery_check import Asked
from workers.steps.reset import Reset


def node_jobs(policy: Policy) -> dict[str, NodeJob]:
    """By step, for a node of eight GPUs of which two are ill."""
    node = a_node(gpu_capacity=8)
    ill = tuple(a_fault("xid-95", gpu=a_gpu(index=index, uuid=f"GPU-0{index}-a")) for index in (1, 2))
    operation = an_operation(ladder=("reset",), at_step="reset", faults=ill)
    reset = Reset().judge(operation, Run(node, None), policy, at(1))
    assert isinstance(reset, Act)
    (start,) = reset.effects
    assert isinstance(start, StartNodeJob)
    tests: dict[str, Test] = {
        "diagnose": Dcgm(),
        "benchmark": AllReduce(),
        "recovery-check": Asked(),
        "inventory": CardList(),
    }
    made = {name: test.node_job(f"op-1-{name}", operation, node, policy) for name, test in tests.items()}
    made |= {"reset": start.job, "reboot": Reboot().request(operation, node, policy).job}
    assert made.keys() <= STEPS.keys()
    assert all(job.deadline > timedelta(0) for job in made.values())
    return made
