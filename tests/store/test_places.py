from __future__ import annotations

from datetime import timedelta

import pytest

from app.domain.guards import Budget
from app.store import Committed, NoPlace, Store, connect
from simulator.valkey import EmbeddedValkey
from tests.store.things import MINUTE, NOW, all_at_once, change, committed, entry, finished, node, operation

POOLS = {"gpu-001": "train", "gpu-002": "train", "gpu-003": "infer", "gpu-004": "infer"}


def write_inventory(store: Store, *out: str, not_ready: tuple[str, ...] = (), ours: tuple[str, ...] = ()) -> None:
    nodes = [node(name, unschedulable=name in out, ready=name not in not_ready) for name in POOLS]
    store.inventory.write(nodes, POOLS, {}, ours, at=NOW)


@pytest.mark.parametrize(
    ("places", "scarce"),
    [
        ({"cordons": 3}, "cordons"),
        ({"disruptions": 3}, "disruptions"),
        ({"disruptions": 9, "disruptions of pool train": 3}, "disruptions of pool train"),
        ({"disruptions": 3, "disruptions of pool train": 9}, "disruptions"),
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
    assert refused == [NoPlace(scarce, 3, frozenset(winners))] * 7
    assert store.operations.reservations() == dict.fromkeys(places, winners)


def test_a_node_that_waits_for_a_vendor_gives_its_disruptions_back_and_counts_with_the_vendor(store: Store) -> None:
    disrupted = {"cordons": 9, "disruptions": 1, "disruptions of pool train": 1}
    mine = committed(store, operation("op-1", "gpu-001"), places=disrupted)
    other = committed(store, operation("op-2", "gpu-002"), places={"cordons": 9})
    mine = committed(store, mine, places={"places with the vendor": 1}, gives_back=("disruptions",))
    assert store.operations.reservations() == {
        "cordons": {"gpu-001", "gpu-002"},
        "places with the vendor": {"gpu-001"},
    }
    other = committed(store, other, places=disrupted)
    full = store.operations.commit(change(other, places={"places with the vendor": 1}, gives_back=("disruptions",)))
    assert full == NoPlace("places with the vendor", 1, frozenset({"gpu-001"}))
    assert store.operations.reservations()["disruptions"] == {"gpu-002"}
    committed(store, mine, gives_back=("disruptions",))  # what one does not hold one cannot give back of others
    assert store.operations.reservations()["disruptions"] == {"gpu-002"}


def test_a_full_budget_says_so_in_the_guards_words(store: Store) -> None:
    committed(store, operation("op-1", "gpu-001"), places={"disruptions": 1})
    full = store.operations.commit(change(operation("op-2", "gpu-002"), places={"disruptions": 1}))
    assert isinstance(full, NoPlace)
    assert full.reason == "1 of 1 disruptions are in use (gpu-001)."
    (budget,) = store.operations.budgets({"disruptions": 1})
    assert budget.full_for("gpu-002") == full.reason


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
    mine = committed(store, operation("op-1", "gpu-001"), places={"disruptions": 2})
    write_inventory(store, "gpu-002", "gpu-003")
    (budget,) = store.operations.budgets({"disruptions": 2})
    assert budget.full_for("gpu-001") is None
    assert budget.full_for("gpu-004")
    committed(store, mine, places={"disruptions": 2})


def test_without_a_place_in_the_last_budget_none_is_taken_in_the_first(store: Store) -> None:
    committed(store, operation("op-1", "gpu-001"), places={"disruptions of pool train": 1})
    asked = change(operation("op-2", "gpu-002"), places={"disruptions": 5, "disruptions of pool train": 1})
    assert store.operations.commit(asked) == NoPlace("disruptions of pool train", 1, frozenset({"gpu-001"}))
    assert store.operations.reservations() == {"disruptions of pool train": {"gpu-001"}}


def test_a_limit_of_nought_gives_no_place(store: Store) -> None:
    assert store.operations.commit(change(operation(), places={"disruptions": 0})) == NoPlace(
        "disruptions", 0, frozenset()
    )


@pytest.mark.parametrize(
    ("budget", "users"),
    [
        ("disruptions", {"gpu-002", "gpu-003"}),
        ("disruptions of pool train", {"gpu-002"}),
        ("disruptions of pool infer", {"gpu-003"}),
        ("cordons", set()),
    ],
)
def test_nodes_that_are_out_by_other_hands_use_up_disruptions_and_not_cordons(
    store: Store, budget: str, users: set[str]
) -> None:
    """gpu-002 is cordoned by a person, gpu-003 NotReady, gpu-004 both of it but ours."""
    write_inventory(store, "gpu-002", "gpu-004", not_ready=("gpu-003", "gpu-004"), ours=("gpu-004",))
    assert store.operations.budgets({budget: 1}) == (Budget(budget, 1, frozenset(users)),)
    result = store.operations.commit(change(operation(), places={budget: 1}))
    assert result == (NoPlace(budget, 1, frozenset(users)) if users else Committed(1, 0))


def test_a_node_that_is_out_does_not_stand_in_its_own_way(store: Store) -> None:
    write_inventory(store, "gpu-001")
    committed(store, operation("op-1", "gpu-001"), places={"disruptions": 1})


def test_a_node_with_a_place_that_is_also_out_counts_once(store: Store) -> None:
    committed(store, operation("op-1", "gpu-001"), places={"disruptions": 2})
    write_inventory(store, not_ready=("gpu-001",))
    assert store.operations.budgets({"disruptions": 2}) == (
        Budget("disruptions", 2, frozenset({"gpu-001"}), frozenset({"gpu-001"})),
    )
    committed(store, operation("op-2", "gpu-002"), places={"disruptions": 2})


def test_a_node_that_came_back_frees_the_budget_with_the_next_inventory(store: Store) -> None:
    write_inventory(store, "gpu-002", "gpu-003")
    write_inventory(store)
    assert store.operations.budgets({"disruptions": 1}) == (Budget("disruptions", 1, frozenset()),)


class TestLastDisruption:
    def test_it_is_the_other_operations_last_disruptive_commit(self, store: Store) -> None:
        mine = committed(store, operation(), disrupted=True)
        committed(store, mine, disrupted=True, now=NOW + MINUTE)
        assert store.operations.last_disruption("gpu-001", besides="op-2") == NOW + MINUTE
        assert store.operations.last_disruption("gpu-001", besides="op-1") is None
        assert store.operations.last_disruption("gpu-002", besides="op-2") is None

    def test_it_ends_with_its_operation(self, store: Store) -> None:
        mine = committed(store, operation(), disrupted=True)
        committed(store, finished(mine), now=NOW + timedelta(hours=1))
        assert store.operations.last_disruption("gpu-001", besides="op-2") == NOW + timedelta(hours=1)

    def test_an_operation_that_disrupted_nothing_leaves_no_trace(self, store: Store) -> None:
        committed(store, finished(committed(store, operation())))
        assert store.operations.last_disruption("gpu-001", besides="op-2") is None

    def test_the_latest_of_several_others_counts(self, store: Store) -> None:
        for number in range(3):
            at = NOW + number * MINUTE
            mine = committed(store, operation(f"op-{number}"), disrupted=True, now=at)
            committed(store, finished(mine), now=at)
        assert store.operations.last_disruption("gpu-001", besides="op-2") == NOW + MINUTE
        assert store.operations.last_disruption("gpu-001", besides="op-9") == NOW + 2 * MINUTE
