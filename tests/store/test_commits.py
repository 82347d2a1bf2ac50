from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from redis import Redis

from app.domain.operations import State
from app.store import Committed, Conflict, Duplicate, NewerDocumentError, Store, operations
from app.store.connection import Link
from app.store.keys import KEYS
from app.store.operations import _request
from tests.store.things import (
    MINUTE,
    NOW,
    alert,
    all_at_once,
    change,
    committed,
    entry,
    finished,
    operation,
    record,
    row,
)


def dump(redis: Redis) -> dict[str, bytes | None]:
    """Everything in the store, as it is."""
    raw = Redis(connection_pool=redis.connection_pool)
    return {str(key): raw.execute_command("DUMP", key, NEVER_DECODE=True) for key in sorted(raw.scan_iter("*"))}  # type: ignore[no-untyped-call]


def test_a_commit_stores_the_operation_and_all_that_belongs_to_it(store: Store) -> None:
    opened = operation()
    result = store.operations.commit(
        change(
            opened,
            entries=(entry("Cordons gpu-001."),),
            occurrence="f1|now|firing",
            alert=record(operation="op-1"),
            history=(row(serial="0321"),),
        )
    )
    assert result == Committed(version=1, fence=0)
    assert store.operations.load("op-1") == replace(opened, version=1)
    assert store.operations.open_on("gpu-001") == "op-1"
    assert store.timeline.read("op-1") == (entry("Cordons gpu-001."),)
    assert store.alerts.last() == [record(operation="op-1")]
    assert store.history.of("0321") == [row(serial="0321")]


def test_what_was_never_committed_is_absent(store: Store) -> None:
    assert store.operations.load("op-none") is None
    assert store.operations.open_on("gpu-001") is None
    assert store.operations.claim_on("op-none") is None
    assert store.timeline.read("op-none") == ()


@pytest.mark.parametrize(("expected", "stored"), [(0, 2), (1, 2), (3, 2), (99, 2)])
def test_another_version_than_the_stored_one_is_a_conflict_that_names_it(
    store: Store, redis: Redis, expected: int, stored: int
) -> None:
    committed(store, committed(store, operation()))
    before = dump(redis)
    result = store.operations.commit(
        change(operation(), expected_version=expected, entries=(entry("never"),), alert=record(), occurrence="x")
    )
    assert result == Conflict(version=stored)
    assert dump(redis) == before


def test_a_version_of_an_operation_that_is_gone_is_a_conflict(store: Store) -> None:
    assert store.operations.commit(change(operation(), expected_version=4)) == Conflict(version=0)


def test_a_node_has_one_open_operation(store: Store) -> None:
    committed(store, operation("op-1"))
    result = store.operations.commit(change(operation("op-2")))
    assert result == Conflict(version=0, open_operation="op-1")
    assert store.operations.load("op-2") is None


def test_a_finished_operation_frees_its_node_for_the_next(store: Store) -> None:
    first = committed(store, operation("op-1"))
    committed(store, finished(first))
    assert store.operations.open_on("gpu-001") is None
    committed(store, operation("op-2"))
    assert store.operations.open_on("gpu-001") == "op-2"


def test_a_late_word_about_a_finished_operation_does_not_touch_the_next_one(store: Store) -> None:
    over = committed(store, finished(committed(store, operation("op-1"))))
    committed(store, operation("op-2"))
    committed(store, over, entries=(entry("Seen again."),))
    assert store.operations.open_on("gpu-001") == "op-2"


def test_of_ten_who_change_one_version_one_wins(store: Store) -> None:
    seen = committed(store, operation())
    results = all_at_once(
        [
            lambda name=str(number): store.operations.commit(change(seen, entries=(entry(name),)))  # type: ignore[misc]
            for number in range(10)
        ]
    )
    assert results.count(Conflict(version=2)) == 9
    assert results.count(Committed(version=2, fence=0)) == 1
    assert len(store.timeline.read("op-1")) == 1


def test_of_ten_who_open_an_operation_on_one_node_one_wins(store: Store) -> None:
    names = [f"op-{number}" for number in range(10)]
    results = all_at_once(
        [lambda name=name: store.operations.commit(change(operation(name))) for name in names]  # type: ignore[misc]
    )
    assert results.count(Committed(version=1, fence=0)) == 1
    winner = store.operations.open_on("gpu-001")
    assert results.count(Conflict(version=0, open_operation=winner)) == 9


