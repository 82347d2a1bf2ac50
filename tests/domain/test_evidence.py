from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.evidence import cards_noted, gpus_noted
from app.domain.operations import Operation
from tests.building import an_operation

NOTED = an_operation(at_step="drain")


@pytest.mark.parametrize(
    ("operation", "gpus"),
    [
        (NOTED, 8),
        (an_operation(), 0),
        (replace(NOTED, plan=tuple(replace(step, memo={"gpus": "eight"}) for step in NOTED.plan)), 0),
        (replace(NOTED, plan=tuple(step for step in NOTED.plan if step.step != "evidence")), 0),
    ],
)
def test_the_count_of_gpus_is_what_was_noted_or_not_known(operation: Operation, gpus: int) -> None:
    assert gpus_noted(operation) == gpus


def test_the_count_of_cards_is_its_own_or_else_that_of_what_is_offered() -> None:
    def noting(**memo: str) -> Operation:
        return replace(NOTED, plan=tuple(replace(step, memo=memo) for step in NOTED.plan))

    assert cards_noted(noting(gpus="56", cards="8")) == 8
    assert cards_noted(noting(gpus="56", cards="0")) == 0
    assert cards_noted(NOTED) == 8
