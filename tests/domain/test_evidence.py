from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.evidence import gpus_noted
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
