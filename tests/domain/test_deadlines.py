from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from app.domain.deadlines import LOOK_AGAIN, due_at, is_past, next_look
from app.domain.operations import Operation, apply, ask, begin, hold
from app.domain.outcomes import Act, NeedsHuman, Wait
from app.domain.plans.planned import PlannedStep
from tests.building import an_operation, at

HOUR = timedelta(hours=1)
DRAINING, _ = begin(an_operation(at_step="drain"), Act((), "Evicts."), now=at(0))


def step(operation: Operation) -> PlannedStep:
    found = operation.current
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("moments", "seconds"),
    [
        ((), 30),
        ((None,), 30),
        ((at(1),), 30),
        ((at(seconds=12),), 12),
        ((at(seconds=12), at(seconds=5), None), 5),
        ((at(0),), 30),
        ((at(-1), at(seconds=9)), 9),
    ],
)
def test_the_next_look_is_at_the_first_moment_ahead_and_never_later_than_usual(
    moments: tuple[datetime | None, ...], seconds: float
) -> None:
    assert next_look(at(0), *moments) == timedelta(seconds=seconds)


def test_the_usual_time_between_looks_may_be_another() -> None:
    assert next_look(at(0), at(9), at_most=HOUR) == timedelta(minutes=9)
    assert next_look(at(0), at_most=HOUR) == HOUR
    assert timedelta(seconds=30) == LOOK_AGAIN


def test_a_deadline_counts_from_the_beginning_of_the_step_or_from_what_it_asked_for() -> None:
    assert due_at(step(DRAINING), HOUR, at(5)) == at(60)
    assert due_at(step(DRAINING), HOUR, at(5), since=at(4)) == at(64)
    assert due_at(step(an_operation(at_step="drain")), HOUR, at(5)) is None


def test_a_moment_that_never_comes_is_never_past() -> None:
    assert not is_past(None, at(1))
    assert not is_past(at(1), at(0.99))
    assert is_past(at(1), at(1))


def test_time_held_by_a_guard_does_not_count_while_it_lasts_and_afterwards() -> None:
    held, _ = hold(DRAINING, "Paused.", now=at(10), after=HOUR)
    again, _ = hold(held, "Paused.", now=at(40), after=HOUR)
    assert due_at(step(again), HOUR, at(400)) == at(450)
    going, _ = begin(again, Act((), "Evicts."), now=at(100))
    assert due_at(step(going), HOUR, at(100)) == at(150)
    twice, _ = hold(going, "Paused.", now=at(110), after=HOUR)
    waiting, _ = apply(twice, Wait("Waits."), now=at(111.5))
    assert due_at(step(waiting), HOUR, at(500)) == at(151.5)


def test_time_in_which_a_person_is_asked_does_not_count_either() -> None:
    asked, _ = apply(DRAINING, NeedsHuman("Approve it.", asks="bare-pods"), now=at(10))
    again, _ = apply(asked, NeedsHuman("Approve it.", asks="bare-pods"), now=at(300))
    assert due_at(step(again), HOUR, at(310)) == at(360)
    going, _ = begin(again, Act((), "Evicts."), now=at(310))
    assert due_at(step(going), HOUR, at(320)) == at(360)


def test_a_step_that_has_not_begun_loses_no_time_to_a_hold() -> None:
    held, _ = hold(an_operation(at_step="drain"), "Paused.", now=at(0), after=HOUR)
    begun, _ = begin(held, Act((), "Evicts."), now=at(90))
    assert due_at(step(begun), HOUR, at(90)) == at(150)


def test_an_operation_at_the_end_of_its_plan_is_asked_about_all_the_same() -> None:
    ended = replace(DRAINING, plan=())
    assert ask(ended, "What now?", asks="", now=at(1))[0].plan == ()
