"""Many nodes at once: budgets that ten workers race for, and the breaker that stops them all."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from app.cases import NodesSeen
from app.domain.breaker import Breaker
from app.domain.guards import LATER, SOON
from app.domain.operations import Result, State, finish
from app.domain.policies import Budgets, Mode, Policy, Rate
from app.intake import Intake
from app.resuming import resume
from app.store import Change, Store
from tests.building import xids
from tests.engine.driving import Story
from tests.engine.policies import story_policy
from tests.fakes import FakeCluster

NEVER_TRIPS = Breaker(share=1.0, most=1_000, least=1_000)
RACK = "topology.kubernetes.io/rack"
DRIVER = "nvidia.com/cuda.driver-version.full"


def told(story: Story, names: Sequence[str]) -> list[str]:
    """An alert about each of these nodes, taken in as web does; the ids of their operations."""
    intake = Intake(story.store, story.policy, xids())
    seen = NodesSeen(inventory=story.ports.places.inventory(), at=story.now)
    found = []
    for name in names:
        labels = {"alertname": "GpuXid", "err_code": "79", "gpu": "3", "UUID": f"GPU-{name}-3", "Hostname": name}
        starts = story.now.isoformat()
        raw = {"status": "firing", "labels": labels, "annotations": {}, "startsAt": starts, "fingerprint": name}
        taken = intake.take(raw, seen, story.now)
        assert taken.operation, taken.reason
        found.append(taken.operation)
    return found


def house(store: Store, policy: Policy, nodes: int = 10) -> tuple[Story, list[str]]:
    """A story on so many nodes of rack r7, of which the watch has written an inventory."""
    story = Story(store, cluster=FakeCluster(nodes=0), policy=policy)
    names = [f"gpu-a{number:02d}" for number in range(1, nodes + 1)]
    for name in names:
        story.cluster.add_node(name, labels={RACK: "r7", DRIVER: "590.48.01"})
    story.watch()
    return story, names


def advance_all_at_once(story: Story, operations: Sequence[str]) -> None:
    """A worker for each of them, all set off at the same moment."""
    gate = threading.Barrier(len(operations))
    errors: list[Exception] = []

    def work(operation: str) -> None:
        engine = story.worker()
        gate.wait()
        try:
            engine.advance(operation)
        except Exception as error:  # noqa: BLE001 - told below, in the thread of the test
            errors.append(error)

    threads = [threading.Thread(target=work, args=(operation,)) for operation in operations]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


USED = "disruptions are in use ("


@pytest.mark.parametrize(
    ("budgets", "of_pool", "cordoned", "disrupted", "told_of"),
    [
        (Budgets(cordons=3, disruptions=9), None, 3, 3, "3 of 3 cordons are in use ("),
        (Budgets(cordon_rate=Rate(nodes=3)), None, 3, 3, "3 nodes were cordoned within 10 min, and the limit is 3."),
        (Budgets(cordons=20, disruptions=3), None, 10, 3, f"3 of 3 {USED}"),
        (Budgets(cordons=20, disruptions=9), 3, 10, 3, "Pool gpu has 3 of 3 nodes out ("),
        (Budgets(cordons=20, disruptions=2), 9, 10, 2, f"2 of 2 {USED}"),
        (Budgets(disruptions=9, disruptions_per_rack=3), None, 10, 3, "Rack r7 has 3 of 3 nodes out ("),
        (Budgets(disruptions=9, disruptions_per_driver=3), None, 10, 3, "Driver 590.48.01 has 3 of 3 nodes out ("),
    ],
    ids=["cordons", "rate", "disruptions", "of the pool", "the narrower of both", "of the rack", "of the driver"],
)
def test_ten_workers_that_race_never_take_more_than_a_budget_holds(
    store: Store, budgets: Budgets, of_pool: int | None, cordoned: int, disrupted: int, told_of: str
) -> None:
    policy = replace(story_policy(), budgets=budgets, breaker=NEVER_TRIPS)
    policy = replace(policy, pools=(replace(policy.pools[0], disruptions=of_pool),))
    story, names = house(store, policy)
    for name in names:
        story.cluster.add_pod(name, f"train-{name}", grace=600, ends_after=600)
    operations = told(story, names)

    for _ in range(4):
        advance_all_at_once(story, operations)
        assert sum(story.cluster.cordons.values()) == cordoned
        assert len(set(story.cluster.evictions)) == disrupted
        story.cluster.clock.now += SOON

    held = [one for one in map(story.operation, operations) if one.state is State.HELD]
    assert len(held) == len(operations) - disrupted
    assert all(one.reason.startswith(told_of) for one in held)


def due(story: Story, operations: Sequence[str]) -> list[str]:
    """Those of them that the watch would hand to a worker now."""
    return [one for one in story.store.operations.due(story.now, limit=1_000) if one in operations]


def test_a_storm_within_the_rate_is_cordoned_at_once_and_one_beyond_it_when_the_time_has_passed(store: Store) -> None:
    budgets = Budgets(cordons=1_000, cordon_rate=Rate(nodes=200), disruptions=1)
    story, names = house(store, replace(story_policy(Mode.CORDON), budgets=budgets, breaker=NEVER_TRIPS), nodes=205)
    operations = told(story, names)
    engine = story.worker()

    for operation in operations:
        engine.advance(operation)
    assert sum(story.cluster.cordons.values()) == 200
    late = [one for one in map(story.operation, operations) if one.state is State.HELD]
    assert {one.reason.partition(" Cordon")[0] for one in late} == {
        "200 nodes were cordoned within 10 min, and the limit is 200."
    }

    for _ in range(5):
        story.cluster.clock.now += LATER
        for operation in due(story, [one.id for one in late]):
            engine.advance(operation)
    assert sum(story.cluster.cordons.values()) == 205
    assert all(len(story.timeline(one.id)) == len(set(story.timeline(one.id))) for one in late)


def test_a_place_that_is_given_back_is_taken_at_once_by_who_waited_for_it(store: Store) -> None:
    """Not when its hold is looked at again, which may be much later."""
    policy = replace(story_policy(), budgets=Budgets(disruptions=9, disruptions_per_rack=1), breaker=NEVER_TRIPS)
    story, names = house(store, policy, nodes=3)
    first, *others = told(story, names)
    engine = story.worker()
    for operation in (first, *others):
        engine.advance(operation)
    assert story.run(engine, operation_id=first).result == "released"
    for operation in others:
        engine.advance(operation)

    begun = [one for one in map(story.operation, others) if one.state is not State.HELD]
    assert len(begun) == 1
    (waits,) = (one for one in map(story.operation, others) if one.state is State.HELD)
    assert waits.reason == (
        f"Rack r7 has 1 of 1 nodes out ({begun[0].node.name}). Reboot of {waits.node.name} starts when one is free."
    )
    assert due(story, others) == []
    over, _ = finish(begun[0], Result.CANCELLED, "Cancelled.", now=story.now)
    store.operations.commit(Change(operation=over, expected_version=begun[0].version, now=story.now))
    assert due(story, others) == [waits.id]


def test_without_a_fresh_inventory_nothing_more_is_disrupted_and_all_else_goes_on(store: Store) -> None:
    policy = replace(story_policy(), budgets=Budgets(disruptions=9), breaker=NEVER_TRIPS)
    story, names = house(store, policy, nodes=3)
    begun, *others = told(story, names)
    engine = story.worker()
    while not story.cluster.reboots:
        engine.advance(begun)
        story.cluster.clock.now += timedelta(seconds=5)
    seen_at = story.now
    story.watch()

    story.watch_dies()
    story.cluster.clock.now += policy.inventory_max_age + timedelta(seconds=1)
    for operation in others:
        engine.advance(operation)

    held = [story.operation(one) for one in others]
    assert sum(story.cluster.cordons.values()) == 3
    assert {one.reason for one in held} == {
        f"The inventory of the nodes is from {seen_at:%Y-%m-%d %H:%M:%S} UTC, so it is not known how many are out by "
        f"other hands now. Reboot of {one.node.name} starts after the next one."
        for one in held
    }
    assert story.run(engine, operation_id=begun).result == "released"
    assert not due(story, [one.id for one in held if one.next_check_at and one.next_check_at > story.now])

    story.watch()
    assert sorted(due(story, others)) == sorted(others)
    for operation in others:
        assert story.run(engine, operation_id=operation).result == "released"


def test_a_rack_that_fails_is_left_alone_until_a_person_resumes(store: Store) -> None:
    policy = replace(story_policy(), budgets=Budgets(cordons=20, disruptions=3))
    story, names = house(store, policy, nodes=16)
    first = told(story, names[:2])
    advance_all_at_once(story, first)
    story.cluster.clock.now += timedelta(minutes=2)
    operations = first + told(story, names[2:])
    before = len(story.cluster.history)

    for _ in range(3):
        advance_all_at_once(story, operations)
        story.cluster.clock.now += timedelta(minutes=2)

    sentence = "The breaker has tripped: 16 of 16 nodes in rack r7 fell ill within 2 min, and the limit is 3."
    assert sum(story.cluster.cordons.values()) == 2
    assert [call for call in story.cluster.history[before:] if call.verb in {"evict", "patch"}] == []
    assert store.breaker.sentence(policy.breaker) == sentence
    held = [one for one in map(story.operation, operations) if one.state is State.HELD]
    assert {one.reason.removeprefix(sentence).split()[0] for one in held} >= {"Cordon"}
    assert all(one.reason.startswith(sentence) for one in held)
    assert all(story.timeline(one.id).count(one.reason) == 1 for one in held)

    resume(store, policy, store.standing.read(), story.now)
    for operation in operations:
        assert story.run(operation_id=operation).result == "released"
    assert store.breaker.tripped() is None


def test_what_was_disrupted_before_the_trip_is_proven_and_given_back(store: Store) -> None:
    story, names = house(store, story_policy(), nodes=16)
    (early,) = told(story, names[:1])
    engine = story.worker()
    while not story.cluster.reboots:
        engine.advance(early)
        story.cluster.clock.now += timedelta(seconds=5)
    told(story, names[1:])
    assert store.breaker.tripped() is not None

    assert story.run(operation_id=early).result == "released"
    assert store.breaker.tripped() is not None


def test_a_worker_that_was_killed_counts_its_rung_once_and_nothing_is_done_twice(store: Store) -> None:
    """The job was found abandoned minutes later, and once more after all was over."""
    story, names = house(store, story_policy(), nodes=4)
    (operation,) = told(story, names[:1])
    engine = story.worker()
    while not story.cluster.reboots:
        engine.advance(operation)
        story.cluster.clock.now += timedelta(seconds=5)
    story.cluster.clock.now += timedelta(minutes=6)
    finished = story.run(story.worker(), operation_id=operation)

    story.worker().advance(operation)

    since = story.now - timedelta(days=1)
    assert finished.result == "released"
    assert story.operation(operation) == finished
    assert story.cluster.reboots[names[0]] == 1
    assert [one.rung for one in store.attempts.of(names[0], [], since=since)] == ["reboot"]
