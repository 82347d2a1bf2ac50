"""An operation: one piece of work on one node, from opening to finish, and how it goes on step by step.

Each function takes an operation and returns the next one with the timeline's entries. Nothing here acts on a
node; `workers.engine` does, and stores what these functions return. What a fault does to it is `app.domain.folding`,
what a person orders `app.domain.people`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from app.domain import questions, root_causes
from app.domain.deadlines import start_clock, stop_clock
from app.domain.facts import TicketRef
from app.domain.faults import Fault
from app.domain.outcomes import Act, Done, Learned, NeedsHuman, Outcome, Wait
from app.domain.plans import repair
from app.domain.plans.planned import PlannedStep, StepState
from app.domain.timeline import SICKBAY, Entry

LOOK_AGAIN = timedelta(minutes=5)
"""How soon an operation that waits for a person is looked at again; the watch notices changes sooner."""

PICKED_UP_WITHIN = timedelta(seconds=5)
"""When work that was just handed to a queue is looked for, in case the hand-over was lost."""


class State(StrEnum):
    """Where an operation stands."""

    RUNNING = "running"
    WAITING = "waiting"
    HELD = "held"
    NEEDS_HUMAN = "needs-human"
    WITH_VENDOR = "with-vendor"
    FINISHED = "finished"


class Result(StrEnum):
    """How an operation ended."""

    RELEASED = "released"
    REPLACED = "replaced"
    RETIRED = "retired"
    NOTED = "noted"
    CANCELLED = "cancelled"
    OVERTAKEN = "overtaken"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRef:
    """A node, and which one of that name: a recreated node has another uid."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """All that is known of it; its timeline is kept beside it.

    `version` counts commits. `ladder` is what policy ordered when it opened. `asks` names what an approval would
    allow and `approvals` what a person has allowed. `ending` is the result its release step will end with. A held one
    `waits_for` the budget of that name, or for the inventory; it is looked at again at once when a place there is free.
    """

    id: str
    kind: str
    node: NodeRef
    pool: str
    plan: tuple[PlannedStep, ...]
    faults: tuple[Fault, ...]
    ladder: tuple[str, ...]
    opened_at: datetime
    state: State = State.RUNNING
    result: Result | None = None
    reason: str = ""
    finished_at: datetime | None = None
    next_check_at: datetime | None = None
    version: int = 0
    asks: str = ""
    approvals: tuple[str, ...] = ()
    ending: Result = Result.RELEASED
    ticket: TicketRef | None = None
    waits_for: str = ""

    @property
    def finished(self) -> bool:
        """Whether it is over for good."""
        return self.state is State.FINISHED

    @property
    def whole_reason(self) -> str:
        """Its reason, and which of several faults is the root cause, unless the reason says so itself."""
        burst = root_causes.told(self.faults)
        return self.reason if burst is None or burst in self.reason else f"{self.reason} {burst}"

    @property
    def current(self) -> PlannedStep | None:
        """The first step that is not over."""
        return next((step for step in self.plan if not step.over), None)

    def last(self, step: str) -> PlannedStep | None:
        """The latest planned step of that name, None if the plan never had one."""
        return next((planned for planned in reversed(self.plan) if planned.step == step), None)

    @property
    def last_cordon(self) -> PlannedStep | None:
        """The cordon by which it holds its node, or would; None before the first.

        A rung that replaces the machine cordons once more: only from there on that later cordon counts.
        """
        reached = self.plan if self.current is None else self.plan[: self.plan.index(self.current) + 1]
        cordons = (step for step in reversed(reached) if step.step == "cordon")
        return next((step for step in cordons if step.state is not StepState.SKIPPED), None)

    @property
    def holds_node(self) -> bool:
        """Whether it has cordoned its node and not yet given it back."""
        cordon = self.last_cordon
        return cordon is not None and cordon.state is StepState.DONE and not self.finished

    @property
    def giving_back(self) -> bool:
        """Whether it has been ordered that the node goes back: no rung follows any more, only undos and the release."""
        return any(step.step == repair.RELEASE and "ordered" in step.memo for step in self.plan)

    @property
    def repaired_at(self) -> datetime | None:
        """When the last step of a rung was over, None before the first."""
        over = (step.finished_at for step in self.plan if step.step in _RUNG_STEPS)
        return max((at for at in over if at is not None), default=None)

    @property
    def uncovered_faults(self) -> tuple[Fault, ...]:
        """Faults that began after the last rung was done: the proof that followed it does not cover them."""
        repaired_at = self.repaired_at
        return tuple(fault for fault in self.faults if repaired_at is not None and fault.at > repaired_at)


_RUNG_STEPS = frozenset(step for steps in repair.RUNGS.values() for step in steps) - {
    "cordon",
    "drain",
    *repair.LIGHT_VALIDATION,
}
"""What changes a node: a fault that begins after the last of them is not covered by the proof that follows."""

Changed = tuple[Operation, tuple[Entry, ...]]

CORDONED_AGAIN = "cordoned_again"
"""In the memo of a cordon that a service has undone, so that it is done again: once, and no more."""


def cordon_is_owed(cordon: PlannedStep) -> bool:
    """Whether it was done before and is to be done again."""
    return not cordon.over and CORDONED_AGAIN in cordon.memo


def cordon_again(operation: Operation, reason: str, *, now: datetime) -> Changed:
    """Its cordon is due once more, before anything else goes on; what was being done keeps its place."""
    place = max(place for place, step in enumerate(operation.plan) if step is operation.last_cordon)
    stopped = _stopped(operation, now)
    memo = {**stopped.plan[place].memo, CORDONED_AGAIN: "yes"}
    owed = replace(stopped.plan[place], state=StepState.WAITING, finished_at=None, reason=reason, memo=memo)
    plan = (*stopped.plan[:place], owed, *stopped.plan[place + 1 :])
    again = replace(stopped, plan=plan, state=State.RUNNING, reason=reason, asks="", waits_for="")
    return replace(again, next_check_at=now + PICKED_UP_WITHIN), (Entry(now, SICKBAY, reason),)


def begin(operation: Operation, act: Act, *, now: datetime) -> Changed:
    """The intent, stored before the first of the act's effects."""
    step = _started(_current(operation), now)
    entries = () if step.reason == act.reason else (Entry(now, SICKBAY, act.reason),)
    step = replace(step, state=StepState.RUNNING, reason=act.reason, memo={**step.memo, **act.memo})
    begun = replace(_with(operation, step), state=State.RUNNING, reason=act.reason, asks="")
    return replace(begun, next_check_at=now + PICKED_UP_WITHIN), entries


