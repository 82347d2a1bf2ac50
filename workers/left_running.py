"""Node jobs that an earlier try or an earlier step has left on the node: ended, and seen to end, before another starts.

A person's retry or skip, and a deadline, leave a step whose node job may still run. Two diagnoses at once fail each
other, and a reset beside a diagnosis ends it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from app.domain.alerts import read_time
from app.domain.deadlines import is_past
from app.domain.effects import RemoveNodeJob, StartNodeJob
from app.domain.operations import Operation
from app.domain.outcomes import Act, NeedsHuman, Wait
from app.domain.plans.planned import StepState
from app.domain.plans.repair import UNDOES
from workers.ports import NodeJobs
from workers.step import current

LOOK_AGAIN = timedelta(seconds=10)
ENDS_WITHIN = timedelta(minutes=10)
"""How long one that was told to end may take before a person is asked: a pod of a dead kubelet never ends."""

_TOLD, _TOLD_AT = "ending", "ending_since"


def may_be_left(operation: Operation) -> bool:
    """Whether something may still run that no step waits for: only then is it looked for."""
    step = current(operation)
    cut_off = (one for one in operation.plan if one.state in {StepState.SKIPPED, StepState.FAILED})
    return (
        step.run > 1 or "seen" in step.memo or step.memo.get("again", "0") != "0" or any(one.attempt for one in cut_off)
    )


def in_the_way(operation: Operation, act: Act, node_jobs: NodeJobs, now: datetime) -> Act | Wait | NeedsHuman | None:
    """What comes before an act that starts a node job, or undoes what one needs; None when no other one runs.

    Raises PortError.
    """
    starts = {effect.job.name for effect in act.effects if isinstance(effect, StartNodeJob)}
    if not (starts or current(operation).step in UNDOES) or not may_be_left(operation):
        return None
    there = node_jobs.of_operation(operation.id)
    running = sorted(job.name for job in there if not job.ended and job.name not in starts)
    if not running:
        return None
    names, memo = ", ".join(running), current(operation).memo
    if not set(running) <= set(memo.get(_TOLD, "").split(", ")):
        ends = tuple(RemoveNodeJob(key=f"{name}/remove", name=name) for name in running)
        return Act(ends, f"Ends {names} first.", {_TOLD: names, _TOLD_AT: now.isoformat()})
    since = read_time(memo.get(_TOLD_AT))
    if since is not None and is_past(since + ENDS_WITHIN, now):
        return NeedsHuman(f"{names} was told to end and still runs on the node. Delete it, then retry.")
    return Wait(f"Waits for {names} to end.", after=LOOK_AGAIN)
