"""What reboot and power cycle share: asked for once, proven by a new boot id, Ready, and all GPUs back.

The boot id is stored before the request is sent; neither the request's answer nor NotReady proves anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from app.domain.alerts import read_time
from app.domain.deadlines import count_from, due_at, is_past, next_look
from app.domain.effects import Effect
from app.domain.evidence import gpus_noted
from app.domain.facts import NodeJobView, NodeView
from app.domain.guards import Hurts
from app.domain.operations import Operation
from app.domain.outcomes import Act, Done, Failed, NeedsHuman, Outcome, Wait
from app.domain.policies import Policy
from app.domain.timeline import counted, spell
from workers.ports import Ports
from workers.step import current, node_job_name


@dataclass(frozen=True, slots=True)
class Boot:
    """The node as it is, and the node job that asked for the boot, if there is one."""

    node: NodeView
    job: NodeJobView | None


class Booting:
    """Done when boot id, readiness and GPUs prove it; failed when the deadline passes without that proof.

    A subclass gives the words and `request`, and says with `is_lost` whether the request must be sent once more.
    """

    name: ClassVar[str]
    done: ClassVar[str]
    """How it reads when it is done: "Rebooted"."""
    hurts: ClassVar[Hurts] = Hurts.RUNNING_WORK

    def request(self, operation: Operation, node: NodeView, policy: Policy) -> Effect:
        """The effect that asks for it; keyed, so that asking again for the same try changes nothing."""
        raise NotImplementedError

    def is_lost(self, operation: Operation, facts: Boot) -> bool:
        """Whether the stored intent was never carried out, as far as the world can tell."""
        raise NotImplementedError

    def look(self, operation: Operation, node: NodeView, ports: Ports) -> Boot:
        """Node and node job."""
        return Boot(node, ports.node_jobs.get(node_job_name(operation)))

    def judge(self, operation: Operation, facts: Boot, policy: Policy, now: datetime) -> Act | Outcome:
        """The stored boot id decides which half of the step this is."""
        before = current(operation).memo.get("boot_id")
        if before is None:
            return self._send(operation, facts.node, policy, now)
        if facts.node.boot_id and facts.node.boot_id != before:
            return self._back(operation, facts.node, policy, now)
        return self._not_yet(operation, facts, policy, now)

    def _send(self, operation: Operation, node: NodeView, policy: Policy, now: datetime) -> Act | Outcome:
        if node.boot_id:
            return self._ask(operation, node, policy, now, boot_id=node.boot_id)
        unknown = f"The boot id of {node.name} is not known, so a {self.name} could not be proven"
        if _overdue(operation, node, policy, now):
            return NeedsHuman(f"{unknown}. Nothing was sent.")
        return Wait(f"{unknown}; waits for it.", after=_next_look(operation, node, policy, now))

    def _ask(self, operation: Operation, node: NodeView, policy: Policy, now: datetime, *, boot_id: str) -> Act:
        # The first request counts: one that is asked again and again, since nobody answers, must end at the deadline.
        memo = {"boot_id": boot_id, **count_from(current(operation), "asked_at", now)}
        return Act((self.request(operation, node, policy),), f"Asks for a {self.name} of {node.name}.", memo)

    def _back(self, operation: Operation, node: NodeView, policy: Policy, now: datetime) -> Outcome:
        step, wanted = current(operation), gpus_noted(operation)
        took = spell(now - step.started_at) if step.started_at else "a while"
        if node.ready and node.gpu_allocatable >= wanted:
            return Done(f"{self.done}: a new boot id, Ready, {counted(wanted, 'GPU')} back after {took}.")
        back = f"{node.gpu_allocatable} of {counted(wanted, 'GPU')} are back"
        missing = back if node.ready else "it is not Ready yet"
        if _overdue(operation, node, policy, now):
            return Failed(f"{node.name} has booted, but {missing} after {took}.")
        return Wait(f"{node.name} has booted: {missing}.", after=_next_look(operation, node, policy, now))

    def _not_yet(self, operation: Operation, facts: Boot, policy: Policy, now: datetime) -> Act | Outcome:
        step, node, job = current(operation), facts.node, facts.job
        if self.is_lost(operation, facts):
            if _overdue(operation, node, policy, now):
                limit = policy.rules_for(node.labels).deadlines.reboot
                return NeedsHuman(f"The {self.name} of {node.name} could not be asked for within {spell(limit)}.")
            return self._ask(operation, node, policy, now, boot_id=step.memo["boot_id"])
        refusal = self.refusal(facts)
        if refusal is not None:
            return Failed(refusal)
        if _overdue(operation, node, policy, now):
            limit = policy.rules_for(node.labels).deadlines.reboot
            return Failed(f"{node.name} shows no new boot id {spell(limit)} after the {self.name} was asked for.")
        seen = {"seen": job.uid} if job is not None else {}
        return Wait(f"Waits for {node.name} to boot.", after=_next_look(operation, node, policy, now), memo=seen)

    def refusal(self, facts: Boot) -> str | None:  # noqa: ARG002 - for those whose request can be refused
        """The sentence by which the request was refused, None when it may have been taken."""
        return None


def _overdue(operation: Operation, node: NodeView, policy: Policy, now: datetime) -> bool:
    return is_past(_ends(operation, node, policy, now), now)


def _next_look(operation: Operation, node: NodeView, policy: Policy, now: datetime) -> timedelta:
    return next_look(now, _ends(operation, node, policy, now))


def _ends(operation: Operation, node: NodeView, policy: Policy, now: datetime) -> datetime | None:
    # Counted from the request: the step may have waited long for a boot id, a worker or the end of a pause before it.
    step = current(operation)
    limit = policy.rules_for(node.labels).deadlines.reboot
    return due_at(step, limit, now, since=read_time(step.memo.get("asked_at")))
