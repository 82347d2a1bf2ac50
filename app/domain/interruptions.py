"""What ends an operation from outside, looked for before every act.

The node is gone or another one, a person took it out of our hands, or it has been observed long enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from app.domain.alerts import read_time
from app.domain.deadlines import LOOK_AGAIN, is_past, next_look
from app.domain.facts import NodeView
from app.domain.marks import read_mark
from app.domain.operations import CORDONED_AGAIN, Operation, Result, cordon_is_owed
from app.domain.plans import repair
from app.domain.policies import Mode, Policy, Pool
from app.domain.timeline import spell
from app.domain.uncordons import service_that_uncordoned

REPLACED_WITHIN = timedelta(hours=2)
"""How long another machine may take to register under the name of the one that it replaces."""


@dataclass(frozen=True, slots=True)
class Interruption:
    """The operation ends with `result`; with `clean_up` our marks are taken off the node first."""

    result: Result
    reason: str
    clean_up: bool


@dataclass(frozen=True, slots=True)
class Disputed:
    """Whose node this is has to be said by a person: our annotation was taken away, or a service insists."""

    reason: str


@dataclass(frozen=True, slots=True)
class CordonAgain:
    """A service has uncordoned the node, not a person: it is cordoned once more, and that is told."""

    reason: str


@dataclass(frozen=True, slots=True)
class Away:
    """The node is gone because it is being replaced: nothing to look at yet. A person is asked when it is `overdue`."""

    reason: str
    overdue: bool = False
    after: timedelta = LOOK_AGAIN
    """When to look again."""


def interruption(
    operation: Operation, node: NodeView | None, *, pool: Pool | None, policy: Policy, now: datetime
) -> Interruption | Disputed | CordonAgain | Away | None:
    """What stops this operation now, None when it may go on."""
    name = operation.node.name
    if _is_being_replaced(operation):
        if node is None:
            return _away(operation, now)
        if node.uid != operation.node.uid:
            return None
    if node is None:
        return Interruption(Result.OVERTAKEN, f"{name} was deleted from the cluster.", clean_up=False)
    if node.uid != operation.node.uid:
        text = f"{name} was recreated: the node of that name is another one now."
        return Interruption(Result.OVERTAKEN, text, clean_up=False)
    step = operation.current
    releasing = step is not None and step.step == repair.RELEASE
    if operation.giving_back:  # also while an undo comes before the release: ending it twice would never end it
        return None
    ours = _is_ours(operation, node)
    # Our release takes mark and cordon in one patch: while it is tried, both being gone is our own doing.
    if (ours or (operation.holds_node and not releasing)) and not node.unschedulable:
        return _uncordoned(operation, node, now)
    if operation.holds_node and not ours and not releasing:
        text = f"Sickbay's annotation on {name} is gone, the cordon is not: whoever took it has the node now."
        return Disputed(f"{text} Cancel this operation to let go of it.")
    if ours or operation.holds_node:
        return None
    return _watched_enough(operation, pool, policy, now)


def _uncordoned(operation: Operation, node: NodeView, now: datetime) -> Interruption | Disputed | CordonAgain | None:
    """A person's word ends it. A service knew nothing of it: that is put right once, then a person is asked."""
    name, cordon = node.name, operation.last_cordon
    if cordon is not None and cordon_is_owed(cordon):
        return None
    since = operation.opened_at if cordon is None else cordon.finished_at or cordon.started_at or operation.opened_at
    service = service_that_uncordoned(node, since=since, now=now)
    if service is None:
        text = f"{name} was uncordoned by a person, so the operation stops and takes its marks away."
        return Interruption(Result.CANCELLED, text, clean_up=True)
    if cordon is None or not cordon.over:  # its own judgement cordons
        return None
    if CORDONED_AGAIN in cordon.memo:
        text = f"{name} was uncordoned by {service} although Sickbay had cordoned it again."
        return Disputed(f"{text} Cordon it by hand to let the operation go on, or cancel it to let go of the node.")
    return CordonAgain(f"{name} was uncordoned by {service}, not by a person: Sickbay cordons it again.")


def _is_being_replaced(operation: Operation) -> bool:
    """Whether the node is to go and another one to take its name, by our own request.

    Also where no answer is on record: it may have died with the worker, or been lost, and the request been taken on.
    """
    step = operation.current
    return step is not None and step.step == "replace" and "asked_at" in step.memo


def _away(operation: Operation, now: datetime) -> Away:
    name = operation.node.name
    asked = operation.last("replace")
    since = read_time(asked.memo.get("asked_at")) if asked else None
    limit = None if since is None else since + REPLACED_WITHIN
    if is_past(limit, now):
        return Away(
            f"{name} is gone, as asked, and no machine took its name within {spell(REPLACED_WITHIN)}.", overdue=True
        )
    text = f"{name} is gone, as asked; waits for the machine that takes its name."
    return Away(text, after=next_look(now, limit))


def _is_ours(operation: Operation, node: NodeView) -> bool:
    mark = read_mark(node)
    return mark is not None and mark.operation == operation.id


def _watched_enough(operation: Operation, pool: Pool | None, policy: Policy, now: datetime) -> Interruption | None:
    """Only asked while the node is unmarked: a step counts as tried also when no more than a read failed."""
    if pool is None or not _only_observed(operation, pool, policy):
        return None
    # A fault that joins late is observed as long as the first.
    since = max([operation.opened_at, *(fault.at for fault in operation.faults)])
    if now - since < policy.observe_for:
        return None
    text = f"Noted: observed for {spell(policy.observe_for)} in mode observe, nothing was touched."
    return Interruption(Result.NOTED, text, clean_up=False)


def _only_observed(operation: Operation, pool: Pool, policy: Policy) -> bool:
    return policy.mode_for(pool, (fault.code for fault in operation.faults)) is Mode.OBSERVE
