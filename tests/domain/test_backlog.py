"""What a resume after a mass failure drops."""

from __future__ import annotations

import pytest

from app.domain.backlog import is_dropped
from app.domain.operations import Result, finish
from tests.building import an_operation, at


@pytest.mark.parametrize(
    ("statuses", "dropped"),
    [
        (["resolved"], True),
        (["resolved", "resolved"], True),
        (["firing"], False),
        (["resolved", "firing"], False),
        ([], False),  # nothing says that the fault has ended
        (["expired"], False),
    ],
)
def test_an_untouched_operation_goes_when_all_of_its_alerts_have_ended(statuses: list[str], dropped: bool) -> None:
    assert is_dropped(an_operation(), statuses) is dropped


@pytest.mark.parametrize("step", ["evidence", "drain", "release"])
def test_one_that_has_begun_stays(step: str) -> None:
    assert not is_dropped(an_operation(at_step=step), ["resolved"])


def test_one_that_is_over_stays_as_it_ended() -> None:
    over, _ = finish(an_operation(), Result.CANCELLED, "Cancelled.", now=at(1))

    assert not is_dropped(over, ["resolved"])