def apply(operation: Operation, outcome: Outcome, *, now: datetime) -> Changed:
    """The operation after a step's outcome."""
    step = _started(_current(operation), now)
    match outcome:
        case Wait(reason, after, memo, with_vendor):
            said = () if reason == step.reason else (Entry(now, SICKBAY, reason),)
            step = replace(step, state=StepState.WAITING, reason=reason, memo={**step.memo, **memo})
            state = State.WITH_VENDOR if with_vendor else State.WAITING
            waiting = replace(_with(operation, step), state=state, reason=reason, asks="")
            return replace(waiting, next_check_at=now + after), said
        case NeedsHuman(reason, asks, of):
            memo = {**step.memo, **questions.noted(asks, of)}
            step = replace(step, state=StepState.WAITING, reason=reason, memo=memo)
            return ask(_with(operation, step), reason, asks=asks, now=now)
        case Done(reason, memo, _):
            step = replace(step, state=StepState.DONE, finished_at=now, reason=reason, memo={**step.memo, **memo})
            gone_on = _with(operation, step)
            if step.step == repair.RELEASE:
                over, _ = finish(gone_on, operation.ending, reason, now=now)
                return over, (Entry(now, SICKBAY, reason),)
            return _go_on(gone_on, Entry(now, SICKBAY, reason), now)
    step = replace(step, state=StepState.FAILED, finished_at=now, reason=outcome.reason)
    return take_next_rung(_with(operation, step), Entry(now, SICKBAY, outcome.reason), now)


