from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from redis import Redis

from app.domain.facts import TicketRef
from app.domain.operations import Operation
from app.domain.tickets import OutboxEntry, TicketIntent
from app.store import Change, Committed, Conflict, NewerDocumentError, Store
from app.store.keys import BOUNDS, KEYS, plain
from tests.store.things import NOW, all_at_once, change, committed, finished, operation

CAUSE = "main:serial:9900000000103"


def an_intent(of: Operation, number: int = 1) -> TicketIntent:
    return TicketIntent(cause=CAUSE, number=number, operation=of.id, at=NOW)


@pytest.fixture
def first(store: Store) -> Operation:
    """The operation that has begun to open the cause's first ticket."""
    opened = committed(store, operation("op-1", "gpu-001"))
    return committed(store, opened, ticket=an_intent(opened))


@pytest.fixture
def second(store: Store) -> Operation:
    """Another one, on another node, of the same cause."""
    return committed(store, operation("op-2", "gpu-002"))


def test_a_cause_that_nobody_opened_a_ticket_for_has_no_entry(store: Store) -> None:
    assert store.outbox.of(CAUSE) is None


def test_the_intent_stands_in_the_store_with_the_commit_that_begins_the_step(store: Store, first: Operation) -> None:
    assert store.outbox.of(CAUSE) == OutboxEntry(intent=an_intent(first), ticket=None, operation_open=True)


def test_the_ticket_is_that_of_its_operation(store: Store, first: Operation) -> None:
    ticket = TicketRef(system="webhook", key=CAUSE, url="https://tickets.example/7")
    known = committed(store, replace(first, ticket=ticket))
    entry = store.outbox.of(CAUSE)
    assert entry is not None
    assert (entry.ticket, entry.operation_open) == (ticket, True)
    committed(store, finished(known))
    entry = store.outbox.of(CAUSE)
    assert entry is not None
    assert (entry.ticket, entry.operation_open) == (ticket, False)


def test_no_other_operation_may_open_it_and_nothing_of_that_commit_is_written(
    store: Store, first: Operation, second: Operation
) -> None:
    refused = store.operations.commit(change(second, ticket=an_intent(second), places={"cordons": 9}))
    assert refused == Conflict(version=second.version)
    assert store.operations.load("op-2") == second
    assert not store.operations.reservations()
    entry = store.outbox.of(CAUSE)
    assert entry is not None
    assert entry.intent.operation == "op-1"


def test_the_same_operation_may_write_it_again_for_its_next_try(store: Store, first: Operation) -> None:
    later = replace(an_intent(first), at=NOW + timedelta(minutes=2))
    committed(store, first, ticket=later)
    entry = store.outbox.of(CAUSE)
    assert entry is not None
    assert entry.intent == later


def test_another_may_take_over_what_a_finished_operation_left(
    store: Store, first: Operation, second: Operation
) -> None:
    committed(store, finished(first))
    committed(store, second, ticket=an_intent(second))
    entry = store.outbox.of(CAUSE)
    assert entry is not None
    assert entry.intent.operation == "op-2"


def test_the_next_ticket_of_a_cause_may_be_opened_by_another_and_the_last_one_no_more(
    store: Store, first: Operation, second: Operation
) -> None:
    committed(store, second, ticket=an_intent(second, 2))
    refused = store.operations.commit(change(first, ticket=an_intent(first, 1)))
    assert isinstance(refused, Conflict)


def test_a_commit_that_is_repeated_after_a_lost_answer_is_answered_as_the_first_time(
    store: Store, first: Operation, second: Operation
) -> None:
    assert isinstance(store.operations.commit(change(first, ticket=an_intent(first))), Committed)


def test_of_ten_that_begin_at_once_one_may_open_the_ticket(store: Store) -> None:
    ten = [committed(store, operation(f"op-{n}", f"gpu-{n:03d}")) for n in range(10)]
    changes = [change(each, ticket=an_intent(each)) for each in ten]

    def begin(what: Change) -> object:
        return store.operations.commit(what)

    given = all_at_once([lambda what=what: begin(what) for what in changes])  # type: ignore[misc]
    assert sorted(type(each).__name__ for each in given) == ["Committed"] + ["Conflict"] * 9


def test_an_intent_of_a_newer_form_is_left_alone(store: Store, redis: Redis, first: Operation) -> None:
    key = KEYS["ticket"] + plain(CAUSE)
    text = str(redis.get(key)).replace('"v":1', '"v":2')
    redis.set(key, text)
    with pytest.raises(NewerDocumentError):
        store.outbox.of(CAUSE)
    with pytest.raises(NewerDocumentError, match="op-1's ticket is stored in version 2"):
        store.operations.commit(change(first, ticket=an_intent(first)))
    assert redis.get(key) == text


def test_an_intent_is_forgotten_after_its_time(store: Store, redis: Redis, first: Operation) -> None:
    left = redis.ttl(KEYS["ticket"] + plain(CAUSE))
    assert BOUNDS["ticket_s"] - 60 < left <= BOUNDS["ticket_s"]
