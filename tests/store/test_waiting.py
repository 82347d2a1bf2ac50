"""Who waits for a place is looked at again at once when one is given back, in the commit that gives it back."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.domain.budgets import INVENTORY
from app.domain.operations import Operation, apply, hold
from app.domain.outcomes import Wait
from app.store import Store
from tests.store.things import MINUTE, NOW, committed, finished, limits, node, operation

HOUR = timedelta(hours=1)
SOON = NOW + MINUTE


def holding(store: Store, number: int, *budgets: str) -> Operation:
    one = committed(store, operation(f"op-{number}", f"gpu-{number}"))
    return committed(store, one, places=dict.fromkeys(budgets, 9))


def waiting(store: Store, number: int, budget: str) -> Operation:
    """Held until there is a place in that budget, and not due for an hour."""
    one = committed(store, operation(f"op-{number}", f"gpu-{number}"))
    return held(store, one, budget, minute=number)


def held(store: Store, one: Operation, budget: str, *, minute: int = 0) -> Operation:
    now = NOW - HOUR + minute * MINUTE
    changed, _ = hold(one, "It is full.", now=NOW, after=HOUR, waits_for=budget)
    return committed(store, changed, now=now)


def due(store: Store) -> list[str]:
    return [one for one in store.operations.due(SOON) if one in {"op-11", "op-12", "op-13"}]


@pytest.mark.parametrize("budget", ["cordons", "disruptions", "disruptions of rack r7", "places with the vendor"])
def test_a_place_that_is_given_back_is_told_to_whoever_waits_longest(store: Store, budget: str) -> None:
    one = holding(store, 1, budget)
    for number in (12, 11, 13):
        waiting(store, number, budget)
    assert due(store) == []
    committed(store, finished(one), now=SOON)
    assert due(store) == ["op-11"]


def test_a_node_that_goes_to_its_vendor_gives_its_places_back_and_that_is_told(store: Store) -> None:
    one = holding(store, 1, "cordons", "disruptions", "disruptions of rack r7")
    waiting(store, 11, "cordons")
    waiting(store, 12, "disruptions")
    waiting(store, 13, "disruptions of rack r7")
    committed(store, one, places={"places with the vendor": 1}, gives_back=("cordons", "disruptions"), now=SOON)
    assert sorted(due(store)) == ["op-11", "op-12", "op-13"]


def test_who_waits_for_something_else_sleeps_on(store: Store) -> None:
    one = holding(store, 1, "disruptions")
    waiting(store, 11, "disruptions of rack r7")
    waiting(store, 12, INVENTORY)
    waiting(store, 13, "")
    committed(store, finished(one), now=SOON)
    assert due(store) == []


def test_two_places_that_come_free_at_once_wake_the_second_when_the_first_has_its_own(store: Store) -> None:
    first, second = holding(store, 1, "disruptions"), holding(store, 2, "disruptions")
    lucky = waiting(store, 11, "disruptions")
    waiting(store, 12, "disruptions")
    committed(store, finished(first), now=SOON)
    committed(store, finished(second), now=SOON)
    assert due(store) == ["op-11"]
    begun, _ = apply(lucky, Wait("It drains.", after=HOUR), now=SOON)
    committed(store, begun, places={"disruptions": 9}, now=SOON)
    assert due(store) == ["op-12"]


def test_who_leaves_the_line_without_a_place_wakes_the_next(store: Store) -> None:
    one = holding(store, 1, "disruptions")
    first = waiting(store, 11, "disruptions")
    waiting(store, 12, "disruptions")
    committed(store, finished(one), now=SOON)
    held(store, first, "")
    assert due(store) == ["op-12"]


def test_who_is_held_once_more_keeps_its_turn(store: Store) -> None:
    one = holding(store, 1, "disruptions")
    first = waiting(store, 11, "disruptions")
    waiting(store, 12, "disruptions")
    held(store, first, "disruptions", minute=50)
    committed(store, finished(one), now=SOON)
    assert due(store) == ["op-11"]


def test_an_operation_that_ends_while_it_waits_leaves_nothing_behind(store: Store) -> None:
    first = waiting(store, 11, "disruptions")
    committed(store, finished(first))
    one = holding(store, 1, "disruptions")
    committed(store, finished(one), now=SOON)
    assert due(store) == []


def test_a_node_that_is_back_by_other_hands_is_told_to_who_waits_for_it(store: Store) -> None:
    labels = {"topology.kubernetes.io/rack": "r7"}
    pools = {"gpu-1": "train"}
    store.inventory.write([node("gpu-1", unschedulable=True, labels=labels)], pools, {}, (), at=NOW)
    waiting(store, 11, "disruptions")
    waiting(store, 12, "disruptions of rack r7")
    waiting(store, 13, "disruptions of rack r8")
    store.inventory.write([node("gpu-1", unschedulable=True, labels=labels)], pools, {}, (), at=SOON)
    assert due(store) == []
    store.inventory.write([node("gpu-1", labels=labels)], pools, {}, (), at=SOON)
    assert sorted(due(store)) == ["op-11", "op-12"]


def test_a_new_inventory_is_told_to_all_who_wait_for_one(store: Store) -> None:
    for number in (11, 12):
        waiting(store, number, INVENTORY)
    store.inventory.write([], {}, {}, (), at=SOON)
    assert due(store) == ["op-11", "op-12"]
    assert store.operations.budgets(limits({"disruptions": 1}, MINUTE), SOON)[0].inventory_at == SOON