def note(operation: Operation, memo: Mapping[str, str]) -> Operation:
    """The operation with what its current step must remember besides, such as why an eviction was refused."""
    step = _current(operation)
    return _with(operation, replace(step, memo={**step.memo, **memo}))


def hold(operation: Operation, reason: str, *, now: datetime, after: timedelta, waits_for: str = "") -> Changed:
    """Held by a guard, which is asked again after `after`, or when what it waits for is there.

    The time until it goes on is not its step's.
    """
    entries = () if operation.reason == reason else (Entry(now, SICKBAY, reason),)
    held = replace(_stopped(operation, now), state=State.HELD, reason=reason, asks="", next_check_at=now + after)
    return replace(held, waits_for=waits_for), entries


def ask(operation: Operation, reason: str, *, asks: str, now: datetime) -> Changed:
    """Brought before a person, who may approve `asks` if it names something. Their time is not the step's."""
    entries = () if operation.reason == reason else (Entry(now, SICKBAY, reason),)
    asked = replace(
        _stopped(operation, now), state=State.NEEDS_HUMAN, reason=reason, asks=asks, next_check_at=now + LOOK_AGAIN
    )
    return asked, entries


def finish(operation: Operation, result: Result, reason: str, *, now: datetime) -> Changed:
    """Over, with what was not done marked as skipped."""
    plan = tuple(step if step.over else replace(step, state=StepState.SKIPPED) for step in operation.plan)
    over = replace(operation, state=State.FINISHED, result=result, reason=reason, finished_at=now, plan=plan)
    return replace(over, next_check_at=None, asks=""), (Entry(now, SICKBAY, reason),)


def give_back(
    operation: Operation, result: Result, *, actor: str, reason: str, now: datetime, uncordoned: bool = False
) -> Changed:
    """Nothing more is done but giving the node back, which ends the operation with `result`.

    `uncordoned`: a person has done that already, so a cordon that is there later is somebody else's.
    """
    plan = repair.cut_short(operation.plan)
    if not any(step.attempt for step in plan if step.step != repair.WAIT):
        untouched, _ = finish(operation, result, reason, now=now)
        return untouched, (Entry(now, actor, reason),)
    theirs = {repair.UNCORDONED: "yes"} if uncordoned else {}
    release = PlannedStep(step=repair.RELEASE, memo={"ordered": reason, **theirs})
    last = replace(operation, plan=(*plan, release), ending=result, reason=reason)
    return replace(last, state=State.RUNNING, asks="", next_check_at=now + PICKED_UP_WITHIN), (
        Entry(now, actor, reason),
    )


def next_rung(operation: Operation) -> str | None:
    """The rung that the next step would begin, None when it begins none."""
    step = operation.current
    if step is None or not step.rung or step.attempt or step.step in repair.UNDOES:
        return None
    begun = any(other.rung == step.rung and other.attempt for other in operation.plan)
    return None if begun else step.rung


def pass_over(operation: Operation, reason: str, *, now: datetime) -> Changed:
    """The operation with the rung that was next passed over, for this reason, and the one after it begun."""
    rung = _current(operation).rung
    plan = tuple(
        replace(step, state=StepState.SKIPPED, reason=reason) if step.rung == rung and not step.over else step
        for step in operation.plan
    )
    return take_next_rung(replace(operation, plan=plan), Entry(now, SICKBAY, reason), now)


def next_of_ladder(operation: Operation) -> str | None:
    """The rung that follows once this one has failed; None at the ladder's end, and while the node is given back."""
    return None if operation.giving_back else repair.rung_after(operation.ladder, operation.plan)


