"""What diagnosis and benchmark share: a node job is started, waited for, read, and judged pass, fail or inconclusive.

Inconclusive is tried again and then brought before a person; it says nothing about the GPU (P2, P3).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar, Protocol

from app.domain.deadlines import is_past, next_look
from app.domain.effects import NodeJob, RemoveNodeJob, StartNodeJob
from app.domain.evidence import cards_noted
from app.domain.facts import NodeJobView, NodeView
from app.domain.gpu_counts import cards
from app.domain.guards import Hurts
from app.domain.operations import Operation
from app.domain.outcomes import Act, Done, Failed, Learned, NeedsHuman, Outcome, Verdict, Wait
from app.domain.policies import Policy, Pool
from app.domain.timeline import sentence, spell
from workers.ports import Ports
from workers.step import current, node_job_name

GRACE = timedelta(minutes=2)
"""How long after its deadline a node job may still be reported active before Sickbay stops believing in its end."""


@dataclass(frozen=True, slots=True)
class Proven:
    """The judgement of one run, in a sentence, and what it found out besides."""

    verdict: Verdict
    reason: str
    learned: Learned = field(default_factory=Learned)


@dataclass(frozen=True, slots=True)
class Run:
    """The node, its node job if there is one, and what peers measured."""

    node: NodeView
    job: NodeJobView | None
    peers: tuple[float, ...] = ()


class Test(Protocol):
    """What makes one proof differ from another."""

    def node_job(self, name: str, operation: Operation, node: NodeView, policy: Policy) -> NodeJob:
        """What to run."""

    def read(self, output: str, operation: Operation, run: Run, pool: Pool) -> Proven:
        """The judgement of its output."""


class Proof:
    """The step around a test. A subclass gives name, noun and `test`."""

    name: ClassVar[str]
    noun: ClassVar[str]
    hurts: ClassVar[Hurts] = Hurts.NOTHING
    test: ClassVar[Test]

    def look(self, operation: Operation, node: NodeView, ports: Ports) -> Run:
        """The node job of the present try."""
        return Run(node, ports.node_jobs.get(node_job_name(operation, again=_again(operation))))

    def judge(self, operation: Operation, facts: Run, policy: Policy, now: datetime) -> Act | Outcome:
        """Start it, wait for it, or judge what it left behind."""
        job = facts.job
        name = node_job_name(operation, again=_again(operation))
        if job is None:
            memo = current(operation).memo
            if memo.get("seen") == name:
                return self._doubt(
                    operation, facts, policy, memo.get("why") or "its node job was deleted before it ended"
                )
            return self._start(operation, facts.node, policy, again=_again(operation))
        if job.ended:
            return self._judged(operation, facts, job, policy)
        limit = self.test.node_job(name, operation, facts.node, policy).deadline
        ends = (job.created_at or current(operation).started_at or now) + limit + GRACE
        if is_past(ends, now):
            return self._overdue(operation, facts, name, limit, ends + GRACE, now)
        after = next_look(now, ends)
        if not job.started and job.reason:
            text = f"The {self.noun} of {facts.node.name} has not started: {job.reason.rstrip('.')}."
            return Wait(text, after=after, memo={"seen": name})
        text = f"The {self.noun} of {facts.node.name} runs, for {spell(limit)} at most."
        return Wait(text, after=after, memo={"seen": name})

    def _overdue(
        self, operation: Operation, run: Run, name: str, limit: timedelta, gives_up: datetime, now: datetime
    ) -> Act | Outcome:
        """Told to end once; a process that survives that is not waited for twice as long."""
        job, memo = run.job, current(operation).memo
        stuck = job.reason.rstrip(".") if job is not None and not job.started else ""
        why = f"it did not end within {spell(limit)}" + (f" ({stuck})" if stuck else "")
        if memo.get("seen") != name or not memo.get("why"):
            ending = RemoveNodeJob(key=f"{name}/remove", name=name)
            return Act((ending,), f"Ends the {self.noun} of {run.node.name}: {why}.", {"seen": name, "why": why})
        if is_past(gives_up, now):
            return NeedsHuman(f"The {self.noun} of {run.node.name} cannot be ended: {why}. Delete {name}, then retry.")
        text = f"Waits for the {self.noun} of {run.node.name} to end: {why}."
        return Wait(text, after=next_look(now, gives_up))

    def _judged(self, operation: Operation, run: Run, job: NodeJobView, policy: Policy) -> Act | Outcome:
        if not job.output:
            why = job.reason or f"it left no output (exit code {job.exit_code})"
            return self._doubt(operation, run, policy, why)
        proven = self.test.read(job.output, operation, run, policy.rules_for(run.node.labels))
        if proven.verdict is Verdict.FAIL:
            return Failed(sentence(proven.reason), proven.learned)
        if proven.verdict is Verdict.INCONCLUSIVE:
            return self._doubt(operation, run, policy, proven.reason)
        if not job.succeeded:
            why = f"its output passes, but it ended with {job.reason or f'exit code {job.exit_code}'}"
            return self._doubt(operation, run, policy, why)
        return Done(sentence(proven.reason), learned=proven.learned)

    def _doubt(self, operation: Operation, run: Run, policy: Policy, why: str) -> Act | Outcome:
        again = _again(operation) + 1
        tries = policy.rules_for(run.node.labels).validation.inconclusive_tries
        text = f"The {self.noun} of {run.node.name} is inconclusive: {why.rstrip('.')}."
        if again >= tries:
            return NeedsHuman(f"{text} It was tried {again} times: look at the tools, then retry.")
        act = self._start(operation, run.node, policy, again=again)
        return Act(act.effects, f"{text} It is tried again.", act.memo)

    def _start(self, operation: Operation, node: NodeView, policy: Policy, *, again: int) -> Act:
        name = node_job_name(operation, again=again)
        job = self.test.node_job(name, operation, node, policy)
        reason = f"Starts the {self.noun} of {node.name}."
        return Act((StartNodeJob(key=name, job=job),), reason, {"again": str(again), "why": ""})


def _again(operation: Operation) -> int:
    return int(current(operation).memo.get("again", "0"))


def expected_gpus(operation: Operation, node: NodeView) -> int | None:
    """How many GPUs the node must have: what was noted when the operation began, or more if it has more now.

    None when neither is known; then nothing can be proven about all of them. Slices and shares of GPUs are no GPUs.
    """
    return max(cards_noted(operation), cards(node)) or None
