"""How operations are laid out on pages: lanes, rows, chips and steps. Pure; the sentences are those of the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from app.domain.operations import Operation, Result, State
from app.domain.plans.planned import PlannedStep, StepState
from app.domain.timeline import counted, spell

FINISHED_SHOWN: Final = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Chip:
    """A state, told three times: `tone` is its colour, `glyph` its sign, `word` its name."""

    tone: str
    glyph: str
    word: str


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a plan as it is shown. `took` is how long it took, empty before its end."""

    step: PlannedStep
    chip: Chip
    took: str


@dataclass(frozen=True, slots=True)
class Row:
    """One operation in a lane or list."""

    operation: Operation
    chip: Chip
    headline: str
    stages: tuple[Stage, ...]
    at: datetime
    """When it was opened, or when it ended."""


@dataclass(frozen=True, slots=True)
class Lane:
    """Operations that ask the same of whoever looks."""

    key: str
    title: str
    rows: tuple[Row, ...]
    remark: str = ""


@dataclass(frozen=True, slots=True)
class LadderRung:
    """One rung of an operation's ladder, and what became of it so far."""

    name: str
    chip: Chip


LANES: Final[tuple[tuple[str, str, tuple[State, ...]], ...]] = (
    ("you", "Needs you", (State.NEEDS_HUMAN,)),
    ("run", "In progress", (State.RUNNING, State.WAITING)),
    ("held", "Held", (State.HELD,)),
    ("vendor", "With vendor", (State.WITH_VENDOR,)),
)

_STATES: Final = {
    State.NEEDS_HUMAN: Chip("you", "!", "needs you"),
    State.RUNNING: Chip("run", "▸", "running"),
    State.WAITING: Chip("run", "▸", "waiting"),
    State.HELD: Chip("held", "‖", "held"),
    State.WITH_VENDOR: Chip("vendor", "⇄", "with vendor"),
}
_RESULTS: Final = {
    Result.RELEASED: Chip("done", "✓", "released"),
    Result.REPLACED: Chip("done", "✓", "replaced"),
    Result.RETIRED: Chip("done", "✓", "retired"),
    Result.NOTED: Chip("quiet", "·", "noted"),
    Result.CANCELLED: Chip("quiet", "⊘", "cancelled"),
    Result.OVERTAKEN: Chip("quiet", "⊘", "overtaken"),
}
_STEPS: Final = {
    StepState.PENDING: Chip("todo", "·", "to do"),
    StepState.RUNNING: Chip("run", "▸", "running"),
    StepState.WAITING: Chip("run", "▸", "waiting"),
    StepState.DONE: Chip("done", "✓", "done"),
    StepState.FAILED: Chip("failed", "✗", "failed"),
    StepState.SKIPPED: Chip("todo", "⊘", "skipped"),
}
_STOPPED: Final = {
    State.NEEDS_HUMAN: Chip("you", "!", "needs you"),
    State.HELD: Chip("held", "‖", "held"),
    State.WITH_VENDOR: Chip("vendor", "⇄", "with vendor"),
}
"""How the step is shown at which an operation has stopped."""


def lay_out(open_ones: Sequence[Operation], finished: Sequence[Operation], now: datetime) -> tuple[Lane, ...]:
    """The overview's lanes; those of open operations without rows are left out."""
    lanes = [
        Lane(key, title, tuple(row(one) for one in open_ones if one.state in states)) for key, title, states in LANES
    ]
    late = [one for one in finished if one.finished_at is not None and now - one.finished_at <= FINISHED_SHOWN]
    late.sort(key=lambda one: one.finished_at or now, reverse=True)
    tally = Counter(str(one.result) for one in late)
    remark = ", ".join(f"{tally[result]} {result}" for result in Result if tally[result])
    over = Lane("done", "Finished, last 24 h", tuple(row(one) for one in late), remark)
    return (*(lane for lane in lanes if lane.rows), *((over,) if late else ()))


def row(operation: Operation) -> Row:
    """One operation as a row."""
    return Row(
        operation=operation,
        chip=chip(operation),
        headline=headline(operation),
        stages=tuple(stages(operation)),
        at=operation.finished_at or operation.opened_at,
    )


def chip(operation: Operation) -> Chip:
    """Its state; in progress, the step it is at says more."""
    if operation.result is not None:
        return _RESULTS[operation.result]
    shown = _STATES[operation.state]
    if operation.state in {State.RUNNING, State.WAITING} and operation.current is not None:
        return Chip(shown.tone, shown.glyph, operation.current.step)
    if operation.state is State.NEEDS_HUMAN and operation.asks:
        return Chip(shown.tone, shown.glyph, "approve")
    return shown


def headline(operation: Operation) -> str:
    """What is wrong, in the words of its first fault."""
    if not operation.faults:
        return operation.kind
    more = len(operation.faults) - 1
    return operation.faults[0].evidence + (f", and {counted(more, 'more fault')}" if more else "")


def stages(operation: Operation) -> Iterable[Stage]:
    """The plan, past and future; the step at which it has stopped shows why it stands."""
    current = operation.current
    for step in operation.plan:
        shown = _STEPS[step.state]
        if step is current and operation.state in _STOPPED:
            shown = _STOPPED[operation.state]
        yield Stage(step, shown, _took(step))


def brief(row: Row) -> tuple[tuple[str, Chip], ...]:
    """The plan in one line: a rung that is over and did not help is one name, whatever it was made of."""
    plan = [stage.step for stage in row.stages]
    latest = next((step.rung for step in reversed(plan) if step.rung), "")
    told: dict[tuple[str, str], Chip] = {}
    for stage in row.stages:
        step = stage.step
        if step.rung and step.rung != latest:
            told.setdefault((step.rung, step.rung), _of_rung(row.operation, step.rung))
        elif step.state is not StepState.SKIPPED:
            told[step.rung, step.step] = stage.chip
    return tuple((name, shown) for (_, name), shown in told.items())


def rungs(operation: Operation) -> tuple[LadderRung, ...]:
    """The ladder, from the mildest rung to the gravest."""
    return tuple(LadderRung(name, _of_rung(operation, name)) for name in operation.ladder)


def upcoming(operation: Operation) -> tuple[str, ...]:
    """The steps still to do, the present one first."""
    return tuple(step.step for step in operation.plan if not step.over)


def counts(lanes: Sequence[Lane]) -> str:
    """One line for screen readers and the window's title: `1 needs you, 2 in progress`."""
    told = [f"{len(lane.rows)} {lane.title.lower()}" for lane in lanes if lane.key != "done"]
    return ", ".join(told) or "no open operations"


def _of_rung(operation: Operation, name: str) -> Chip:
    steps = [step for step in operation.plan if step.rung == name]
    if operation.current in steps and operation.state in _STOPPED:
        return _STOPPED[operation.state]
    if not any(step.attempt for step in steps):
        return (
            Chip("todo", "⊘", "passed over")
            if steps and all(step.over for step in steps)
            else _STEPS[StepState.PENDING]
        )
    if any(step.state is StepState.FAILED for step in steps):
        return _STEPS[StepState.FAILED]
    return _STEPS[StepState.DONE if all(step.over for step in steps) else StepState.RUNNING]


def _took(step: PlannedStep) -> str:
    if step.started_at is None or step.finished_at is None:
        return ""
    return spell(step.finished_at - step.started_at)
