"""Reboot: the machine's own `systemctl reboot`, asked for by a node job."""

from __future__ import annotations

from typing import ClassVar

from app.domain.effects import NodeJob, StartNodeJob
from app.domain.facts import NodeView
from app.domain.operations import Operation
from app.domain.policies import Policy
from app.domain.under_way import refusal
from workers.booting import Boot, Booting
from workers.step import HOST, current, node_job_name

ARGV = ("chroot", HOST, "systemctl", "reboot")


class Reboot(Booting):
    """A node job that was never created is created; one that was seen is never sent again."""

    name: ClassVar[str] = "reboot"
    done: ClassVar[str] = "Rebooted"

    def request(self, operation: Operation, node: NodeView, policy: Policy) -> StartNodeJob:
        """The node job, named after operation, step and try."""
        name = node_job_name(operation)
        job = NodeJob(
            name=name,
            operation=operation.id,
            step=self.name,
            node=node.name,
            image=policy.node_jobs.host_image,
            argv=ARGV,
            deadline=policy.rules_for(node.labels).deadlines.reboot,
            host=True,
        )
        return StartNodeJob(key=name, job=job)

    def is_lost(self, operation: Operation, facts: Boot) -> bool:
        """It is not there and was never seen."""
        return facts.job is None and "seen" not in current(operation).memo

    def refusal(self, facts: Boot) -> str | None:
        """It never ran, or the command said no."""
        return refusal(facts.job, facts.node.name)
