"""What happens to an operation, its node and its time while somebody or something keeps it from going on."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.domain.policies import When
from app.store import Store
from tests.engine.driving import NODE, Story


@pytest.fixture
def story(store: Store) -> Story:
    return Story(store)


def test_a_drain_that_is_paused_for_hours_goes_on_where_it_was(story: Story) -> None:
    first = story.cluster.add_pod(NODE, "llama-ft-0", grace=600, ends_after=600)
    story.open()
    story.worker().advance(f"op-{NODE}")
    assert story.cluster.evictions == {first.uid: 1}
    story.cluster.add_pod(NODE, "llama-ft-1", ends_after=5)  # by a controller that looks at no cordon
    story.store.pause.set("ana", "network maintenance", story.now)
    story.worker().advance(f"op-{NODE}")
    assert story.operation().state == "held"
    story.cluster.clock.advance(hours=9)
    story.worker().advance(f"op-{NODE}")
    assert story.operation().state == "held"
    story.store.standing.lift(story.store.standing.read())
    assert story.run().result == "released", story.timeline()


def test_a_bare_pod_that_is_approved_after_hours_is_evicted_and_not_too_late(story: Story) -> None:
    bare = story.cluster.add_pod(NODE, "notebook", controller_kind="", ends_after=5)
    story.open()
    assert story.run().asks == "bare-pods"
    story.cluster.clock.advance(hours=9)
    story.worker().advance(f"op-{NODE}")
    assert story.operation().asks == "bare-pods"
    story.order("approve")
    assert story.run().result == "released", story.timeline()
    assert story.cluster.evictions == {bare.uid: 1}


def test_a_bare_pod_that_comes_after_the_question_is_not_evicted_by_its_approval(story: Story) -> None:
    bare = story.cluster.add_pod(NODE, "notebook", controller_kind="", ends_after=5)
    story.open()
    assert story.run().asks == "bare-pods"
    later = story.cluster.add_pod(NODE, "debug", controller_kind="", ends_after=5)
    story.order("approve")
    assert story.run().asks == "bare-pods", story.timeline()
    assert (story.cluster.evictions[bare.uid], story.cluster.evictions[later.uid]) == (1, 0)
    assert "default/debug" in story.operation().reason
    story.order("approve")
    assert story.run().result == "released", story.timeline()


def test_work_that_gets_on_a_new_machine_before_its_cordon_is_drained_before_it_is_validated(story: Story) -> None:
    story.cluster.provider.gets_work = ("llama-ft-7",)
    story.open("xid-79", ladder=("replace",))
    operation = story.run()
    assert operation.result == "replaced", story.timeline()
    assert [step.step for step in operation.plan if step.rung == "replace"] == [
        *("replace", "cordon", "drain"),
        *("diagnose", "benchmark"),
    ]
    acts = [(call.verb, call.target) for call in story.cluster.history if call.verb in {"evict", "start"}]
    assert acts[0] == ("evict", "default/llama-ft-7")
    assert len(story.cluster.provider.keys) == 1


def test_what_a_person_allowed_of_the_old_machines_pods_is_asked_anew_for_the_new_one(story: Story) -> None:
    story.cluster.add_pod(NODE, "notebook", controller_kind="", ends_after=5)
    story.open("xid-79", ladder=("replace",))
    assert story.run().asks == "bare-pods"
    story.order("approve")
    story.worker().advance(f"op-{NODE}")
    story.cluster.clock.advance(minutes=1)
    story.worker().advance(f"op-{NODE}")
    story.cluster.clock.advance(minutes=2)
    other = story.cluster.add_pod(NODE, "debug", controller_kind="", ends_after=5)
    assert story.run().asks == "bare-pods", story.timeline()
    assert not story.cluster.evictions[other.uid]


def test_a_pod_that_comes_while_the_cordon_of_an_idle_rung_is_held_is_neither_cordoned_in_nor_evicted(
    story: Story,
) -> None:
    story.store.pause.set("ana", "network maintenance", story.now)
    story.open("xid-63", ladder=("reset",), when=When.IDLE)
    assert story.run().state == "held"
    work = story.cluster.add_pod(NODE, "llama-ft-0", gpus=4)
    story.cluster.clock.advance(hours=3)
    story.store.standing.lift(story.store.standing.read())
    operation = story.run(until=timedelta(minutes=30))
    assert (operation.state, story.cluster.history) == ("waiting", [])
    assert "llama-ft-0" in operation.reason
    story.cluster.remove_pod(work.uid)
    assert story.run().result == "released", story.timeline()
    assert not story.cluster.evictions


@pytest.mark.parametrize("uncordons", [True, False])
def test_a_person_who_takes_our_annotation_away_gets_the_node_without_our_other_marks(
    story: Story,
    uncordons: bool,
) -> None:
    node = story.cluster.nodes.get(NODE)
    assert node is not None
    before = {**node.labels, "nvidia.com/gpu-driver-upgrade.skip": "false"}
    story.cluster.change_node(NODE, labels=before)
    story.cluster.add_pod(NODE, "llama-ft-0", grace=7200, ends_after=7200)
    story.open()
    story.worker().advance(f"op-{NODE}")
    story.cluster.change_node(NODE, annotations={"team": "x"}, unschedulable=not uncordons)
    operation = story.run(until=timedelta(minutes=5))
    if not uncordons:
        assert operation.state == "needs-human"
        story.order("cancel")
        operation = story.run(until=timedelta(minutes=5))
    assert operation.result == "cancelled", story.timeline()
    after = story.cluster.nodes.get(NODE)
    assert after is not None
    assert (after.labels, after.annotations, after.unschedulable) == (before, {"team": "x"}, not uncordons)


def test_a_node_that_lost_a_gpu_before_its_alert_is_not_released_with_fewer_than_it_had(story: Story) -> None:
    story.store.gpu_counts.saw(story.cluster.nodes.all())
    story.cluster.change_node(NODE, gpu_capacity=7, gpu_allocatable=7)
    story.cluster.machine(NODE).reboot = "gpu-missing"
    story.open()
    operation = story.run()
    assert operation.state == "needs-human", story.timeline()
    assert "7 of 8 GPUs are back" in " ".join(story.timeline())
    assert not story.cluster.uncordons


@pytest.mark.parametrize(("order", "rung"), [("cancel", "reboot"), ("release", "reboot"), ("cancel", "power-cycle")])
def test_a_node_whose_boot_was_asked_for_is_given_back_after_it_and_not_before(
    story: Story, order: str, rung: str
) -> None:
    story.open(ladder=(rung,))
    story.worker().advance(f"op-{NODE}")
    step = story.operation().current
    assert step is not None
    assert (step.step, "asked_at" in step.memo) == (rung, True), story.timeline()
    story.order(order)
    story.worker().advance(f"op-{NODE}")
    assert not story.cluster.uncordons
    assert story.operation().reason.startswith(f"The {rung.replace('-', ' ')} of {NODE} was asked for and is not over")
    assert story.run().finished, story.timeline()
    assert story.cluster.machine(NODE).boots == 2
    assert story.cluster.uncordons
