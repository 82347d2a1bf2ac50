"""The crash trap over every scene: kill the worker at every mutating call, before and after it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.store import Store
from tests.engine import promises
from tests.engine.chronicle import Chronicle
from tests.engine.driving import NODE, Story
from tests.engine.scenes import DEPLOYED, SCENES, Scene
from tests.engine.trap import Killed, Trap, trapped_ports, trapped_store


def _lived_through(store: Store, scene: Scene, trap: Trap) -> Story:
    """The scene, its first worker in the trap and another one going on after it."""
    story = Story(store)
    told = Chronicle(story, ill={NODE})
    scene.begin(story)
    before = {pod.uid: pod for pod in story.cluster.pods.on_node(NODE)}
    try:
        story.run(told.worker(trap))
    except Killed:
        story.run(told.worker())
    _ended_as_it_must(story, scene)
    promises.keep(told)
    if story.operation().finished:
        promises.keep_when_over(told)
    work = {uid for uid, pod in before.items() if pod.controller_kind != "DaemonSet"}
    assert all(story.cluster.evictions[uid] == (1 if scene.evicts else 0) for uid in work)
    return story


def _ended_as_it_must(story: Story, scene: Scene) -> None:
    operation, cluster = story.operation(), story.cluster
    assert (operation.state, operation.result) == (scene.state, scene.result), story.timeline()
    assert [job.step for job in cluster.node_jobs.started] == list(scene.started)
    assert cluster.cordons == {NODE: scene.cordons}
    assert cluster.reboots[NODE] == scene.reboots
    assert len(cluster.power.keys) == scene.power_cycles
    node = cluster.nodes.get(NODE)
    assert node is not None
    kept = {key: value for key, value in node.labels.items() if key in DEPLOYED}
    assert kept in ({}, DEPLOYED), "an operand that was paused is still paused"
    marks = [key for key in (*node.annotations, *node.labels) if key.startswith("sickbay/")]
    over = operation.finished
    assert (node.unschedulable, bool(marks), cluster.uncordons[NODE]) == (not over, not over, int(over))
    assert story.store.operations.open_on(NODE) == (None if over else operation.id)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", SCENES)
def test_every_mutating_call_can_be_the_last_one(emptied: Callable[[], Store], name: str, thorough: bool) -> None:
    """Whenever the worker dies, another one ends the story the same way, and nothing was done twice.

    A quick run tries every twenty-ninth point of the trap, a thorough one all of them.
    """
    counting = Trap()
    _lived_through(emptied(), SCENES[name], counting)
    assert counting.calls > 20
    points = [(at, after) for at in range(1, counting.calls + 1) for after in (False, True)]
    for at, after in points if thorough else points[::29]:
        _lived_through(emptied(), SCENES[name], Trap(at=at, after=after))


@pytest.mark.parametrize("first", [1, *(pytest.param(first, marks=pytest.mark.thorough) for first in (7, 15))])
def test_a_worker_that_dies_again_and_again_still_ends_well(store: Store, first: int) -> None:
    """Each worker survives only a few calls; the story still moves on to its end."""
    story = Story(store)
    SCENES["reset in use"].begin(story)
    for survived in range(first, first + 300):
        trap = Trap(at=survived % 5 + 2, after=survived % 2 == 0)
        try:
            story.run(story.worker(trapped_store(story.store, trap), trapped_ports(story.ports, trap)))
        except Killed:
            continue
        break
    _ended_as_it_must(story, SCENES["reset in use"])