def test_the_same_call_repeated_after_a_lost_answer_counts_once(store: Store, redis: Redis) -> None:
    request = _request(change(operation(), entries=(entry("Opened."),), occurrence="x", alert=record()))
    link = Link(redis)
    assert link.run("commit", request) == link.run("commit", request) == ["committed", 1, 0]
    assert len(store.timeline.read("op-1")) == len(store.alerts.last()) == 1


def test_a_newer_document_is_neither_read_nor_written_over(store: Store, redis: Redis) -> None:
    mine = committed(store, operation())
    document = json.dumps({"v": 7, "what": "not known here"})
    redis.hset(KEYS["operation"] + "op-1", mapping={"document": document, "schema": 7})
    with pytest.raises(NewerDocumentError, match="version 7"):
        store.operations.load("op-1")
    with pytest.raises(NewerDocumentError, match="op-1 is stored in version 7"):
        store.operations.commit(change(mine, entries=(entry("never"),)))
    assert redis.hget(KEYS["operation"] + "op-1", "document") == document
    assert store.timeline.read("op-1") == ()
    assert store.operations.page() == ([], None)


class TestOccurrences:
    def test_one_seen_before_changes_nothing_and_is_listed_as_a_duplicate(self, store: Store) -> None:
        committed(store, operation("op-1"), occurrence="x", alert=record(operation="op-1"))
        other = change(
            operation("op-2", "gpu-002"),
            occurrence="x",
            alert=record(),
            history=(row(serial="9"),),
            entries=(entry("."),),
        )
        assert store.operations.commit(other) == Duplicate(operation="op-1")
        assert store.operations.load("op-2") is None
        assert store.history.of("9") == []
        assert [told.decision for told in store.alerts.last()] == ["duplicate", "repair"]

    def test_it_comes_before_the_version(self, store: Store) -> None:
        committed(store, operation(), occurrence="x")
        assert store.operations.commit(change(operation(), occurrence="x")) == Duplicate(operation="op-1")

    def test_a_refused_commit_does_not_use_it_up(self, store: Store) -> None:
        committed(store, operation())
        assert store.operations.commit(change(operation(), occurrence="x")) == Conflict(version=1)
        committed(store, replace(operation(), version=1), occurrence="x")

    def test_two_deliveries_at_the_same_moment_count_once(self, store: Store) -> None:
        for round_ in range(20):
            node, names = f"gpu-{round_}", (f"op-{round_}a", f"op-{round_}b")
            results = all_at_once(
                [
                    lambda name=name, node=node: store.operations.commit(  # type: ignore[misc]
                        change(operation(name, node), occurrence=node, alert=record(), history=(row(serial=node),))
                    )
                    for name in names
                ]
            )
            assert sorted(type(result).__name__ for result in results) == ["Committed", "Duplicate"]
            assert len(store.history.of(node)) == 1

    def test_its_memory_ends_two_weeks_after_it_was_last_seen(self, store: Store, redis: Redis) -> None:
        committed(store, operation(), occurrence="x")
        (key,) = redis.scan_iter(KEYS["seen"] + "*")
        redis.expire(key, 60)
        store.operations.commit(change(operation(), occurrence="x"))
        assert redis.ttl(key) == 14 * 86_400


class TestWaitingAlerts:
    def test_a_waiting_alert_leaves_with_the_commit_that_places_it(self, store: Store) -> None:
        waiting = store.pending.put(alert(), "x", record(), now=NOW)
        committed(store, operation(), occurrence="x", pending_id=waiting)
        assert store.pending.since() == []
        assert store.operations.commit(change(operation(), occurrence="x")) == Duplicate(operation="op-1")

    def test_a_refused_commit_leaves_it_waiting(self, store: Store) -> None:
        waiting = store.pending.put(alert(), "x", record(), now=NOW)
        committed(store, operation("op-1"))
        refused = store.operations.commit(change(operation("op-2"), occurrence="x", pending_id=waiting))
        assert refused == Conflict(version=0, open_operation="op-1")
        assert store.pending.count() == 1

    def test_of_two_workers_that_place_it_one_wins(self, store: Store) -> None:
        waiting = store.pending.put(alert(), "x", record(), now=NOW)
        names = ("op-a", "op-b")
        results = all_at_once(
            [
                lambda name=name: store.operations.commit(  # type: ignore[misc]
                    change(operation(name, f"node-{name}"), occurrence="x", pending_id=waiting)
                )
                for name in names
            ]
        )
        assert sorted(type(result).__name__ for result in results) == ["Committed", "Duplicate"]
        assert sum(store.operations.load(name) is not None for name in names) == 1

    def test_one_that_waits_no_longer_is_a_duplicate_even_when_its_occurrence_is_forgotten(self, store: Store) -> None:
        assert store.operations.commit(change(operation(), pending_id="pend-gone")) == Duplicate(operation=None)
        assert store.alerts.last() == []


