from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from app.domain.budgets import Budget, Limit
from app.store import CommitResult, Committed, NoPlace, Store, connect
from simulator.valkey import EmbeddedValkey
from tests.store.things import MINUTE, NOW, all_at_once, change, committed, entry, finished, limits, node, operation

POOLS = {"gpu-001": "train", "gpu-002": "train", "gpu-003": "infer", "gpu-004": "infer"}
RACKS = {"gpu-001": "r7", "gpu-002": "r7", "gpu-003": "r8", "gpu-004": "r8", "cpu-001": "r7"}
MAX_AGE = 5 * MINUTE


def write_inventory(
    store: Store,
    *out: str,
    not_ready: tuple[str, ...] = (),
    ours: tuple[str, ...] = (),
    at: datetime = NOW,
) -> None:
    nodes = [
        node(
            name,
            unschedulable=name in out,
            ready=name not in not_ready,
            labels={"topology.kubernetes.io/rack": rack, "nvidia.com/cuda.driver-version.full": "590.48.01"},
        )
        for name, rack in RACKS.items()
    ]
    store.inventory.write(nodes, POOLS, {}, ours, at=at)


def used(store: Store, named: dict[str, int], *, max_age: timedelta | None = None) -> list[frozenset[str]]:
    return [budget.users for budget in store.operations.budgets(limits(named, max_age), NOW)]


def no_place(budget: str, most: int, *users: str) -> NoPlace:
    """That budget is full of the places of these nodes."""
    return NoPlace(Budget(limit=limits({budget: most})[0], users=frozenset(users), holders=frozenset(users)))


@pytest.mark.parametrize(
    ("places", "scarce"),
    [
        ({"cordons": 3}, "cordons"),
        ({"disruptions": 3}, "disruptions"),
        ({"disruptions": 9, "disruptions of pool train": 3}, "disruptions of pool train"),
        ({"disruptions": 3, "disruptions of pool train": 9}, "disruptions"),
        ({"disruptions": 9, "disruptions of rack r7": 3}, "disruptions of rack r7"),
        ({"disruptions": 9, "disruptions of driver 590.48.01": 3}, "disruptions of driver 590.48.01"),
        ({"places with the vendor": 3}, "places with the vendor"),
    ],
)
def test_ten_workers_that_race_for_three_places_get_exactly_three(
    store: Store, server: EmbeddedValkey, places: dict[str, int], scarce: str
) -> None:
    """Each worker on a connection of its own."""
    opened = [committed(store, operation(f"op-{number}", f"gpu-{number}")) for number in range(10)]
    clients = [connect(server.url) for _ in opened]
    workers = [Store(client) for client in clients]
    results = all_at_once(
        [
            lambda worker=worker, one=one: worker.operations.commit(  # type: ignore[misc]
                change(one, places=places, entries=(entry("acts"),))
            )
            for worker, one in zip(workers, opened, strict=True)
        ]
    )
    for client in clients:
        client.close()
    winners = {one.node.name for one in opened if store.timeline.read(one.id)}
    assert results.count(Committed(version=2, fence=0)) == len(winners) == 3
    refused = [result for result in results if isinstance(result, NoPlace)]
    assert refused == [no_place(scarce, 3, *winners)] * 7
    assert store.operations.reservations() == dict.fromkeys(places, winners)


def test_a_node_that_waits_for_a_vendor_gives_its_disruptions_back_and_counts_with_the_vendor(store: Store) -> None:
    disrupted = {"cordons": 9, "disruptions": 1, "disruptions of pool train": 1}
    mine = committed(store, operation("op-1", "gpu-001"), places=disrupted)
    other = committed(store, operation("op-2", "gpu-002"), places={"cordons": 9})
    gives_back = ("cordons", "disruptions")
    mine = committed(store, mine, places={"places with the vendor": 1}, gives_back=gives_back)
    assert store.operations.reservations() == {
        "cordons": {"gpu-002"},
        "places with the vendor": {"gpu-001"},
    }
    other = committed(store, other, places=disrupted)
    full = store.operations.commit(change(other, places={"places with the vendor": 1}, gives_back=gives_back))
    assert full == no_place("places with the vendor", 1, "gpu-001")
    assert store.operations.reservations()["disruptions"] == {"gpu-002"}
    committed(store, mine, gives_back=("disruptions",))  # what one does not hold one cannot give back of others
    assert store.operations.reservations()["disruptions"] == {"gpu-002"}


def test_a_full_budget_says_so_in_the_guards_words(store: Store) -> None:
    committed(store, operation("op-1", "gpu-001"), places={"disruptions": 1})
    full = store.operations.commit(change(operation("op-2", "gpu-002"), places={"disruptions": 1}))
    assert isinstance(full, NoPlace)
    assert full.budget.full_for("gpu-002") == "1 of 1 disruptions are in use (gpu-001)."
    assert store.operations.budgets(limits({"disruptions": 1}), NOW) == (full.budget,)


