"""Rungs that were begun are counted beyond their operations, each once, whatever crashes."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from redis import Redis

from app.domain.faults import Fault, Gpu
from app.domain.operations import Operation
from app.domain.rungs import Attempt
from app.store import ClaimRequest, Committed, NoPlace, Store
from app.store.connection import Link
from app.store.keys import DAY_S, KEYS
from app.store.operations import _request
from tests.store.things import MINUTE, NOW, change, committed, finished, join, operation

EVER = NOW - timedelta(days=90)
BOTH = Gpu(serial="0321", uuid="GPU-aa", index=3)


def begin(store: Store, one: Operation, rung: str = "reboot", at: datetime = NOW) -> Operation:
    return committed(store, one, attempt=rung, now=at)


def on(one: Operation, *gpus: Gpu | None) -> Operation:
    """The operation with a fault on each of these cards."""
    faults = tuple(Fault(code="xid-79", node=one.node.name, gpu=gpu, at=NOW, source="", evidence="") for gpu in gpus)
    return replace(one, faults=faults)


def test_a_rung_counts_for_its_node_and_its_card(store: Store) -> None:
    begin(store, operation("op-1", "gpu-001"))

    told = {"rung": "reboot", "at": NOW, "operation": "op-1", "node": "gpu-001"}
    assert store.attempts.of("gpu-001", ["0321"], since=EVER) == (
        Attempt(card=None, **told),  # type: ignore[arg-type]
        Attempt(card="0321", **told),  # type: ignore[arg-type]
    )
    assert store.attempts.of("gpu-002", ["0322"], since=EVER) == ()


def test_a_card_takes_its_attempts_to_another_node(store: Store) -> None:
    committed(store, finished(begin(store, operation("op-1", "gpu-001"))))

    (there,) = store.attempts.of("gpu-002", ["0321"], since=EVER)
    assert (there.node, there.card) == ("gpu-001", "0321")


def test_a_commit_that_begins_no_rung_counts_nothing(store: Store) -> None:
    committed(store, operation())
    assert store.attempts.of("gpu-001", ["0321"], since=EVER) == ()


def test_a_rung_of_an_operation_counts_once_from_when_it_was_first_begun(store: Store) -> None:
    """A worker died between the intent and the act, and another one began it again; then a person retried it."""
    one = begin(store, operation())
    one = committed(
        store, one, attempt="reboot", now=NOW + MINUTE, claim=ClaimRequest(owner="b", until=NOW + 2 * MINUTE)
    )
    begin(store, one, at=NOW + timedelta(hours=1))

    assert [attempt.at for attempt in store.attempts.of("gpu-001", [], since=EVER)] == [NOW]


def test_a_commit_that_is_sent_again_because_its_answer_was_lost_counts_once(store: Store, redis: Redis) -> None:
    request = {**_request(change(operation(), attempt="reboot")), "nonce": "a"}
    link = Link(redis)
    first, again = (link.run("commit", request) for _ in range(2))

    assert first == again
    assert len(store.attempts.of("gpu-001", [], since=EVER)) == 1


def test_a_rung_that_was_refused_was_not_begun(store: Store) -> None:
    committed(store, operation("op-9", "gpu-009"), places={"disruptions": 1})
    refused = store.operations.commit(change(operation(), attempt="reboot", places={"disruptions": 1}))

    assert isinstance(refused, NoPlace)
    assert store.attempts.of("gpu-001", ["0321"], since=EVER) == ()


def test_two_rungs_are_two_attempts_oldest_first(store: Store) -> None:
    one = begin(store, operation(), "reset", NOW)
    begin(store, one, "reboot", NOW + MINUTE)

    assert [attempt.rung for attempt in store.attempts.of("gpu-001", [], since=EVER)] == ["reset", "reboot"]


def test_what_began_before_the_window_or_by_the_asking_operation_is_left_out(store: Store) -> None:
    committed(store, finished(begin(store, operation("op-1"))))
    begin(store, operation("op-2"), at=NOW + timedelta(days=1))

    def asked(since: datetime, besides: str = "") -> list[str]:
        return [one.operation for one in store.attempts.of("gpu-001", [], since=since, besides=besides)]

    assert asked(NOW) == ["op-1", "op-2"]
    assert asked(NOW + MINUTE) == ["op-2"]
    assert asked(NOW, besides="op-2") == ["op-1"]


@pytest.mark.parametrize("asked", ["0321", "GPU-aa", BOTH, Gpu(serial="0321"), Gpu(uuid="GPU-aa")])
def test_an_attempt_on_a_uuid_is_found_by_the_serial_once_that_is_known(store: Store, asked: str | Gpu) -> None:
    begin(store, on(operation("op-1"), Gpu(uuid="GPU-aa")))
    join(store, "GPU-aa", "0321")
    begin(store, on(operation("op-2", "gpu-002"), Gpu(uuid="GPU-aa")))

    found = store.attempts.of("gpu-009", [asked], since=EVER)

    assert [one.operation for one in found] == ["op-1", "op-2"]
    assert {one.card for one in found} == {asked.key if isinstance(asked, Gpu) else asked}


def test_every_card_with_a_fault_counts_and_one_that_is_not_known_does_not(store: Store) -> None:
    begin(store, on(operation(), Gpu(serial="1"), Gpu(uuid="GPU-b"), Gpu(serial="1"), Gpu(index=4), None))

    found = store.attempts.of("gpu-001", ["1", "GPU-b", Gpu(index=4)], since=EVER)
    assert [one.card for one in found] == [None, "1", "GPU-b"]


def test_attempts_are_bounded_and_expire(store: Store, redis: Redis) -> None:
    for number in range(60):
        one = begin(store, operation(f"op-{number}"), at=NOW + number * MINUTE)
        committed(store, finished(one))

    found = store.attempts.of("gpu-001", [], since=EVER)
    assert [found[0].operation, found[-1].operation, len(found)] == ["op-10", "op-59", 50]
    for key in (KEYS["node_attempts"] + "gpu-001", KEYS["card_attempts"] + "0321"):
        assert (redis.ttl(key), redis.zcard(key)) == (90 * DAY_S, 50)


def test_ten_workers_that_begin_one_rung_at_once_begin_one(store: Store) -> None:
    one = committed(store, operation())
    results = [store.operations.commit(change(one, attempt="reboot")) for _ in range(10)]

    assert sum(isinstance(result, Committed) for result in results) == 1
    assert len(store.attempts.of("gpu-001", [], since=EVER)) == 1
