"""What the engine sees to, whatever the step: acts that do not last, node jobs left behind, what a proof learned."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.domain import people
from app.domain.operations import Operation, State
from app.domain.repeats import MOST
from app.store import Change, Committed, Store
from tests.engine.driving import NODE, Story
from tests.engine.trap import Killed, Trap, trapped_store
from workers.ports import NodeChangedError


def ordered(story: Story, order: str) -> Operation:
    """A person's order, committed as web would."""
    operation = story.operation()
    changed, entries = people.give(operation, order, actor="ann", reason="A try.", now=story.now)
    change = Change(operation=changed, expected_version=operation.version, entries=entries, now=story.now)
    assert isinstance(story.store.operations.commit(change), Committed)
    return story.operation()


def until_step(story: Story, step: str) -> Operation:
    """Advances until a node job of that step runs."""
    for _ in range(200):
        story.worker().advance(f"op-{NODE}")
        operation = story.operation()
        running = [job for job in story.ports.node_jobs.of_operation(operation.id) if not job.ended]
        if any(job.step == step for job in running):
            return operation
        moments = [moment for moment in (operation.next_check_at, story.cluster.next_event()) if moment]
        story.cluster.clock.now = max(min(moments), story.now + timedelta(seconds=1))
    raise AssertionError(f"no {step} ever ran")


def test_an_act_that_somebody_undoes_each_time_is_slowed_down_and_then_brought_before_a_person(store: Store) -> None:
    story = Story(store)
    story.open()
    changed = [NodeChangedError("It has changed.") for _ in range(100)]
    story.cluster.fail_next("patch", *changed)  # type: ignore[arg-type]  # as another controller's writes would
    story.worker().advance(f"op-{NODE}")
    operation = story.operation()
    assert operation.state is State.WAITING
    assert "It was done 2 times and did not last, so it is tried more slowly." in operation.reason
    operation = story.run()
    assert operation.state is State.NEEDS_HUMAN
    assert f"It was done {MOST} times and did not last" in operation.reason
    assert story.cluster.cordons[NODE] == 0


@pytest.mark.parametrize(("order", "following"), [("retry", "diagnose"), ("skip", "benchmark")])
def test_the_node_job_of_a_step_that_a_person_retried_or_skipped_is_ended_before_another_starts(
    store: Store, order: str, following: str
) -> None:
    story = Story(store)
    story.open()
    until_step(story, "diagnose")
    (left,) = [job.name for job in story.ports.node_jobs.of_operation(f"op-{NODE}") if not job.ended]
    ordered(story, order)
    until_step(story, following)
    running = [job.name for job in story.ports.node_jobs.of_operation(f"op-{NODE}") if not job.ended]
    assert left not in running
    assert len(running) == 1
    assert any(text == f"Ends {left} first." for text in story.timeline())
    assert story.run().result == "released"


def test_a_benchmark_whose_outcome_was_not_stored_leaves_no_baseline(store: Store) -> None:
    """Killed right before each call of the store: whatever is there afterwards, the operation accounts for."""
    story = Story(store)
    story.open()
    until_step(story, "benchmark")
    story.cluster.clock.now += timedelta(hours=1)
    for call in range(1, 4):
        trap = Trap(at=call)
        try:
            story.worker(trapped_store(story.store, trap)).advance(f"op-{NODE}")
        except Killed:
            step = story.operation().last("benchmark")
            assert step is not None
            assert bool(store.baselines.all()) == step.over
    story.run()
    assert [one.node for one in store.baselines.all()] == [NODE]
