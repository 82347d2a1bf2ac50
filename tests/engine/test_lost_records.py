"""The store is emptied midway: what Sickbay holds comes before a person, and nothing is done twice or let go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from app.domain.marks import STATE_LABEL
from app.store import Store
from tests.engine.driving import NODE, Story
from workers.lost_records import reopen


@pytest.fixture
def lost(emptied: Callable[[], Store]) -> Story:
    """A reboot is under way, and the record of it is gone."""
    story = Story(emptied())
    story.ports = replace(story.ports, notices=story.cluster.notices)
    story.open()
    engine = story.worker()
    while story.cluster.reboots[NODE] == 0:
        engine.advance(f"op-{NODE}")
        story.cluster.clock.advance(seconds=5)
    emptied()
    assert story.store.operations.load(f"op-{NODE}") is None
    return story


def found(story: Story) -> str | None:
    return reopen(NODE, story.store, story.ports.nodes, story.policy, story.now)


def test_a_record_that_was_lost_is_opened_anew_and_waits_for_a_person(lost: Story) -> None:
    assert found(lost) == f"op-{NODE}"

    for _ in range(20):
        lost.worker().advance(f"op-{NODE}")
        lost.cluster.clock.advance(minutes=5)

    operation = lost.operation()
    assert operation.state == "needs-human"
    assert "at step reboot" in operation.reason
    assert lost.timeline() == [operation.reason]
    assert lost.cluster.reboots[NODE] == 1
    node = lost.cluster.nodes.get(NODE)
    assert node is not None
    assert (node.unschedulable, node.labels[STATE_LABEL]) == (True, "needs-human")


@pytest.mark.parametrize(("order", "result"), [("cancel", "cancelled"), ("release", "released")])
def test_a_person_gives_the_node_back_as_it_was(lost: Story, order: str, result: str) -> None:
    assert found(lost)
    lost.order(order)
    assert lost.run().result == result, lost.timeline()
    node = lost.cluster.nodes.get(NODE)
    assert node is not None
    assert not node.unschedulable
    assert [key for key in (*node.annotations, *node.labels) if key.startswith("sickbay/")] == []


def test_it_is_opened_once_however_often_it_is_found(lost: Story) -> None:
    assert found(lost)
    version = lost.operation().version
    assert found(lost) is None
    assert lost.operation().version == version


def test_nodes_without_a_mark_and_nodes_that_are_gone_are_left_alone(lost: Story) -> None:
    assert reopen("gpu-a02", lost.store, lost.ports.nodes, lost.policy, lost.now) is None
    assert reopen("gpu-z99", lost.store, lost.ports.nodes, lost.policy, lost.now) is None


def test_a_mark_of_an_operation_that_is_over_is_not_taken_up_again(lost: Story) -> None:
    marked = lost.cluster.nodes.get(NODE)
    assert marked is not None
    assert found(lost)
    lost.order("cancel")
    assert lost.run().finished
    lost.cluster.change_node(NODE, annotations=marked.annotations, unschedulable=True)
    assert found(lost) is None
