from __future__ import annotations

from datetime import timedelta

import pytest
from redis import Redis

from app.domain.triage import Decision
from app.errors import StoreUnavailable
from app.store import Store
from app.store.alerts import delivery
from app.store.connection import Link
from app.store.documents import micros
from app.store.keys import BOUNDS, KEYS
from tests.store.things import MINUTE, NOW, alert, all_at_once, record, row

NOTED = record(Decision.NOTE, reason="Xid 13: class application, which the policy only notes")


class TestNotes:
    def test_a_note_is_listed_with_the_row_of_its_card(self, store: Store) -> None:
        assert store.alerts.note(NOTED, "x", (row(serial="0321"),), now=NOW)
        assert store.alerts.last() == [NOTED]
        assert store.history.of("0321") == [row(serial="0321")]

    def test_a_second_delivery_counts_once_and_is_listed_as_such(self, store: Store) -> None:
        assert store.alerts.note(NOTED, "x", (row(serial="0321"),), now=NOW)
        assert not store.alerts.note(NOTED, "x", (row(NOW + MINUTE, serial="0321"),), now=NOW)
        assert [told.decision for told in store.alerts.last()] == [Decision.DUPLICATE, Decision.NOTE]
        assert len(store.history.of("0321")) == 1

    def test_twenty_pairs_of_deliveries_at_the_same_moment_count_twenty_times(self, store: Store) -> None:
        for number in range(20):
            one = str(number)
            stored = all_at_once(
                [lambda one=one: store.alerts.note(NOTED, one, (row(serial=one),), now=NOW)] * 2  # type: ignore[misc]
            )
            assert sorted(stored) == [False, True]
            assert len(store.history.of(one)) == 1

    def test_what_cannot_be_understood_has_no_occurrence_and_is_listed_each_time(self, store: Store) -> None:
        refused = record(Decision.REFUSE, reason="an alert must have labels, an object of texts")
        assert [store.alerts.note(refused, None, now=NOW) for _ in range(2)] == [True, True]
        assert store.alerts.last() == [refused, refused]

    def test_a_row_of_no_known_card_is_left_out(self, store: Store, redis: Redis) -> None:
        assert store.alerts.note(NOTED, "x", (row(),), now=NOW)
        assert not list(redis.scan_iter(KEYS["history"] + "*"))

    def test_the_same_call_repeated_after_a_lost_answer_is_no_duplicate(self, store: Store, redis: Redis) -> None:
        request = {**delivery(NOTED, "x"), "now": str(micros(NOW))}
        assert Link(redis).run("note", request) == Link(redis).run("note", request) == [1]
        assert store.alerts.last() == [NOTED]

    def test_an_occurrence_of_any_length_and_spelling_has_a_short_key(self, store: Store, redis: Redis) -> None:
        assert store.alerts.note(NOTED, "\u2028:{}*" * 100_000, now=NOW)
        (key,) = redis.scan_iter(KEYS["seen"] + "*")
        assert len(key) == len(KEYS["seen"]) + 64

    def test_the_last_ones_are_given_newest_first(self, store: Store) -> None:
        for number in range(5):
            store.alerts.note(record(Decision.NOTE, name=str(number)), str(number), now=NOW)
        assert [told.name for told in store.alerts.last(3)] == ["4", "3", "2"]


class TestPending:
    def test_an_alert_waits_until_it_is_done_however_often_it_is_taken(self, store: Store) -> None:
        waiting = store.pending.put(alert(), "x", record(Decision.PENDING), now=NOW)
        assert waiting is not None
        assert store.pending.take(waiting) == store.pending.take(waiting) == alert()
        assert store.pending.since() == [(waiting, NOW)]
        assert store.pending.done(waiting)
        assert not store.pending.done(waiting)
        assert store.pending.take(waiting) is None
        assert store.pending.since() == []

    def test_its_occurrence_goes_with_it(self, store: Store) -> None:
        waiting = store.pending.put(alert(), "x|y", record(Decision.PENDING), now=NOW)
        assert waiting is not None
        found = store.pending.waiting(waiting)
        assert found is not None
        assert (found.occurrence, found.since) == ("x|y", NOW)

    def test_a_redelivery_while_it_waits_is_a_duplicate(self, store: Store) -> None:
        store.pending.put(alert(), "x", record(Decision.PENDING), now=NOW)
        assert store.pending.put(alert(), "x", record(Decision.PENDING), now=NOW) is None
        assert not store.alerts.note(NOTED, "x", now=NOW)
        assert store.pending.count() == 1
        assert [told.decision for told in store.alerts.last()] == ["duplicate", "duplicate", "pending"]

    def test_a_note_of_what_became_of_it_takes_it_away(self, store: Store) -> None:
        waiting = store.pending.put(alert(), "x", record(Decision.PENDING), now=NOW)
        assert store.alerts.note(NOTED, "x", (row(serial="1"),), now=NOW, pending_id=waiting)
        assert not store.alerts.note(NOTED, "x", (row(NOW + MINUTE, serial="1"),), now=NOW, pending_id=waiting)
        assert store.pending.since() == []
        assert len(store.history.of("1")) == 1

    def test_the_longest_waiting_come_first(self, store: Store) -> None:
        for number in (2, 0, 1):
            store.pending.put(alert(str(number)), str(number), record(), now=NOW + number * MINUTE)
        assert [store.pending.take(waiting) for waiting, _ in store.pending.since()] == [
            alert("0"),
            alert("1"),
            alert("2"),
        ]

    def test_past_the_bound_it_says_unavailable_so_that_the_sender_comes_again(
        self, store: Store, redis: Redis
    ) -> None:
        redis.hset(KEYS["pending"], mapping={f"pend-{number}": "{}" for number in range(BOUNDS["pending"])})
        with pytest.raises(StoreUnavailable, match="10000 alerts wait"):
            store.pending.put(alert(), "x", record(), now=NOW)
        redis.hdel(KEYS["pending"], "pend-0")
        assert store.pending.put(alert(), "x", record(), now=NOW + timedelta(minutes=1)) is not None

    def test_the_same_call_repeated_after_a_lost_answer_waits_once(self, store: Store, redis: Redis) -> None:
        request = {**delivery(record(), "x"), "id": "pend-1", "document": "{}", "now": str(micros(NOW))}
        assert Link(redis).run("pending_put", request) == Link(redis).run("pending_put", request) == ["put"]
        assert store.pending.count() == 1
