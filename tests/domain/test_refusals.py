from __future__ import annotations

from datetime import timedelta

import pytest

from app.domain.refusals import (
    FIRST_PAUSE,
    JITTER,
    LONGEST_PAUSE,
    Refused,
    last_refusal,
    pause,
    refusal_key,
    standing_refusal,
)
from tests.building import at


@pytest.mark.parametrize("never", [False, True])
def test_a_refusal_is_read_as_it_was_written(never: bool) -> None:
    told = Refused(until=at(5), why="never mind: budget ml/train says no.", tries=3, never=never)
    memo = {refusal_key("uid-1"): told.written()}

    assert last_refusal(memo, "uid-2") is None
    assert standing_refusal(memo, "uid-1", at(4)) == last_refusal(memo, "uid-1") == told
    assert standing_refusal(memo, "uid-1", at(5)) is None


def test_a_refusal_that_an_earlier_version_wrote_is_one_try() -> None:
    memo = {refusal_key("uid-1"): f"{at(5).isoformat()} Budget ml/train does not allow it."}

    assert last_refusal(memo, "uid-1") == Refused(until=at(5), why="Budget ml/train does not allow it.")


@pytest.mark.parametrize("written", ["", "soon perhaps", "7"])
def test_a_refusal_that_cannot_be_read_is_none(written: str) -> None:
    assert last_refusal({refusal_key("uid-1"): written}, "uid-1") is None


def test_the_pause_doubles_with_each_try_up_to_a_limit_and_is_not_the_same_for_all() -> None:
    for tries, least in enumerate((5, 10, 20, 40, 40, 40), start=1):
        drawn = [pause(tries, f"uid-{pod}") for pod in range(50)]
        assert min(drawn) >= timedelta(seconds=least)
        assert max(drawn) <= timedelta(seconds=least) * (1 + JITTER)
        assert len(set(drawn)) == len(drawn)
    assert FIRST_PAUSE <= pause(0, "uid-1") < pause(400, "uid-1") <= LONGEST_PAUSE * (1 + JITTER)


def test_the_same_try_of_the_same_pod_has_the_same_pause_on_every_worker() -> None:
    assert pause(2, "uid-1") == pause(2, "uid-1")
