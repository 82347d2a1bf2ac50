"""A node is made schedulable again while Sickbay holds it: by a service, or by a person."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from app.domain.facts import Write
from app.domain.uncordons import UPGRADE_STATE
from app.store import Store
from tests.engine import promises
from tests.engine.chronicle import Chronicle
from tests.engine.driving import NODE, Story
from tests.engine.trap import Killed, Trap


def draining(story: Story) -> None:
    """The node is cordoned, and its pod takes ten minutes to leave."""
    story.cluster.add_pod(NODE, "llama-ft-0", grace=600, ends_after=600)
    story.open()
    story.worker().advance(f"op-{NODE}")
    assert story.cluster.cordons[NODE] == 1


def gpu_operator_uncordons(story: Story) -> None:
    """As its upgrade controller does: schedulable first, and the next state after it."""
    story.cluster.clock.advance(seconds=30)
    node = story.cluster.nodes.get(NODE)
    assert node is not None
    labels = {**node.labels, UPGRADE_STATE: "upgrade-done"}
    write = Write(by="gpu-operator", at=story.now, upgrade_state=True)
    story.cluster.change_node(NODE, unschedulable=False, labels=labels, writes=(write,))


def test_the_gpu_operators_uncordon_is_put_right_once_and_told(store: Store) -> None:
    story = Story(store)
    draining(story)
    gpu_operator_uncordons(story)

    story.worker().advance(f"op-{NODE}")

    node = story.cluster.nodes.get(NODE)
    assert node is not None
    assert node.unschedulable
    said = story.timeline()
    assert f"{NODE} was uncordoned by the GPU Operator, not by a person: Sickbay cordons it again." in said
    assert f"Cordoned {NODE} again." in said
    assert story.run().result == "released", story.timeline()
    assert story.cluster.cordons[NODE] == 2


def test_a_service_that_uncordons_once_more_is_a_question_and_no_tug_of_war(store: Store) -> None:
    story = Story(store)
    draining(story)
    for _ in range(2):
        gpu_operator_uncordons(story)
        story.worker().advance(f"op-{NODE}")

    operation = story.operation()
    assert (operation.state, story.cluster.cordons[NODE]) == ("needs-human", 2)
    assert "although Sickbay had cordoned it again" in operation.reason
    story.cluster.change_node(NODE, unschedulable=True)
    assert story.run().result == "released", story.timeline()


def test_a_person_who_uncordons_after_the_service_is_listened_to(store: Store) -> None:
    story = Story(store)
    draining(story)
    gpu_operator_uncordons(story)
    story.worker().advance(f"op-{NODE}")
    story.cluster.clock.advance(minutes=1)
    story.cluster.change_node(NODE, unschedulable=False)

    assert story.run().result == "cancelled", story.timeline()
    assert story.cluster.reboots[NODE] == 0


@pytest.mark.timeout(600)
def test_a_kill_at_any_call_leaves_the_second_cordon_to_be_done_once(emptied: Callable[[], Store]) -> None:
    calls = Trap()
    _lived_through(emptied(), calls)
    assert calls.calls > 3
    for at in range(1, calls.calls + 1):
        for after in (False, True):
            _lived_through(emptied(), Trap(at=at, after=after))


def _lived_through(store: Store, trap: Trap) -> None:
    """The look that notices the uncordon is cut off by the trap; what follows is undisturbed."""
    told = Chronicle(Story(store), ill={NODE})
    draining(told.story)
    gpu_operator_uncordons(told.story)
    with suppress(Killed):
        told.worker(trap).advance(f"op-{NODE}")
    told.live_on()
    promises.keep(told)
    assert told.story.operation().result == "released", told.story.timeline()
    assert told.story.cluster.cordons[NODE] == 2
