"""Benchmark: NCCL's all-reduce over all GPUs of the node, correct and as fast as its peers."""

from __future__ import annotations

from typing import ClassVar

from app.domain.bandwidth import judge_bandwidth, read_nccl
from app.domain.baselines import baseline_key
from app.domain.effects import NodeJob
from app.domain.facts import NodeView
from app.domain.operations import Operation
from app.domain.outcomes import Learned, Verdict
from app.domain.policies import Policy, Pool
from workers.ports import Ports
from workers.proof import Proof, Proven, Run, expected_gpus

SIZES = ("-b", "512M", "-e", "8G", "-f", "2")
"""Large messages only: bandwidths compare only at the same sizes."""


class AllReduce:
    """`all_reduce_perf` of nccl-tests, one rank a GPU, results checked."""

    def node_job(self, name: str, operation: Operation, node: NodeView, policy: Policy) -> NodeJob:
        """Over as many GPUs as the node must have."""
        pool = policy.rules_for(node.labels)
        gpus = expected_gpus(operation, node) or 0
        return NodeJob(
            name=name,
            operation=operation.id,
            step="benchmark",
            node=node.name,
            image=policy.node_jobs.benchmark_image,
            argv=("all_reduce_perf", *SIZES, "-g", str(gpus), "-c", "1"),
            deadline=pool.deadlines.benchmark,
            runtime_class="nvidia",
        )

    def read(self, output: str, operation: Operation, run: Run, pool: Pool) -> Proven:
        """Correct, complete, above the floor and level with its peers."""
        measured = read_nccl(output)
        rules = pool.validation
        verdict, reason = judge_bandwidth(
            measured,
            floor_gb_s=rules.bandwidth_floor,
            peers=run.peers,
            tolerance=rules.bandwidth_tolerance,
        )
        if verdict is not Verdict.PASS:
            return Proven(verdict, reason)
        key = baseline_key(run.node, operation.pool)
        return Proven(verdict, reason, Learned(bus_bandwidth=measured.bus_bandwidth_gb_s, baseline=key))


class Benchmark(Proof):
    """Done when the test ran in full, without a wrong result, and fast enough."""

    name: ClassVar[str] = "benchmark"
    noun: ClassVar[str] = "benchmark"
    test: ClassVar[AllReduce] = AllReduce()

    def look(self, operation: Operation, node: NodeView, ports: Ports) -> Run:
        """The node job, and what the node's peers measured."""
        run = super().look(operation, node, ports)
        return Run(run.node, run.job, ports.baselines.peers(baseline_key(node, operation.pool), besides=node.name))
