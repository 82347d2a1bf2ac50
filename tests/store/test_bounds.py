"""Nothing grows without end: what is counted is trimmed, what is not is given a time to go."""

from __future__ import annotations

from datetime import timedelta

import pytest
from redis import Redis

from app.domain.breaker import Breaker, Opened
from app.store import FellIll, Store, keys
from app.store.keys import BOUNDS, DAY_S, KEYS
from tests.store.things import MINUTE, NOW, change, committed, entry, finished, join, measure, operation, record, row


@pytest.fixture
def store(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store whose lists end early; its scripts are made with these bounds."""
    for name in ("finished", "timeline", "alerts", "history", "disruptions", "baselines", "cards", "ill"):
        monkeypatch.setitem(keys.BOUNDS, name, 3)
    return Store(redis)


def finish_some(store: Store, count: int) -> None:
    for number in range(count):
        at = NOW + number * MINUTE
        opened = committed(store, operation(f"op-{number}", at=at), entries=(entry("Opened."),), now=at, disrupted=True)
        committed(store, finished(opened, at=at), now=at)


def test_the_longest_finished_operations_go_with_their_timelines(store: Store, redis: Redis) -> None:
    finish_some(store, 5)
    assert [operation.id for operation in store.operations.page()[0]] == ["op-4", "op-3", "op-2"]
    for family in ("operation", "timeline"):
        assert sorted(redis.scan_iter(KEYS[family] + "*")) == [f"{KEYS[family]}op-{number}" for number in (2, 3, 4)]


def test_open_operations_are_never_trimmed(store: Store) -> None:
    for number in range(5):
        committed(store, operation(f"open-{number}", f"gpu-{number}", at=NOW - timedelta(days=400)))
    finish_some(store, 5)
    assert len(store.operations.page()[0]) == 5 + 3


def test_a_finished_operation_goes_after_ninety_days(store: Store, redis: Redis) -> None:
    finish_some(store, 1)
    assert redis.ttl(KEYS["operation"] + "op-0") == redis.ttl(KEYS["timeline"] + "op-0") == 90 * DAY_S
    later = NOW + timedelta(days=90)
    committed(store, finished(committed(store, operation("op-9"), now=later), at=later), now=later)
    assert [operation.id for operation in store.operations.page()[0]] == ["op-9"]


def test_an_open_operation_never_expires_even_if_it_was_finished_before(store: Store, redis: Redis) -> None:
    over = committed(store, finished(committed(store, operation(), entries=(entry("Opened."),))))
    committed(store, operation(), expected_version=over.version)
    assert redis.ttl(KEYS["operation"] + "op-1") == redis.ttl(KEYS["timeline"] + "op-1") == -1
    assert redis.zcard(KEYS["finished"]) == 0


def test_a_timeline_keeps_its_last_entries(store: Store) -> None:
    committed(store, operation(), entries=tuple(entry(str(number)) for number in range(5)))
    assert [told.text for told in store.timeline.read("op-1")] == ["2", "3", "4"]


def test_lists_of_alerts_rows_and_disruptions_keep_their_last_members(store: Store, redis: Redis) -> None:
    for number in range(5):
        at = NOW + number * MINUTE
        store.alerts.note(record(name=str(number)), str(number), (row(at, serial="1"),), now=NOW)
    finish_some(store, 5)
    assert [told.name for told in store.alerts.last()] == ["4", "3", "2"]
    assert [told.at for told in store.history.of("1")] == [NOW + number * MINUTE for number in (4, 3, 2)]
    assert redis.zrange(KEYS["disruptions"] + "gpu-001", 0, -1) == ["op-2", "op-3", "op-4"]


def test_the_list_of_cards_keeps_the_latest(store: Store, redis: Redis) -> None:
    for number in range(5):
        store.alerts.note(record(), f"x{number}", (row(NOW + number * MINUTE, serial=str(number)),), now=NOW)
    assert store.history.cards() == ["4", "3", "2"]


def test_what_fell_ill_is_trimmed_and_forgotten_after_a_day(store: Store, redis: Redis) -> None:
    for number in range(5):
        ill = FellIll(Opened(node=f"gpu-{number}", at=NOW), Breaker())
        committed(store, operation(f"op-{number}", f"gpu-{number}"), ill=ill, now=NOW + number * MINUTE)
    assert [one.node for one in store.breaker.opened()] == ["gpu-2", "gpu-3", "gpu-4"]
    assert redis.ttl(KEYS["ill"]) == DAY_S


def test_a_joined_history_is_trimmed_too(store: Store) -> None:
    for number in range(3):
        at = NOW + number * MINUTE
        store.alerts.note(record(), f"s{number}", (row(at, serial="1"),), now=NOW)
        store.alerts.note(record(), f"u{number}", (row(at, uuid="GPU-a"),), now=NOW)
    join(store, "GPU-a", "1")
    assert len(store.history.of("1")) == 3


def test_baselines_keep_the_keys_last_measured(store: Store) -> None:
    for number in range(5):
        measure(store, f"key {number}", "gpu-001", 480.0, NOW + number * MINUTE)
    assert [known.key for known in store.baselines.all()] == ["key 2", "key 3", "key 4"]
    measure(store, "key 9", "gpu-001", 480.0, NOW + timedelta(days=181))
    assert [known.key for known in store.baselines.all()] == ["key 9"]


@pytest.mark.parametrize(
    ("family", "days"),
    [
        ("seen", 14),
        ("history", 730),
        ("alias", 730),
        ("dies", 730),
        ("disruptions", 90),
        ("heartbeats", 1),
        ("baseline", 180),
    ],
)
def test_what_is_not_written_again_expires(store: Store, redis: Redis, family: str, days: int) -> None:
    both = row(serial="1", uuid="GPU-a")
    store.operations.commit(change(operation(), occurrence="x", history=(both,), disrupted=True))
    store.heartbeats.beat("worker", "a", NOW)
    measure(store, "key", "gpu-001", 480.0, NOW)
    (key,) = redis.scan_iter(KEYS[family] + "*")
    assert redis.ttl(key) == days * DAY_S


def test_every_bound_is_a_positive_number() -> None:
    assert all(bound > 0 for bound in BOUNDS.values())
