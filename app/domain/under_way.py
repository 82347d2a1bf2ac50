"""A boot or a replacement that was asked for, cut off by an order, and not yet seen to be over.

A node that is given back in that time takes new work, which dies with the machine a moment later.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from app.domain.alerts import read_time
from app.domain.facts import NodeJobView, NodeView
from app.domain.operations import Operation
from app.domain.plans.planned import PlannedStep, StepState

REBOOT: Final = "reboot"
REPLACE: Final = "replace"
_CALLED: Final = {REBOOT: "reboot", "power-cycle": "power cycle", REPLACE: "replacement"}
_REFUSED: Final = range(1, 128)
"""Exit codes by which a command itself says no; above them stand signals, as a shutdown sends them."""


def cut_off(operation: Operation) -> int | None:
    """The place in the plan of the last act that takes the machine away, was asked for, and was then left out."""
    found = [
        place
        for place, step in enumerate(operation.plan)
        if step.step in _CALLED and step.state is StepState.SKIPPED and "asked_at" in step.memo
    ]
    return max(found, default=None)


def waits_until(
    step: PlannedStep, node: NodeView, job: NodeJobView | None, *, within: timedelta, now: datetime
) -> datetime | None:
    """Until when at most the act is waited for, None once it is over, or if it was never begun.

    `job` is the node job of a reboot. Time counts from the request, also while it was held: machines know no pause.
    """
    asked_at = read_time(step.memo.get("asked_at"))
    ends = None if asked_at is None else asked_at + within
    if ends is None or ends <= now:
        return None
    if step.step != REPLACE and node.ready and node.boot_id not in {"", step.memo.get("boot_id")}:
        return None
    if step.step == REBOOT and ((job is None and "seen" not in step.memo) or refusal(job, node.name)):
        return None
    return ends


def told(step: PlannedStep, node: str, until: datetime) -> str:
    """The sentence that says why the node is not given back yet."""
    act = _CALLED[step.step]
    return (
        f"The {act} of {node} was asked for and is not over: it is given back after that, or at "
        f"{until:%H:%M} UTC, since new pods would die with it."
    )


def refusal(job: NodeJobView | None, node: str) -> str | None:
    """The sentence by which a reboot's node job never ran or its command said no, None when it may have been taken."""
    if job is None or not job.failed:
        return None
    if not job.started:
        return f"The reboot of {node} could not be sent: {(job.reason or 'its node job never ran').rstrip('.')}."
    if job.exit_code in _REFUSED:
        return f"{node} refused to reboot: the command ended with exit code {job.exit_code}."
    return None
