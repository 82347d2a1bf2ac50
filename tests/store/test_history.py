from __future__ import annotations

from redis import Redis

from app.domain.triage import Decision
from app.store import Store
from app.store.keys import KEYS
from tests.store.things import MINUTE, NOW, record, row


def file(store: Store, *rows: object) -> None:
    """Put rows into the history the way alerts do."""
    for number, one in enumerate(rows):
        count = len(store.alerts.last())
        assert store.alerts.note(record(Decision.NOTE), f"{count}-{number}", (one,), now=NOW)  # type: ignore[arg-type]


def test_rows_of_a_serial_are_given_newest_first(store: Store) -> None:
    rows = [row(NOW + number * MINUTE, serial="0321") for number in range(3)]
    file(store, rows[1], rows[2], rows[0])
    assert store.history.of("0321") == [rows[2], rows[1], rows[0]]
    assert store.history.of("0321", limit=1) == [rows[2]]


def test_a_leading_nought_belongs_to_a_serial(store: Store) -> None:
    file(store, row(serial="0321"))
    assert store.history.of("321") == []


def test_a_joined_card_is_found_under_both_names_with_all_its_rows(store: Store) -> None:
    before, under_serial, later = (
        row(uuid="GPU-aa"),
        row(NOW + MINUTE, serial="0321"),
        row(NOW + 2 * MINUTE, uuid="GPU-aa"),
    )
    file(store, before, under_serial)
    store.history.join("GPU-aa", "0321")
    store.history.join("GPU-aa", "0321")
    file(store, later)
    assert store.history.of("0321") == store.history.of("GPU-aa") == [later, under_serial, before]


def test_a_join_before_the_first_row_holds_for_those_to_come(store: Store) -> None:
    store.history.join("GPU-aa", "0321")
    file(store, row(uuid="GPU-aa"))
    assert store.history.of("0321") == [row(uuid="GPU-aa")]


def test_a_row_that_names_both_joins_the_card_by_itself(store: Store) -> None:
    file(store, row(uuid="GPU-aa"), row(NOW + MINUTE, serial="0321", uuid="GPU-aa"))
    assert len(store.history.of("GPU-aa")) == len(store.history.of("0321")) == 2


def test_strangers_do_not_share_a_history(store: Store) -> None:
    file(store, row(uuid="GPU-aa"), row(uuid="GPU-bb"), row(serial="0321"))
    assert [len(store.history.of(card)) for card in ("GPU-aa", "GPU-bb", "0321", "GPU-cc")] == [1, 1, 1, 0]


def test_a_name_of_any_length_and_spelling_is_a_short_plain_key(store: Store, redis: Redis) -> None:
    odd = "a:b *\r\n" + "9" * 100_000
    file(store, row(serial=odd))
    assert store.history.of(odd) == [row(serial=odd)]
    (key,) = redis.scan_iter(KEYS["history"] + "*")
    assert len(key) == len(KEYS["history"]) + 64
