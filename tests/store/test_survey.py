from __future__ import annotations

from app.domain.breaker import Breaker, Opened
from app.store import FellIll, Store
from tests.store.things import NOW, change, committed, limits, operation


def test_nothing_stands_against_an_operation_in_an_empty_store(store: Store) -> None:
    found = store.survey.of(operation(), (), NOW)
    assert (found.pause, found.tripped, found.budgets, found.last_disruption) == (None, False, (), None)


def test_all_that_stands_against_an_operation_is_seen_at_once(store: Store) -> None:
    asked = limits({"cordons": 9, "disruptions": 1})
    store.pause.set("ana", "power work", NOW)
    committed(store, operation("op-1", "gpu-001"), places=asked, disrupted=True)
    ill = FellIll(Opened(node="gpu-002", at=NOW), Breaker(least=0, share=0.01))
    committed(store, operation("op-2", "gpu-002"), ill=ill)
    found = store.survey.of(operation("op-3", "gpu-001"), asked, NOW)
    assert found.pause == store.pause.get()
    assert found.pause is not None
    assert found.tripped
    assert found.last_disruption == NOW
    assert found.budgets == store.operations.budgets(asked, NOW)
    assert [budget.users for budget in found.budgets] == [{"gpu-001"}] * 2


def test_budgets_are_counted_as_the_commit_counts_them(store: Store) -> None:
    asked = limits({"cordons": 2, "disruptions": 1})
    committed(store, operation("op-1", "gpu-001"), places=asked)
    other = committed(store, operation("op-2", "gpu-002"))
    seen = store.survey.of(other, asked, NOW).budgets
    refused = store.operations.commit(change(other, places=asked))
    assert getattr(refused, "budget", None) == seen[1]
