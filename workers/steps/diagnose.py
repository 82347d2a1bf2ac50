"""Diagnose: DCGM's own diagnosis of every GPU on the node, judged by `app.domain.diagnostics`."""

from __future__ import annotations

from typing import ClassVar

from app.domain.diagnostics import read_diagnosis
from app.domain.effects import NodeJob
from app.domain.facts import NodeView
from app.domain.faults import Gpu, told_apart
from app.domain.operations import Operation
from app.domain.outcomes import Learned, Verdict
from app.domain.policies import Policy, Pool
from app.domain.timeline import sentence
from workers.proof import Proof, Proven, Run, expected_gpus

SCRIPT = 'nv-hostengine >/dev/null 2>&1; exec dcgmi diag -r "$1" -j'
"""The host engine first, since the image does not start it by itself; the level is an argument, never pasted in."""


class Dcgm:
    """`dcgmi diag -r LEVEL -j` in DCGM's own image."""

    def node_job(self, name: str, operation: Operation, node: NodeView, policy: Policy) -> NodeJob:
        """All GPUs at once, without asking for them as a resource: an unhealthy one has left allocatable."""
        pool = policy.rules_for(node.labels)
        return NodeJob(
            name=name,
            operation=operation.id,
            step="diagnose",
            node=node.name,
            image=policy.node_jobs.diagnose_image,
            argv=("/bin/sh", "-c", SCRIPT, "dcgmi diag", str(pool.validation.diagnose_level)),
            deadline=pool.deadlines.diagnose,
            runtime_class="nvidia",
        )

    def read(self, output: str, operation: Operation, run: Run, pool: Pool) -> Proven:
        """The verdict over all GPUs that the node must have, and their serials."""
        expected = expected_gpus(operation, run.node)
        diagnosis = read_diagnosis(
            output,
            expected_gpus=expected,
            required_tests=frozenset(pool.validation.required_tests) or None,
        )
        gpus, shared = told_apart([Gpu(serial=gpu.serial, index=gpu.index) for gpu in diagnosis.gpus])
        complete = len(gpus) == expected
        if expected is None and diagnosis.verdict is Verdict.PASS:
            return Proven(Verdict.INCONCLUSIVE, f"how many GPUs {run.node.name} must have is not known")
        reason = f"{sentence(diagnosis.reason)} {shared}" if shared else diagnosis.reason
        return Proven(diagnosis.verdict, reason, Learned(gpus=gpus if complete else ()))


class Diagnose(Proof):
    """Done when every GPU has passed every required test of the level."""

    name: ClassVar[str] = "diagnose"
    noun: ClassVar[str] = "diagnosis"
    test: ClassVar[Dcgm] = Dcgm()