def test_a_place_is_kept_until_the_operation_is_finished_and_then_given_back(store: Store) -> None:
    mine = committed(store, operation("op-1", "gpu-001"), places={"cordons": 9, "disruptions": 1})
    mine = committed(store, mine)
    assert store.operations.reservations() == {"cordons": {"gpu-001"}, "disruptions": {"gpu-001"}}
    committed(store, finished(mine))
    assert store.operations.reservations() == {}
    committed(store, operation("op-2", "gpu-002"), places={"disruptions": 1})


def test_asking_again_for_a_place_one_has_is_granted(store: Store) -> None:
    mine = committed(store, operation(), places={"disruptions": 1})
    committed(store, mine, places={"disruptions": 1})


def test_whoever_holds_a_place_keeps_it_when_others_fill_the_budget(store: Store) -> None:
    """Else full houses would hold each other for ever, each waiting for the others' places."""
    write_inventory(store)
    two = limits({"disruptions": 2}, MAX_AGE)
    mine = committed(store, operation("op-1", "gpu-001"), places=two)
    write_inventory(store, "gpu-002", "gpu-003")
    (budget,) = store.operations.budgets(two, NOW)
    assert budget.full_for("gpu-001") is None
    assert budget.full_for("gpu-004")
    committed(store, mine, places=two)


def test_without_a_place_in_the_last_budget_none_is_taken_in_the_first(store: Store) -> None:
    committed(store, operation("op-1", "gpu-001"), places={"disruptions of pool train": 1})
    asked = change(operation("op-2", "gpu-002"), places={"disruptions": 5, "disruptions of pool train": 1})
    assert store.operations.commit(asked) == no_place("disruptions of pool train", 1, "gpu-001")
    assert store.operations.reservations() == {"disruptions of pool train": {"gpu-001"}}


def test_a_limit_of_nought_gives_no_place(store: Store) -> None:
    assert store.operations.commit(change(operation(), places={"disruptions": 0})) == no_place("disruptions", 0)


@pytest.mark.parametrize(
    ("budget", "users"),
    [
        ("disruptions", {"gpu-002", "gpu-003", "gpu-004"}),
        ("disruptions of pool train", {"gpu-002"}),
        ("disruptions of pool infer", {"gpu-003", "gpu-004"}),
        ("disruptions of rack r7", {"gpu-002"}),
        ("disruptions of rack r8", {"gpu-003", "gpu-004"}),
        ("disruptions of rack r", set()),
        ("disruptions of driver 590.48.01", {"gpu-002", "gpu-003", "gpu-004"}),
        ("cordons", set()),
    ],
)
def test_nodes_that_are_out_by_other_hands_use_up_disruptions_and_not_cordons(
    store: Store, budget: str, users: set[str]
) -> None:
    """Cordoned: gpu-001 by us, gpu-002 by a person. NotReady: gpu-003, and gpu-004, which is ours. cpu-001: no pool."""
    write_inventory(
        store,
        "gpu-001",
        "gpu-002",
        "cpu-001",
        not_ready=("gpu-003", "gpu-004", "cpu-001"),
        ours=("gpu-001", "gpu-004"),
    )
    one = limits({budget: 1}, MAX_AGE)
    assert used(store, {budget: 1}, max_age=MAX_AGE) == [users]
    result = store.operations.commit(change(operation("op-1", "gpu-009"), places=one))
    assert isinstance(result, NoPlace) is bool(users)
    assert used(store, {budget: 1}) == [set() if users else {"gpu-009"}]


def test_a_node_with_a_vendor_is_out_and_uses_no_disruption_up(store: Store) -> None:
    committed(store, operation("op-1", "gpu-001"), places={"places with the vendor": 1})
    write_inventory(store, "gpu-001", not_ready=("gpu-001",), ours=("gpu-001",))
    assert used(store, {"disruptions": 1}, max_age=MAX_AGE) == [set()]
    committed(store, operation("op-2", "gpu-002"), places=limits({"disruptions": 1}, MAX_AGE))


def test_a_node_that_is_out_does_not_stand_in_its_own_way(store: Store) -> None:
    write_inventory(store, "gpu-001")
    committed(store, operation("op-1", "gpu-001"), places=limits({"disruptions": 1}, MAX_AGE))


def test_a_node_with_a_place_that_is_also_out_counts_once(store: Store) -> None:
    write_inventory(store)
    two = limits({"disruptions": 2}, MAX_AGE)
    committed(store, operation("op-1", "gpu-001"), places=two)
    write_inventory(store, not_ready=("gpu-001",))
    assert used(store, {"disruptions": 2}, max_age=MAX_AGE) == [{"gpu-001"}]
    committed(store, operation("op-2", "gpu-002"), places=two)


def test_a_node_that_came_back_frees_the_budget_with_the_next_inventory(store: Store) -> None:
    write_inventory(store, "gpu-002", "gpu-003")
    write_inventory(store)
    assert used(store, {"disruptions": 1}, max_age=MAX_AGE) == [set()]


