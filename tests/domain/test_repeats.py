"""An act that does not last: done again at once, then more slowly, then a person is asked."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from app.domain.effects import RemoveNodeJob
from app.domain.outcomes import Act, NeedsHuman, Wait
from app.domain.plans.planned import PlannedStep
from app.domain.repeats import LONGEST, MOST, begun_anew, done_again, held_back
from tests.building import at

ACT = Act((RemoveNodeJob(key="a", name="a"), RemoveNodeJob(key="b", name="b")), "Pauses the operands.")
OTHER = Act((RemoveNodeJob(key="c", name="c"),), "Evicts ml/train-0.")


def after(times: int, last: datetime | None = None) -> PlannedStep:
    step = PlannedStep(step="pause-operands")
    for _ in range(times):
        step = PlannedStep(step="pause-operands", memo={**step.memo, **done_again(step, ACT.effects, last or at())})
    return step


@pytest.mark.parametrize(
    ("times", "pause"), [(0, 0), (1, 0), (2, 2), (3, 4), (4, 8), (5, 16), (6, 32), (7, LONGEST.total_seconds())]
)
def test_the_same_act_is_done_more_and_more_slowly(times: int, pause: float) -> None:
    step = after(times)
    assert held_back(step, ACT, at() + timedelta(seconds=pause)) is None
    if pause:
        told = f"Pauses the operands. It was done {times} times and did not last, so it is tried more slowly."
        assert held_back(step, ACT, at()) == Wait(told, after=timedelta(seconds=pause))


def test_after_several_tries_a_person_is_asked() -> None:
    asked = held_back(after(MOST), ACT, at(60))
    assert isinstance(asked, NeedsHuman)
    assert asked.reason == (
        f"Pauses the operands. It was done {MOST} times and did not last: somebody undoes it. Find out who, then retry."
    )


def test_another_act_begins_at_once_and_counts_anew() -> None:
    step = after(MOST)
    assert held_back(step, OTHER, at()) is None
    assert done_again(step, OTHER.effects, at())["acts"] == "1"


def test_an_act_after_which_the_step_waited_has_lasted() -> None:
    step = after(MOST)
    assert held_back(PlannedStep(step=step.step, memo={**step.memo, **begun_anew(step)}), ACT, at()) is None
    assert begun_anew(PlannedStep(step="drain")) == {}


def test_a_count_of_which_no_time_is_known_holds_nothing_back() -> None:
    step = after(3)
    assert held_back(PlannedStep(step=step.step, memo={**step.memo, "acted_at": ""}), ACT, at()) is None