def take_next_rung(operation: Operation, entry: Entry, now: datetime) -> Changed:
    """The operation with the rung under way cut short and the next one begun; before a person when none is left."""
    rung = next_of_ladder(operation)
    if rung is None:
        return _stuck(operation, entry, now)
    before = repair.cut_short(operation.plan)
    going = replace(operation, plan=before + repair.rung_steps(rung, before), state=State.RUNNING, asks="")
    going = replace(going, reason=entry.text, next_check_at=now + PICKED_UP_WITHIN)
    return going, (entry, Entry(now, SICKBAY, f"The next rung is {rung}."))


def learn(operation: Operation, learned: Learned) -> Operation:
    """The operation with its faults' cards completed from what a proof saw of the same indexes.

    A proof that found another card or machine also makes it end as `replaced`; the old card keeps its faults.
    """
    if learned.ticket is not None:
        operation = replace(operation, ticket=learned.ticket)
    if learned.node_uid:
        # What a person allowed of the old machine's pods or of its cordon was not said of the new one's.
        kept = tuple(allowed for allowed in operation.approvals if allowed in repair.RUNGS)
        operation = replace(operation, node=replace(operation.node, uid=learned.node_uid), approvals=kept)
    if learned.replaced and operation.ending is Result.RELEASED:
        return replace(operation, ending=Result.REPLACED)
    if operation.ending is Result.REPLACED:
        return operation
    faults = operation.faults
    for gpu in learned.gpus:
        sighting = {place: gpu for place, fault in enumerate(faults) if fault.gpu and fault.gpu.is_same_as(gpu)}
        faults = tuple(
            replace(fault, gpu=fault.gpu.joined_with(sighting[place])) if fault.gpu and place in sighting else fault
            for place, fault in enumerate(faults)
        )
    return replace(operation, faults=faults)


def _go_on(operation: Operation, entry: Entry, now: datetime) -> Changed:
    if operation.current is not None:
        going = replace(operation, state=State.RUNNING, reason=entry.text, asks="")
        return replace(going, next_check_at=now + PICKED_UP_WITHIN), (entry,)
    return take_next_rung(operation, entry, now)


def _stuck(operation: Operation, entry: Entry, now: datetime) -> Changed:
    # What would have followed is skipped, so that no later look walks past the failure towards release. What is owed
    # is repaid first; then this comes again.
    operation = replace(operation, plan=repair.cut_short(operation.plan))
    if operation.current is not None:
        going = replace(operation, state=State.RUNNING, reason=entry.text, asks="")
        return replace(going, next_check_at=now + PICKED_UP_WITHIN), (entry,)
    failed = next((step for step in reversed(operation.plan) if step.state is StepState.FAILED), None)
    why = failed.reason if failed is not None else entry.text
    reason = f"{why} No rung of its ladder is left: the node stays cordoned until a person decides."
    asked, entries = ask(operation, reason, asks="", now=now)
    told = () if why == entry.text else (entry,)
    return asked, (*told, *entries)


def _current(operation: Operation) -> PlannedStep:
    step = operation.current
    if step is None:
        raise ValueError(f"{operation.id} has no step to go on with")
    return step


def _stopped(operation: Operation, now: datetime) -> Operation:
    step = operation.current
    return operation if step is None else _with(operation, replace(step, memo=stop_clock(step, now)))


def _started(step: PlannedStep, now: datetime) -> PlannedStep:
    if step.state is not StepState.PENDING:
        return replace(step, memo=start_clock(step, now))
    return replace(step, attempt=step.attempt + 1, started_at=now)


def _with(operation: Operation, step: PlannedStep) -> Operation:
    place = next(place for place, planned in enumerate(operation.plan) if not planned.over)
    return replace(operation, plan=(*operation.plan[:place], step, *operation.plan[place + 1 :]))
