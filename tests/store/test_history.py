from __future__ import annotations

from redis import Redis

from app.domain.faults import Gpu
from app.domain.history import HistoryRow
from app.domain.triage import Decision
from app.store import Store
from app.store.keys import KEYS
from tests.store.things import MINUTE, NOW, join, record, row


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
    join(store, "GPU-aa", "0321")
    join(store, "GPU-aa", "0321")
    file(store, later)
    assert store.history.of("0321") == store.history.of("GPU-aa") == [later, under_serial, before]


def test_a_join_before_the_first_row_holds_for_those_to_come(store: Store) -> None:
    join(store, "GPU-aa", "0321")
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


class TestTwoGpusOfOneSerial:
    """A board with two GPUs, or a serial that is none: the UUIDs tell them apart."""

    first = Gpu(serial="9900000000900", uuid="GPU-1", index=3)
    second = Gpu(serial="9900000000900", uuid="GPU-2", index=3)

    def file_both(self, store: Store) -> tuple[HistoryRow, HistoryRow]:
        of_first = row(serial="9900000000900", uuid="GPU-1")
        of_second = row(NOW + MINUTE, serial="9900000000900", uuid="GPU-2")
        file(store, of_first, of_second)
        return of_first, of_second

    def test_each_has_a_history_of_its_own(self, store: Store) -> None:
        of_first, of_second = self.file_both(store)

        for name in ("GPU-1", self.first, Gpu(uuid="GPU-1")):
            assert store.history.of(name) == [of_first]
        for name in ("GPU-2", self.second, Gpu(uuid="GPU-2")):
            assert store.history.of(name) == [of_second]

    def test_the_serial_is_known_as_shared_from_the_second_on(self, store: Store) -> None:
        file(store, row(serial="9900000000900", uuid="GPU-1"))
        assert not store.history.is_shared("9900000000900")

        self.file_both(store)

        assert store.history.is_shared("9900000000900")

    def test_whoever_asks_by_the_serial_sees_both(self, store: Store) -> None:
        of_first, of_second = self.file_both(store)

        assert store.history.of("9900000000900") == [of_second, of_first]
        assert store.history.of("9900000000900", limit=1) == [of_second]

    def test_what_comes_later_by_uuid_alone_stands_there_too(self, store: Store) -> None:
        _, of_second = self.file_both(store)
        later = row(NOW + 2 * MINUTE, uuid="GPU-2")
        file(store, later)

        assert store.history.of(self.second) == [later, of_second]

    def test_rows_that_name_no_uuid_are_held_against_neither(self, store: Store) -> None:
        nobodys = row(NOW - MINUTE, serial="9900000000900")
        file(store, nobodys)
        of_first, of_second = self.file_both(store)

        assert store.history.of(self.first) == [of_first]
        assert store.history.of("9900000000900") == [of_second, of_first, nobodys]

    def test_a_proof_that_finds_the_second_one_parts_them(self, store: Store) -> None:
        file(store, row(uuid="GPU-1"), row(uuid="GPU-2"))
        join(store, "GPU-1", "9900000000900")
        assert store.history.of("9900000000900") == [row(uuid="GPU-1")]

        join(store, "GPU-2", "9900000000900")
        join(store, "GPU-1", "9900000000900")

        assert store.history.of("GPU-1") == [row(uuid="GPU-1")]
        assert store.history.of("GPU-2") == [row(uuid="GPU-2")]

    def test_a_serial_that_hundreds_share_stays_bounded(self, store: Store, redis: Redis) -> None:
        for number in range(100):
            file(store, row(serial="1234567890", uuid=f"GPU-{number}"))

        assert redis.scard(KEYS["dies"] + "1234567890") == 64
        assert len(store.history.of("GPU-99")) == len(store.history.of(Gpu(serial="1234567890", uuid="GPU-99"))) == 1


class TestCards:
    def test_those_that_had_a_fault_are_listed_the_latest_first(self, store: Store) -> None:
        file(store, row(serial="1"), row(NOW + 2 * MINUTE, serial="2"), row(NOW + MINUTE, uuid="GPU-c"))
        assert store.history.cards() == ["2", "GPU-c", "1"]
        assert store.history.cards(2) == ["2", "GPU-c"]
        assert store.history.cards(since=NOW + MINUTE) == ["2", "GPU-c"]

    def test_a_card_is_listed_once_under_its_serial_when_that_is_known(self, store: Store) -> None:
        file(store, row(NOW + MINUTE, uuid="GPU-a"), row(serial="2"))
        join(store, "GPU-a", "1")
        assert store.history.cards() == ["1", "2"]

    def test_an_older_row_that_comes_later_does_not_make_a_card_older(self, store: Store) -> None:
        file(store, row(NOW, serial="1"), row(NOW - MINUTE, serial="1"), row(NOW - MINUTE / 2, serial="2"))
        assert store.history.cards() == ["1", "2"]

    def test_their_rows_come_together(self, store: Store) -> None:
        names = [str(number) for number in range(450)]
        file(store, *(row(serial=name) for name in names), row(NOW - MINUTE, serial="1"))
        found = store.history.rows(store.history.cards(), since=NOW)
        assert found == {name: [row(serial=name)] for name in names}

    def test_a_row_that_a_later_version_wrote_hides_no_other(self, store: Store, redis: Redis) -> None:
        file(store, row(serial="1"))
        redis.zadd(KEYS["history"] + "1", {'{"v":99}': 1})
        assert store.history.of("1") == [row(serial="1")]
