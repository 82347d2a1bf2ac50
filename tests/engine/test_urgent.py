"""What a job of the urgent queue does, and what it leaves so that no node waits for the rest of another's work."""

from __future__ import annotations

import pytest

from app.domain.operations import Operation
from app.domain.plans.planned import StepState
from app.store import Store
from tests.engine.driving import NODE, Story
from tests.engine.trap import Killed, Trap, trapped_ports, trapped_store
from workers.engine import Engine


@pytest.fixture
def story(store: Store) -> Story:
    return Story(store)


def urgently(story: Story, engine: Engine | None = None) -> bool:
    return (engine or story.worker()).advance(f"op-{NODE}", only_urgent=True)


def begun(operation: Operation) -> dict[str, StepState]:
    return {step.step: step.state for step in operation.plan if step.attempt}


def test_it_ends_with_the_cordon_and_leaves_the_look_at_it_to_others(story: Story) -> None:
    story.open()
    assert urgently(story)
    assert story.cluster.cordons == {NODE: 1}
    assert begun(story.operation()) == {"cordon": StepState.RUNNING}
    assert story.run().result == "released"
    assert story.cluster.cordons == {NODE: 1}


def test_it_tries_again_at_once_when_the_node_changed_before_the_patch(story: Story) -> None:
    story.open()

    def change() -> None:
        story.cluster.change_node(NODE, gpu_allocatable=7)

    changes = Trap(at=1, springs=change)
    assert urgently(story, story.worker(ports=trapped_ports(story.ports, changes)))
    assert changes.calls == 2
    assert story.cluster.cordons == {NODE: 1}


def test_it_does_nothing_for_a_node_that_is_cordoned_already(story: Story) -> None:
    story.open()
    dies = Trap(at=4, after=True)  # its intent, the patch, what that answered, and that the cordon is there
    with pytest.raises(Killed):
        story.worker(trapped_store(story.store, dies), trapped_ports(story.ports, dies)).advance(f"op-{NODE}")
    before = story.operation()
    assert begun(before) == {"cordon": StepState.DONE}
    assert urgently(story)
    assert story.operation() == before