class TestDue:
    def test_an_open_operation_is_due_when_it_wants_to_be_looked_at(self, store: Store) -> None:
        opened = committed(store, replace(operation(), next_check_at=NOW + MINUTE))
        assert store.operations.due(NOW + MINUTE - timedelta(microseconds=1)) == []
        assert store.operations.due(NOW + MINUTE) == ["op-1"]
        committed(store, replace(opened, next_check_at=NOW))
        assert store.operations.due(NOW) == ["op-1"]

    def test_one_that_names_no_time_is_due_at_once(self, store: Store) -> None:
        committed(store, replace(operation(), next_check_at=None))
        assert store.operations.due(NOW) == ["op-1"]

    def test_a_finished_one_is_never_due(self, store: Store) -> None:
        committed(store, finished(committed(store, operation())))
        assert store.operations.due(NOW + timedelta(days=99)) == []

    def test_of_two_watches_that_ask_at_the_same_moment_one_gets_it(self, store: Store) -> None:
        committed(store, replace(operation(), next_check_at=NOW))
        got = all_at_once([lambda: store.operations.claim_due(NOW, MINUTE)] * 2)
        assert sorted(got) == [[], ["op-1"]]
        assert store.operations.due(NOW) == []
        assert store.operations.claim_due(NOW + MINUTE, MINUTE) == ["op-1"]

    def test_the_longest_due_come_first_and_no_more_than_asked(self, store: Store) -> None:
        for number in (2, 0, 1):
            late = NOW - number * MINUTE
            committed(store, replace(operation(f"op-{number}", f"gpu-{number}"), next_check_at=late))
        assert store.operations.due(NOW, limit=2) == ["op-2", "op-1"]
        assert store.operations.claim_due(NOW, MINUTE, limit=2) == ["op-2", "op-1"]
        assert store.operations.due(NOW) == ["op-0"]


class TestPages:
    @pytest.fixture
    def several(self, store: Store) -> Store:
        """op-0 to op-6, opened in that order, two of them in the same microsecond; the even ones are finished."""
        for number in range(7):
            at = NOW + MINUTE * (4 if number == 5 else number)
            opened = committed(store, operation(f"op-{number}", f"gpu-{number}", at=at))
            if number % 2 == 0:
                committed(store, finished(opened))
        return store

    @pytest.mark.parametrize(
        ("asked", "names"),
        [
            ({}, "6 5 4 3 2 1 0"),
            ({"states": {State.FINISHED}}, "6 4 2 0"),
            ({"states": {State.RUNNING, State.HELD}}, "5 3 1"),
            ({"states": set()}, ""),
            ({"kind": "repair", "node": "gpu-3"}, "3"),
            ({"kind": "retire"}, ""),
        ],
    )
    def test_the_last_opened_come_first(self, several: Store, asked: dict[str, object], names: str) -> None:
        found, cursor = several.operations.page(**asked)  # type: ignore[arg-type]
        assert [operation.id.removeprefix("op-") for operation in found] == names.split()
        assert cursor is None

    @pytest.mark.parametrize("chunk", [1, 2, 100])
    @pytest.mark.parametrize("limit", [1, 2, 3, 7])
    def test_pages_follow_one_another_without_gap_or_repetition(
        self, several: Store, monkeypatch: pytest.MonkeyPatch, limit: int, chunk: int
    ) -> None:
        monkeypatch.setattr(operations, "_CHUNK", chunk)
        found: list[str] = []
        cursor: str | None = None
        while True:
            page, cursor = several.operations.page(limit=limit, cursor=cursor)
            found += [operation.id for operation in page]
            if cursor is None:
                break
        assert found == [f"op-{number}" for number in (6, 5, 4, 3, 2, 1, 0)]

    @pytest.mark.parametrize("cursor", ["", "7", "-", "seven-op-1", "7-", "²-x"])
    def test_a_cursor_of_somebody_else_is_refused(self, store: Store, cursor: str) -> None:
        with pytest.raises(ValueError, match="is no cursor"):
            store.operations.page(cursor=cursor)

    def test_one_that_cannot_be_read_does_not_hide_the_others(self, several: Store, redis: Redis) -> None:
        redis.hset(KEYS["operation"] + "op-3", "document", "{")
        redis.delete(KEYS["operation"] + "op-4")
        assert [operation.id for operation in several.operations.page()[0]] == ["op-6", "op-5", "op-2", "op-1", "op-0"]
