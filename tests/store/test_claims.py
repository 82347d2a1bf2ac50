from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from redis import Redis

from app.domain.operations import Operation
from app.store import Claim, ClaimedBy, ClaimRequest, Committed, Conflict, Store
from app.store.keys import KEYS
from tests.store.things import MINUTE, NOW, all_at_once, change, committed, entry, finished, operation

LATER = NOW + MINUTE


def claim(owner: str, until: datetime = LATER) -> ClaimRequest:
    return ClaimRequest(owner=owner, until=until)


@pytest.fixture
def held(store: Store) -> Operation:
    """An operation whose claim worker-a holds for a minute."""
    return committed(store, committed(store, operation()), claim=claim("worker-a"))


def test_a_first_claim_is_granted_with_fence_one(store: Store, held: Operation) -> None:
    assert store.operations.claim_on(held.id) == Claim(owner="worker-a", until=LATER, fence=1)


@pytest.mark.parametrize(
    ("owner", "now", "answer"),
    [
        ("worker-a", NOW, Committed(version=3, fence=1)),
        ("worker-b", NOW, ClaimedBy("worker-a", LATER)),
        ("worker-b", LATER - timedelta(microseconds=1), ClaimedBy("worker-a", LATER)),
        ("worker-b", LATER, Committed(version=3, fence=2)),
        ("worker-a", LATER, Committed(version=3, fence=2)),
    ],
)
def test_a_claim_is_exclusive_until_it_runs_out_and_each_new_holding_raises_the_fence(
    store: Store, held: Operation, owner: str, now: datetime, answer: object
) -> None:
    asked = change(held, now=now, claim=claim(owner, now + MINUTE), entries=(entry("acts"),))
    assert store.operations.commit(asked) == answer
    assert bool(store.timeline.read(held.id)) is isinstance(answer, Committed)


def test_a_holder_whose_claim_was_taken_over_is_fenced_off(store: Store, held: Operation) -> None:
    after = committed(store, held, now=LATER, claim=claim("worker-b", LATER + MINUTE))
    late = change(after, now=LATER, held_claim=("worker-a", 1), entries=(entry("late"),))
    assert store.operations.commit(late) == ClaimedBy("worker-b", LATER + MINUTE)
    assert store.timeline.read(held.id) == ()


def test_an_old_fence_of_the_same_owner_is_fenced_off_too(store: Store, held: Operation) -> None:
    after = committed(store, held, now=LATER, claim=claim("worker-a", LATER + MINUTE))
    refused = store.operations.commit(change(after, now=LATER, held_claim=("worker-a", 1)))
    assert refused == ClaimedBy("worker-a", LATER + MINUTE)
    assert store.operations.commit(change(after, now=LATER, held_claim=("worker-a", 2))) == Committed(4, 2)


def test_a_holder_whose_claim_was_given_back_meets_a_conflict(store: Store, held: Operation) -> None:
    after = committed(store, held, drop_claim_of="worker-a")
    refused = store.operations.commit(change(after, held_claim=("worker-a", 1)))
    assert refused == Conflict(version=after.version)


def test_a_claim_is_given_back_in_the_same_commit_and_the_next_holder_gets_a_higher_fence(
    store: Store, held: Operation
) -> None:
    after = committed(store, held, held_claim=("worker-a", 1), drop_claim_of="worker-a")
    assert store.operations.claim_on(held.id) is None
    assert store.operations.commit(change(after, claim=claim("worker-b"))) == Committed(4, 2)


def test_nobody_gives_back_what_another_holds(store: Store, held: Operation) -> None:
    committed(store, held, drop_claim_of="worker-b")
    assert store.operations.claim_on(held.id) == Claim(owner="worker-a", until=LATER, fence=1)


def test_a_new_fault_or_a_persons_order_needs_no_claim_and_leaves_it_in_place(store: Store, held: Operation) -> None:
    assert store.operations.commit(change(held, entries=(entry("joins"),))) == Committed(version=3, fence=1)
    assert store.operations.claim_on(held.id) == Claim(owner="worker-a", until=LATER, fence=1)


def test_an_operation_that_is_claimed_is_due_when_the_claim_runs_out(store: Store, held: Operation) -> None:
    """So that a holder that died is noticed, and one that lives is not disturbed."""
    sooner = committed(store, replace(held, next_check_at=NOW))
    assert store.operations.due(LATER - timedelta(microseconds=1)) == []
    assert store.operations.due(LATER) == ["op-1"]
    committed(store, sooner, held_claim=("worker-a", 1), drop_claim_of="worker-a")
    assert store.operations.due(NOW) == ["op-1"]


def test_a_claim_that_has_run_out_no_longer_says_when_to_look(store: Store, held: Operation) -> None:
    committed(store, replace(held, next_check_at=LATER + MINUTE), now=LATER)
    assert store.operations.due(LATER) == []


def test_a_finished_operation_is_claimed_by_nobody(store: Store, held: Operation) -> None:
    committed(store, finished(held), held_claim=("worker-a", 1))
    assert store.operations.claim_on(held.id) is None


def test_of_ten_workers_that_claim_at_the_same_moment_one_acts(store: Store) -> None:
    seen = committed(store, operation())
    names = [f"worker-{number}" for number in range(10)]
    results = all_at_once(
        [lambda name=name: store.operations.commit(change(seen, claim=claim(name))) for name in names]  # type: ignore[misc]
    )
    assert results.count(Committed(version=2, fence=1)) == 1
    assert results.count(Conflict(version=2)) == 9


def test_the_fence_outlives_its_holders(store: Store, held: Operation, redis: Redis) -> None:
    after = committed(store, held, drop_claim_of="worker-a")
    assert redis.hget(KEYS["operation"] + after.id, "fence") == "1"
