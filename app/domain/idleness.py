"""Whether a repair that may wait for an idle node may begin: asked when the wait ends, and again before the cordon.

Between the two a guard may hold the cordon for hours, and new work may come; a rung that waits ends nobody's work.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from app.domain.deadlines import is_past, next_look
from app.domain.facts import PodView
from app.domain.operations import Operation
from app.domain.outcomes import Done, NeedsHuman, Wait
from app.domain.plans import repair
from app.domain.plans.planned import PlannedStep, StepState
from app.domain.policies import Then
from app.domain.timeline import counted, spell

NOT_IDLE = "drain-although-busy"
SHOWN_PODS = 5
LOOK_AGAIN = timedelta(minutes=1)


def holders(pods: Iterable[PodView]) -> tuple[PodView, ...]:
    """Those that hold GPUs and have not finished; a resource claim may be for a GPU, so it counts as one."""
    return tuple(pod for pod in pods if (pod.gpus or pod.claims) and pod.phase not in {"Succeeded", "Failed"})


def waits_for_idle(operation: Operation) -> bool:
    """Whether its first cordon still depends on an idle node: no person and no joined fault has ended that."""
    wait, step = operation.last(repair.WAIT), operation.current
    if wait is None or step is None or step.rung:  # a machine that took another one's place waits for nobody
        return False
    return wait.state is not StepState.SKIPPED and repair.WAITED_ENOUGH not in wait.memo


def judge_idleness(
    operation: Operation, wait: PlannedStep, busy: tuple[PodView, ...], now: datetime
) -> Done | Wait | NeedsHuman:
    """Done when the repair may begin. The deadline stands in the wait since then: a changed policy does not move it."""
    name = operation.node.name
    if not busy:
        return Done(f"No pod holds a GPU of {name}: the repair begins.")
    if NOT_IDLE in operation.approvals:
        return Done(f"A person approved going on although {counted(len(busy), 'pod')} still works.")
    limit = timedelta(seconds=int(wait.memo.get("deadline_s", "86400")))
    ends = operation.opened_at + limit
    if not is_past(ends, now):
        shown = ", ".join(pod.full_name for pod in busy[:SHOWN_PODS])
        text = f"Waits until {name} is idle, for {spell(limit)} at most: {shown}."
        return Wait(text, after=next_look(now, ends, at_most=LOOK_AGAIN))
    if wait.memo.get("then") == Then.DRAIN:
        return Done(f"{name} was not idle within {spell(limit)}; by policy it is drained now.")
    return NeedsHuman(f"{name} was not idle within {spell(limit)}: approve its drain, or cancel.", asks=NOT_IDLE)
