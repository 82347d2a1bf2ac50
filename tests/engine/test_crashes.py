"""The crash trap over the whole repair: kill the worker at every mutating call, before and after it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.store import Store
from tests.engine.driving import NODE, Story
from tests.engine.trap import Killed, Trap, trapped_ports, trapped_store


def _lived_through(store: Store, trap: Trap) -> Story:
    """The main story, its first worker in the trap and further workers going on after it."""
    story = Story(store)
    training = story.cluster.add_pod(NODE, "llama-ft-0", namespace="train", grace=600, ends_after=90)
    chat = story.cluster.add_pod(NODE, "vllm-chat-0", namespace="serve", labels={"app": "vllm-chat"}, ends_after=5)
    story.open()
    try:
        story.run(story.worker(trapped_store(story.store, trap), trapped_ports(story.ports, trap)))
    except Killed:
        story.run()
    operation = story.operation()
    assert (operation.state, operation.result) == ("finished", "released"), story.timeline()
    assert story.cluster.cordons == {NODE: 1}
    assert story.cluster.uncordons == {NODE: 1}
    assert story.cluster.reboots == {NODE: 1}
    assert story.cluster.evictions == {training.uid: 1, chat.uid: 1}
    assert [job.step for job in story.cluster.node_jobs.started] == ["reboot", "diagnose", "benchmark"]
    node = story.cluster.nodes.get(NODE)
    assert node is not None
    assert not node.unschedulable
    assert not [key for key in (*node.annotations, *node.labels) if key.startswith("sickbay/")]
    assert story.store.operations.open_on(NODE) is None
    return story


def test_every_mutating_call_can_be_the_last_one(emptied: Callable[[], Store]) -> None:
    """Whenever the worker dies, another one ends the story the same way, and nothing was done twice."""
    counting = Trap()
    _lived_through(emptied(), counting)
    assert counting.calls > 20
    for at in range(1, counting.calls + 1):
        for after in (False, True):
            _lived_through(emptied(), Trap(at=at, after=after))


@pytest.mark.parametrize("first", [1, 7, 15])
def test_a_worker_that_dies_again_and_again_still_ends_well(store: Store, first: int) -> None:
    """Each worker survives only a few calls; the story still moves on to its end."""
    story = Story(store)
    pod = story.cluster.add_pod(NODE, "llama-ft-0", namespace="train", grace=600, ends_after=90)
    story.open()
    for survived in range(first, first + 200):
        trap = Trap(at=survived % 5 + 2, after=survived % 2 == 0)
        try:
            story.run(story.worker(trapped_store(story.store, trap), trapped_ports(story.ports, trap)))
        except Killed:
            continue
        break
    assert story.operation().result == "released"
    assert story.cluster.reboots == {NODE: 1}
    assert story.cluster.evictions == {pod.uid: 1}