class TestAnOldInventory:
    ONE = limits({"disruptions": 9}, MAX_AGE)

    @pytest.mark.parametrize("age", [None, MAX_AGE + timedelta(microseconds=1)])
    def test_gives_no_place_since_nobody_knows_how_many_are_out(self, store: Store, age: timedelta | None) -> None:
        if age is not None:
            write_inventory(store, at=NOW - age)
        refused = store.operations.commit(change(operation(), places=self.ONE))
        assert isinstance(refused, NoPlace)
        assert refused.budget.full_for("gpu-001") is None
        assert refused.budget.doubted_for("gpu-001", NOW)

    def test_is_good_enough_up_to_the_limit_of_its_age_and_for_who_holds_a_place(self, store: Store) -> None:
        write_inventory(store, at=NOW - MAX_AGE)
        mine = committed(store, operation(), places=self.ONE)
        committed(store, mine, places=self.ONE, now=NOW + 10 * MINUTE)

    def test_keeps_nobody_from_cordoning_or_giving_back(self, store: Store) -> None:
        mine = committed(store, operation(), places={"cordons": 1})
        committed(store, finished(mine))


class TestARate:
    THREE = (Limit(budget="cordon rate", most=3, within=10 * MINUTE),)

    def cordon(self, store: Store, number: int, at: datetime) -> CommitResult:
        one = committed(store, operation(f"op-{number}", f"gpu-{number}"))
        return store.operations.commit(change(one, places=self.THREE, now=at))

    def test_ten_workers_that_race_begin_no_more_than_it_allows(self, store: Store, server: EmbeddedValkey) -> None:
        opened = [committed(store, operation(f"op-{number}", f"gpu-{number}")) for number in range(10)]
        clients = [connect(server.url) for _ in opened]
        results = all_at_once(
            [
                lambda client=client, one=one: Store(client).operations.commit(change(one, places=self.THREE))  # type: ignore[misc]
                for client, one in zip(clients, opened, strict=True)
            ]
        )
        for client in clients:
            client.close()
        assert results.count(Committed(version=2, fence=0)) == 3
        assert sum(isinstance(result, NoPlace) for result in results) == 7

    def test_it_names_when_the_next_may_be_and_lets_it_pass_then(self, store: Store) -> None:
        for minute in range(3):
            assert isinstance(self.cordon(store, minute, NOW + minute * MINUTE), Committed)
        refused = self.cordon(store, 3, NOW + 3 * MINUTE)
        assert refused == NoPlace(Budget(limit=self.THREE[0], made=3, next_at=NOW + 10 * MINUTE))
        assert isinstance(self.cordon(store, 4, NOW + 10 * MINUTE), Committed)
        assert isinstance(self.cordon(store, 5, NOW + 10 * MINUTE), NoPlace)

    def test_the_end_of_an_operation_makes_no_room(self, store: Store) -> None:
        for number in range(3):
            one = committed(store, operation(f"op-{number}", f"gpu-{number}"), places=self.THREE)
            committed(store, finished(one))
        assert isinstance(self.cordon(store, 3, NOW + MINUTE), NoPlace)

    def test_an_operation_counts_once_however_often_it_asks(self, store: Store) -> None:
        one = committed(store, operation())
        for minute in range(5):
            one = committed(store, one, places=self.THREE, now=NOW + minute * MINUTE)
        (rate,) = store.survey.of(one, self.THREE, NOW + 4 * MINUTE).budgets
        assert rate.made == 1
        assert rate.holders == {"gpu-001"}
        assert store.operations.budgets(self.THREE, NOW + 10 * MINUTE)[0].made == 0


def last_disruption(store: Store, node: str, *, besides: str) -> datetime | None:
    return store.survey.of(operation(besides, node), (), NOW).last_disruption


class TestLastDisruption:
    def test_it_is_the_other_operations_last_disruptive_commit(self, store: Store) -> None:
        mine = committed(store, operation(), disrupted=True)
        committed(store, mine, disrupted=True, now=NOW + MINUTE)
        assert last_disruption(store, "gpu-001", besides="op-2") == NOW + MINUTE
        assert last_disruption(store, "gpu-001", besides="op-1") is None
        assert last_disruption(store, "gpu-002", besides="op-2") is None

    def test_it_ends_with_its_operation(self, store: Store) -> None:
        mine = committed(store, operation(), disrupted=True)
        committed(store, finished(mine), now=NOW + timedelta(hours=1))
        assert last_disruption(store, "gpu-001", besides="op-2") == NOW + timedelta(hours=1)

    def test_an_operation_that_disrupted_nothing_leaves_no_trace(self, store: Store) -> None:
        committed(store, finished(committed(store, operation())))
        assert last_disruption(store, "gpu-001", besides="op-2") is None

    def test_the_latest_of_several_others_counts(self, store: Store) -> None:
        for number in range(3):
            at = NOW + number * MINUTE
            mine = committed(store, operation(f"op-{number}"), disrupted=True, now=at)
            committed(store, finished(mine), now=at)
        assert last_disruption(store, "gpu-001", besides="op-2") == NOW + MINUTE
        assert last_disruption(store, "gpu-001", besides="op-9") == NOW + 2 * MINUTE
