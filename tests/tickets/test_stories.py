"""Tickets in whole stories, on the engine, a real store and a real HTTP server: never two for one cause (P9)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from app.domain.operations import Operation
from app.domain.people import give
from app.store import Change, Committed, Store
from tests.building import a_case
from tests.engine.driving import NODE, Story
from tests.engine.trap import Killed, Trap, trapped_ports, trapped_store
from tests.store.things import all_at_once
from tests.tickets.receiver import Receiver, running
from workers.adapters.tickets import connect

CAUSE = f"test:uuid:GPU-{NODE}-3"
BACK_AFTER = timedelta(hours=2)


@dataclass
class Shop:
    """A story whose pool sends every fault to the vendor at once, who closes each ticket two hours after the start."""

    story: Story
    receiver: Receiver

    @property
    def opened(self) -> dict[str, int]:
        return dict(self.receiver.opened)


def a_shop(
    store: Store, receiver: Receiver, directory: Path, *, swapped: bool = True, back_after: timedelta = BACK_AFTER
) -> Shop:
    story = Story(store)
    settings = receiver.settings(directory)
    story.policy = replace(story.policy, tickets=settings)
    story.ports = replace(story.ports, tickets=connect(settings, "test"))
    story.cluster.machine(NODE).swapped = (3,) if swapped else ()
    start, receiver.clock = story.now, lambda: story.now
    receiver.closed = lambda _key: story.now >= start + back_after
    return Shop(story, receiver)


@pytest.fixture
def shop(store: Store, receiver: Receiver, tmp_path: Path) -> Shop:
    return a_shop(store, receiver, tmp_path)


def until(shop: Shop, state: str, *, node: str = NODE) -> Operation:
    """Runs until the operation of that node is in that state."""
    story, operation_id = shop.story, f"op-{node}"
    engine = story.worker()
    for _ in range(200):
        engine.advance(operation_id)
        operation = story.operation(operation_id)
        if operation.state == state:
            return operation
        moments = [moment for moment in (operation.next_check_at, story.cluster.next_event()) if moment]
        story.cluster.clock.now = max(min(moments), story.now + timedelta(seconds=1))
    raise AssertionError(story.timeline(operation_id))


def states(operation: Operation) -> list[tuple[str, str]]:
    return [(step.step, str(step.state)) for step in operation.plan if step.rung]


def test_a_new_card_is_validated_and_ends_the_operation_as_replaced(shop: Shop) -> None:
    shop.story.open(ladder=("ticket",))
    waiting = until(shop, "with-vendor")
    assert waiting.ticket is not None
    assert (waiting.ticket.system, waiting.ticket.key) == ("webhook", CAUSE)
    assert waiting.next_check_at == shop.story.now + timedelta(minutes=5)
    operation = shop.story.run()
    assert (operation.state, operation.result) == ("finished", "replaced"), shop.story.timeline()
    assert states(operation) == [
        (step, "done") for step in ("open-ticket", "await-ticket", "inventory", "diagnose", "benchmark")
    ]
    assert shop.opened == {CAUSE: 1}
    text = " ".join(shop.story.timeline())
    for words in ("is with the vendor until ticket", "is closed", "has another card in place of GPU 3"):
        assert words in text


def test_the_same_card_is_validated_and_ends_the_operation_as_released(
    store: Store, receiver: Receiver, tmp_path: Path
) -> None:
    shop = a_shop(store, receiver, tmp_path, swapped=False)
    shop.story.open(ladder=("ticket",))
    operation = shop.story.run()
    assert (operation.state, operation.result) == ("finished", "released")
    assert "still has GPU 3" in " ".join(shop.story.timeline())


def test_a_ticket_after_a_failed_repair_says_what_was_tried(shop: Shop) -> None:
    shop.story.cluster.machine(NODE).diagnosis = "fail"
    shop.story.open(ladder=("reboot", "ticket"))
    operation = until(shop, "with-vendor")
    assert operation.ticket is not None
    (event,) = shop.receiver.events
    for words in ("reboot (rung reboot): done", "diagnose (rung reboot): failed", "GPU 3"):
        assert words in event["data"]["body_markdown"]
    assert "serial" in event["data"]["key"]


def test_an_answer_that_is_lost_is_settled_by_looking(shop: Shop) -> None:
    shop.receiver.lost_answers = 1
    shop.story.open(ladder=("ticket",))
    operation = until(shop, "with-vendor")
    assert operation.ticket is not None
    assert shop.opened == {CAUSE: 1}


@pytest.mark.parametrize("lost", [0, 1])
def test_a_search_that_lags_opens_no_second_ticket(shop: Shop, lost: int) -> None:
    case = a_case("duplicate_tickets")
    shop.receiver.lost_answers, shop.receiver.lag = lost, timedelta(seconds=case["search_lag_s"])
    shop.story.open(ladder=("ticket",))
    assert until(shop, "with-vendor").ticket is not None
    assert shop.opened == {CAUSE: 1}


@pytest.mark.parametrize("refusals", [[503], [429, 500], [503, 503]])
def test_a_system_that_refuses_for_a_while_is_asked_again(shop: Shop, refusals: list[int]) -> None:
    shop.receiver.refusals = list(refusals)
    shop.story.open(ladder=("ticket",))
    assert until(shop, "with-vendor").ticket is not None
    assert shop.opened == {CAUSE: 1}


def test_a_system_that_takes_tickets_and_never_shows_them_is_brought_before_a_person(shop: Shop) -> None:
    shop.receiver.lag = timedelta(days=9)
    shop.story.open(ladder=("ticket",))
    operation = until(shop, "needs-human")
    assert "was taken, and is not to be found" in operation.reason
    assert shop.opened == {CAUSE: 1}


def test_sends_without_an_answer_are_bounded_and_then_a_person_is_asked(shop: Shop) -> None:
    shop.receiver.refusals = [500] * 50
    shop.story.open(ladder=("ticket",))
    operation = until(shop, "needs-human")
    assert "was sent 3 times" in operation.reason
    assert shop.opened == {}
    shop.receiver.refusals = []
    given, entries = give(operation, "retry", actor="ana", reason="it is up again", now=shop.story.now)
    change = Change(operation=given, expected_version=operation.version, entries=entries, now=shop.story.now)
    assert isinstance(shop.story.store.operations.commit(change), Committed)
    assert until(shop, "with-vendor").ticket is not None
    assert shop.opened == {CAUSE: 1}


def test_a_rejected_ticket_is_brought_before_a_person_with_the_systems_words(shop: Shop) -> None:
    shop.receiver.refusals = [400]
    shop.story.open(ladder=("ticket",))
    operation = until(shop, "needs-human")
    assert "does not take the ticket (400" in operation.reason


def test_without_a_ticket_system_a_person_is_asked(store: Store) -> None:
    story = Story(store)
    story.open(ladder=("ticket",))
    operation = story.run()
    assert operation.state == "needs-human"
    assert "No ticket system is set up" in operation.reason


# One cause, several operations


def same_card(shop: Shop, node: str) -> str:
    """An operation on another node about the card of the first one: somebody moved it there."""
    story = shop.story
    opened = story.open(node=node, ladder=("ticket",))
    operation = story.operation(opened)
    first = story.fault("xid-79", node=NODE)
    moved = replace(operation, faults=tuple(replace(fault, gpu=first.gpu) for fault in operation.faults))
    committed = story.store.operations.commit(
        Change(operation=moved, expected_version=operation.version, now=story.now)
    )
    assert isinstance(committed, Committed)
    return opened


def test_another_operation_with_the_same_cause_comments_on_the_open_ticket(shop: Shop) -> None:
    shop.story.open(ladder=("ticket",))
    until(shop, "with-vendor")
    same_card(shop, "gpu-a02")
    joined = until(shop, "with-vendor", node="gpu-a02")
    assert joined.ticket == shop.story.operation().ticket
    assert shop.opened == {CAUSE: 1}
    (text,) = shop.receiver.comments[CAUSE]
    assert "operation op-gpu-a02 of Sickbay waits for this ticket too" in text


def test_a_cause_that_comes_again_after_its_ticket_was_closed_gets_the_next_one(shop: Shop) -> None:
    shop.story.open(ladder=("ticket",))
    assert shop.story.run().finished
    same_card(shop, "gpu-a02")
    shop.receiver.closed = lambda key: key == CAUSE
    again = until(shop, "with-vendor", node="gpu-a02")
    assert again.ticket is not None
    assert again.ticket.key == f"{CAUSE}:2"
    assert shop.opened == {CAUSE: 1, f"{CAUSE}:2": 1}


def test_a_store_that_was_lost_finds_the_open_ticket_in_its_system(
    emptied: Callable[[], Store], receiver: Receiver, tmp_path: Path
) -> None:
    first = a_shop(emptied(), receiver, tmp_path)
    first.story.open(ladder=("ticket",))
    until(first, "with-vendor")
    second = a_shop(emptied(), receiver, tmp_path)
    second.story.open(ladder=("ticket",))
    assert until(second, "with-vendor").ticket is not None
    assert second.opened == {CAUSE: 1}


def test_an_operation_waits_while_another_one_may_be_sending(shop: Shop) -> None:
    shop.receiver.refusals = [503]
    shop.story.open(ladder=("ticket",))
    until(shop, "waiting")
    assert shop.receiver.refusals == []
    same_card(shop, "gpu-a02")
    engine = shop.story.worker()
    for _ in range(20):
        engine.advance("op-gpu-a02")
        shop.story.cluster.clock.advance(seconds=10)
    waiting = shop.story.operation("op-gpu-a02")
    assert (waiting.state, waiting.reason) == ("waiting", f"op-{NODE} opens the ticket for GPU 3: waits for it.")
    assert shop.opened == {}
    until(shop, "with-vendor")
    assert until(shop, "with-vendor", node="gpu-a02").ticket == shop.story.operation().ticket
    assert shop.opened == {CAUSE: 1}


def test_what_a_finished_operation_may_have_sent_is_looked_for_before_another_sends(shop: Shop) -> None:
    shop.receiver.lost_answers, shop.receiver.lag = 1, timedelta(seconds=40)
    shop.story.open(ladder=("ticket",))
    same_card(shop, "gpu-a02")
    until(shop, "waiting")
    assert shop.opened == {CAUSE: 1}
    shop.story.cluster.remove_node(NODE)
    assert until(shop, "finished").result == "overtaken"
    joined = until(shop, "with-vendor", node="gpu-a02")
    assert joined.ticket is not None
    assert joined.ticket.key == CAUSE
    assert shop.opened == {CAUSE: 1}


def test_ten_workers_at_once_on_two_operations_of_one_cause_open_one_ticket(shop: Shop) -> None:
    story = shop.story
    story.open(ladder=("ticket",))
    same_card(shop, "gpu-a02")
    for _ in range(40):
        engines = [story.worker() for _ in range(5)]
        all_at_once(
            [lambda engine=engine, name=name: engine.advance(name) for engine in engines for name in _BOTH]  # type: ignore[misc]
        )
        if all(story.operation(name).state == "with-vendor" for name in _BOTH):
            break
        story.cluster.clock.advance(seconds=20)
    assert [story.operation(name).ticket for name in _BOTH] == [story.operation().ticket] * 2, story.timeline()
    assert shop.opened == {CAUSE: 1}


_BOTH = (f"op-{NODE}", "op-gpu-a02")


def test_a_node_that_only_waits_for_a_place_with_the_vendor_stands_in_no_repairs_way(shop: Shop) -> None:
    story = shop.story
    story.policy = replace(story.policy, budgets=replace(story.policy.budgets, disruptions=1, with_vendor=1))
    story.cluster.add_pod("gpu-a02", "llama-ft-0", ends_after=5)
    for node in (NODE, "gpu-a02", "gpu-a03"):
        story.open(ladder=("ticket",) if node != "gpu-a03" else ("reboot",), node=node)
    until(shop, "with-vendor")
    held = until(shop, "held", node="gpu-a02")
    assert held.reason.startswith("1 of 1 places with the vendor are in use")
    places = story.store.operations.reservations()
    assert "gpu-a02" in places["cordons"]
    assert "gpu-a02" not in places.get("disruptions", ())
    assert story.run(operation_id="op-gpu-a03").result == "released", story.timeline("op-gpu-a03")
    story.cluster.clock.advance(hours=2)
    assert story.run().result == "replaced", story.timeline()
    assert story.run(operation_id="op-gpu-a02").finished, story.timeline("op-gpu-a02")


# The crash trap


def _lived_through(store: Store, directory: Path, trap: Trap) -> None:
    with running() as receiver:
        shop = a_shop(store, receiver, directory, back_after=timedelta(minutes=4))
        story = shop.story
        story.open(ladder=("ticket",))
        try:
            story.run(story.worker(trapped_store(story.store, trap), trapped_ports(story.ports, trap)))
        except Killed:
            story.run()
        operation = story.operation()
        assert (operation.state, operation.result) == ("finished", "replaced"), story.timeline()
        assert shop.opened == {CAUSE: 1}
        assert receiver.comments == {}
        assert [job.step for job in story.cluster.node_jobs.started] == ["inventory", "diagnose", "benchmark"]


@pytest.mark.thorough
@pytest.mark.timeout(300)
def test_every_mutating_call_can_be_the_last_one_and_there_is_one_ticket(
    emptied: Callable[[], Store], tmp_path: Path
) -> None:
    counting = Trap()
    _lived_through(emptied(), tmp_path, counting)
    assert counting.calls > 20
    for at in range(1, counting.calls + 1):
        for after in (False, True):
            _lived_through(emptied(), tmp_path, Trap(at=at, after=after))
