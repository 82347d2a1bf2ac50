from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from app.errors import StoreUnavailable
from app.store import ClaimRequest, Store, connect
from app.store.keys import KEYS
from simulator import valkey
from tests.store.things import MINUTE, NOW, alert, change, committed, entry, limits, node, operation, record, row


@pytest.fixture
def own_server() -> Iterator[valkey.EmbeddedValkey]:
    with valkey.start(appendonly=True) as running:
        yield running


def fill(store: Store) -> None:
    mine = committed(store, operation(), entries=(entry("Opened."),), occurrence="x", history=(row(serial="1"),))
    claim = ClaimRequest(owner="worker-a", until=NOW + MINUTE)
    committed(store, mine, claim=claim, places={"disruptions": 3}, disrupted=True)
    store.pending.put(alert(), "y", record(), now=NOW)
    store.inventory.write([node("gpu-001")], {}, {}, (), at=NOW)
    store.pause.set("ana", "power work", NOW)


def remembered(store: Store) -> list[object]:
    asked: list[object] = [store.operations.load("op-1"), store.operations.claim_on("op-1")]
    asked += [store.operations.open_on("gpu-001"), store.operations.due(NOW + timedelta(hours=1))]
    asked += [store.operations.reservations(), store.survey.of(operation("op-9"), limits({"disruptions": 3}), NOW)]
    asked += [store.timeline.read("op-1"), store.history.of("1"), store.pending.since(), store.pause.get()]
    return [*asked, store.inventory.read()]


@pytest.mark.sigkill
def test_everything_committed_outlives_a_killed_server(own_server: valkey.EmbeddedValkey) -> None:
    with connect(own_server.url) as client:
        store = Store(client)
        fill(store)
        before = remembered(store)
        own_server.kill()
        own_server.restart()
        assert remembered(store) == before
        assert not store.alerts.note(record(), "x", now=NOW)
        committed(store, operation("op-2", "gpu-002"))


@pytest.mark.sigkill
def test_commits_made_while_the_server_is_killed_are_stored_once_or_not_at_all(
    own_server: valkey.EmbeddedValkey,
) -> None:
    """Each says a number in the timeline; those whose answer came are there, none twice, in their order."""
    with connect(own_server.url) as client:
        store = Store(client)
        mine = committed(store, operation())
        said: list[str] = []
        stop = threading.Event()

        def go_on() -> None:
            nonlocal mine
            while not stop.is_set():
                text = str(mine.version)
                mine = committed(store, mine, entries=(entry(text),))
                said.append(text)

        writer = threading.Thread(target=go_on)
        writer.start()
        for _ in range(2):
            until = len(said) + 50
            while len(said) < until:
                assert writer.is_alive()
            own_server.kill()
            own_server.restart()
        stop.set()
        writer.join()
        assert [told.text for told in store.timeline.read("op-1")] == said[-500:]


ASKED: list[Callable[[Store], object]] = [
    lambda store: store.ping(),
    lambda store: store.operations.load("op-1"),
    lambda store: store.operations.commit(change(operation())),
    lambda store: store.operations.page(),
    lambda store: store.operations.budgets(limits({"disruptions": 3}), NOW),
    lambda store: store.alerts.note(record(), "x", now=NOW),
    lambda store: store.pending.put(alert(), "x", record(), now=NOW),
    lambda store: store.inventory.write([], {}, {}, (), at=NOW),
    lambda store: store.inventory.read(),
]


def test_an_absent_server_is_reported_as_such_whatever_was_asked() -> None:
    client = Redis(port=1, decode_responses=True, retry=Retry(NoBackoff(), 0))
    for ask in ASKED:
        with pytest.raises(StoreUnavailable, match="The store did not answer as asked: ConnectionError"):
            ask(Store(client))
    client.close()


def test_a_server_that_is_out_of_memory_stores_nothing_of_a_change(store: Store, redis: Redis) -> None:
    mine = committed(store, operation(), entries=(entry("Opened."),))
    redis.config_set("maxmemory", 1)
    try:
        with pytest.raises(StoreUnavailable, match="OutOfMemoryError"):
            store.operations.commit(change(mine, entries=(entry("never"),), occurrence="x"))
        assert store.operations.load("op-1") == mine
    finally:
        redis.config_set("maxmemory", 0)
    assert store.timeline.read("op-1") == (entry("Opened."),)
    assert store.alerts.note(record(), "x", now=NOW)


def test_a_script_that_begins_with_what_needs_no_memory_is_refused_whole_too(store: Store, redis: Redis) -> None:
    """A duplicate is first prolonged, which a full server would still do, and then listed, which it would not."""
    store.alerts.note(record(), "x", now=NOW)
    (key,) = redis.scan_iter(KEYS["seen"] + "*")
    redis.expire(key, 60)
    redis.config_set("maxmemory", 1)
    try:
        with pytest.raises(StoreUnavailable, match="OutOfMemoryError"):
            store.alerts.note(record(), "x", now=NOW)
    finally:
        redis.config_set("maxmemory", 0)
    assert redis.ttl(key) <= 60


def test_a_read_only_replica_is_reported_as_unavailable(store: Store, redis: Redis) -> None:
    redis.replicaof("127.0.0.1", "1")
    try:
        with pytest.raises(StoreUnavailable):
            store.operations.commit(change(operation()))
    finally:
        redis.replicaof("NO", "ONE")


def test_scripts_that_the_server_has_forgotten_are_sent_again(store: Store, redis: Redis) -> None:
    mine = committed(store, operation())
    redis.script_flush()
    committed(store, mine)
