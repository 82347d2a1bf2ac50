"""Reboot: once, by a node job, proven by a new boot id, Ready, and all GPUs back.

The boot id is stored before the request is sent; neither the request's answer nor NotReady proves anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from app.domain.alerts import read_time
from app.domain.effects import NodeJob, StartNodeJob
from app.domain.facts import NodeJobView, NodeView
from app.domain.guards import Hurts
from app.domain.operations import Operation
from app.domain.outcomes import Act, Done, Failed, NeedsHuman, Outcome, Wait
from app.domain.policies import Policy
from app.domain.timeline import counted, spell
from workers.ports import Ports
from workers.step import current, node_job_name

ARGV = ("chroot", "/host", "systemctl", "reboot")
REFUSED = range(1, 128)
"""Exit codes by which the command itself says no; above them stand signals, as a shutdown sends them."""


@dataclass(frozen=True, slots=True)
class Boot:
    """The node as it is, and the node job that asked for the reboot, if there is one."""

    node: NodeView
    job: NodeJobView | None


class Reboot:
    """Done when boot id, readiness and GPUs prove it; failed when the deadline passes without that proof."""

    name: ClassVar[str] = "reboot"
    hurts: ClassVar[Hurts] = Hurts.RUNNING_WORK

    def look(self, operation: Operation, node: NodeView, ports: Ports) -> Boot:
        """Node and node job."""
        return Boot(node, ports.node_jobs.get(node_job_name(operation)))

    def judge(self, operation: Operation, facts: Boot, policy: Policy, now: datetime) -> Act | Outcome:
        """The stored boot id decides which half of the step this is."""
        before = current(operation).memo.get("boot_id")
        if before is None:
            return _send(operation, facts.node, policy, now)
        if facts.node.boot_id and facts.node.boot_id != before:
            return _back(operation, facts.node, policy, now)
        return _not_yet(operation, facts, policy, now)


def _send(operation: Operation, node: NodeView, policy: Policy, now: datetime) -> Act | Outcome:
    if node.boot_id:
        return _request(operation, node, policy, now, boot_id=node.boot_id)
    unknown = f"The boot id of {node.name} is not known, so a reboot could not be proven"
    if _overdue(operation, node, policy, now):
        return NeedsHuman(f"{unknown}. Nothing was sent.")
    return Wait(f"{unknown}; waits for it.")


def _request(operation: Operation, node: NodeView, policy: Policy, now: datetime, *, boot_id: str) -> Act:
    name = node_job_name(operation)
    job = NodeJob(
        name=name,
        operation=operation.id,
        step="reboot",
        node=node.name,
        image=policy.node_jobs.host_image,
        argv=ARGV,
        deadline=policy.rules_for(node.labels).deadlines.reboot,
        host=True,
    )
    memo = {"boot_id": boot_id, "asked_at": now.isoformat()}
    return Act((StartNodeJob(key=name, job=job),), f"Reboots {node.name}.", memo)


def _back(operation: Operation, node: NodeView, policy: Policy, now: datetime) -> Outcome:
    step = current(operation)
    evidence = operation.last("evidence")
    wanted = int(evidence.memo.get("gpus", "0")) if evidence else 0
    took = spell(now - step.started_at) if step.started_at else "a while"
    if node.ready and node.gpu_allocatable >= wanted:
        return Done(f"Rebooted: a new boot id, Ready, {counted(wanted, 'GPU')} back after {took}.")
    missing = f"{node.gpu_allocatable} of {counted(wanted, 'GPU')} are back" if node.ready else "it is not Ready yet"
    if _overdue(operation, node, policy, now):
        return Failed(f"{node.name} has booted, but {missing} after {took}.")
    return Wait(f"{node.name} has booted: {missing}.")


def _not_yet(operation: Operation, facts: Boot, policy: Policy, now: datetime) -> Act | Outcome:
    step, node, job = current(operation), facts.node, facts.job
    if job is None and "seen" not in step.memo:
        return _request(operation, node, policy, now, boot_id=step.memo["boot_id"])
    if job is not None and job.failed and not job.started:
        return Failed(f"The reboot of {node.name} could not be sent: {job.reason or 'its node job never ran'}.")
    if job is not None and job.failed and job.exit_code in REFUSED:
        return Failed(f"{node.name} refused to reboot: the command ended with exit code {job.exit_code}.")
    if _overdue(operation, node, policy, now):
        limit = policy.rules_for(node.labels).deadlines.reboot
        return Failed(f"{node.name} shows no new boot id {spell(limit)} after the reboot was asked for.")
    seen = {"seen": job.uid} if job is not None else {}
    return Wait(f"Waits for {node.name} to boot.", memo=seen)


def _overdue(operation: Operation, node: NodeView, policy: Policy, now: datetime) -> bool:
    # Counted from the request: the step may have waited long for a boot id, a worker or the end of a pause before it.
    step = current(operation)
    since = read_time(step.memo.get("asked_at")) or step.started_at
    return since is not None and now >= since + policy.rules_for(node.labels).deadlines.reboot
