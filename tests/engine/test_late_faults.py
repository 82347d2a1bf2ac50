"""Faults that come while a node is given back by order: nobody who ordered it knew of them."""

from __future__ import annotations

import pytest

from app.domain.triage import Decision
from app.store import Store
from tests.engine import others, promises
from tests.engine.chronicle import OPERATION, Chronicle
from tests.engine.driving import NODE, Story


@pytest.mark.parametrize("order", ["cancel", "release"])
def test_a_new_fault_waits_until_the_node_is_given_back_and_then_opens_its_own_operation(
    store: Store, order: str
) -> None:
    told = Chronicle(Story(store, policy=others.policy()), ill={NODE})
    told.story.cluster.add_pod(NODE, "llama-ft-0", grace=600, ends_after=90)
    told.story.open()
    told.live_on(hops=3)
    assert others.order(told, order)
    assert told.story.operation().state == "running"

    taken = others.send(told, others.GRAVER, gpu=5)
    assert taken.decision is Decision.PENDING
    assert "by order and must end first" in taken.reason
    again = others.send(told, 79, startsAt=told.story.now.isoformat())
    assert again.decision is Decision.REFRESH, "a fault that was known when the order was given is no new one"

    told.live_on()
    promises.keep(told)
    assert told.story.operation().finished
    (first, second) = (told.story.operation(), told.operations()[0])
    assert second.id != OPERATION == first.id
    assert [fault.code for fault in second.faults] == [f"xid-{others.GRAVER}"]
    assert second.result == "released"
