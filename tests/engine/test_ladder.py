"""The whole ladder on the fake cluster: each rung's good and bad ends, and what the next rung makes of them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.domain.marks import DEPLOY_LABELS
from app.domain.policies import Mode, When
from app.errors import TemporaryPortError
from app.store import Store
from tests.engine.driving import NODE, Story
from tests.engine.policies import story_policy

DEPLOYED = dict.fromkeys(DEPLOY_LABELS, "true")


@pytest.fixture
def story(store: Store) -> Story:
    return with_operands(Story(store))


def with_operands(story: Story) -> Story:
    """The node as the GPU Operator labels it."""
    node = story.cluster.nodes.get(NODE)
    assert node is not None
    story.cluster.change_node(NODE, labels={**node.labels, **DEPLOYED})
    return story


def labels(story: Story) -> dict[str, str]:
    node = story.cluster.nodes.get(NODE)
    assert node is not None
    return dict(node.labels)


def states(story: Story) -> list[str]:
    return [f"{step.step} {step.state}" for step in story.operation().plan]


def test_a_reset_that_works_needs_no_reboot(story: Story) -> None:
    story.open("xid-119", ladder=("reset", "reboot"))
    assert story.run().result == "released", story.timeline()
    assert states(story) == [
        f"{step} done"
        for step in (
            *("cordon", "evidence", "drain", "pause-operands", "reset", "restore-operands"),
            *("diagnose", "benchmark", "release"),
        )
    ]
    assert not story.cluster.reboots
    assert {key: labels(story)[key] for key in DEPLOYED} == DEPLOYED


@pytest.mark.parametrize(
    ("reset", "tries", "words"),
    [("no-effect", 1, "no effect"), ("in-use", 2, "in use"), ("impossible", 1, "cannot be reset"), ("hang", 1, "")],
)
def test_a_reset_that_does_not_work_leads_to_the_reboot(story: Story, reset: str, tries: int, words: str) -> None:
    story.cluster.machine(NODE).reset = reset
    story.open("xid-119", ladder=("reset", "reboot"))
    assert story.run().result == "released", story.timeline()
    assert [job.step for job in story.cluster.node_jobs.started].count("reset") == tries
    assert story.cluster.reboots == {NODE: 1}
    assert words in " ".join(story.timeline())
    assert {key: labels(story)[key] for key in DEPLOYED} == DEPLOYED
    order = [step.step for step in story.operation().plan if step.state == "done"]
    assert order.index("restore-operands") < order.index("reboot")


def test_a_gpu_off_the_bus_is_not_reset(story: Story) -> None:
    story.open("xid-79", ladder=("reset", "reboot"))
    assert story.run().result == "released"
    assert "Passes over reset: a GPU that is off the bus cannot be reset." in story.timeline()
    assert "reset" not in [job.step for job in story.cluster.node_jobs.started]


def test_power_is_cycled_when_a_reboot_never_comes_back(story: Story) -> None:
    story.cluster.machine(NODE).reboot = "never-ready"
    story.open(ladder=("reboot", "power-cycle"))
    assert story.run().result == "released", story.timeline()
    assert len(story.cluster.power.keys) == 1


def test_a_plugin_restart_neither_drains_nor_reboots(story: Story) -> None:
    story.cluster.add_pod(
        NODE,
        "plugin-1",
        namespace="gpu-operator",
        controller_kind="DaemonSet",
        labels={"app": "nvidia-device-plugin-daemonset"},
        ends_after=1,
    )
    work = story.cluster.add_pod(NODE, "llama-ft-0", gpus=4)
    story.open("xid-48", ladder=("restart-plugin", "reset"))
    assert story.run().result == "released", story.timeline()
    assert not story.cluster.evictions[work.uid]
    assert not story.cluster.reboots


def test_a_plugin_restart_is_refused_while_a_gpu_asks_for_more_and_the_next_rung_drains_first(story: Story) -> None:
    story.cluster.machine(NODE).recovery = "Reset"
    work = story.cluster.add_pod(NODE, "llama-ft-0", gpus=4, ends_after=5)
    story.open("xid-48", ladder=("restart-plugin", "reset"))
    assert story.run().result == "released", story.timeline()
    assert story.cluster.evictions == {work.uid: 1}
    assert [job.step for job in story.cluster.node_jobs.started].count("reset") == 1


def test_an_idle_rung_evicts_nothing_and_cordons_only_when_the_work_is_over(story: Story) -> None:
    work = story.cluster.add_pod(NODE, "llama-ft-0", gpus=4)
    story.open("xid-63", ladder=("reset",), when=When.IDLE)
    operation = story.run(until=timedelta(hours=2))
    assert operation.state == "waiting"
    assert "idle" in operation.reason
    assert not story.cluster.history
    story.cluster.remove_pod(work.uid)
    assert story.run().result == "released", story.timeline()
    assert not story.cluster.evictions


def test_a_ladder_that_is_used_up_leaves_the_node_cordoned_with_its_operands_running(story: Story) -> None:
    story.cluster.machine(NODE).reset = "no-effect"
    story.cluster.machine(NODE).reboot = "same-boot"
    story.open("xid-119", ladder=("reset", "reboot"))
    operation = story.run()
    assert operation.state == "needs-human"
    assert "No rung of its ladder is left" in operation.reason
    assert {key: labels(story)[key] for key in DEPLOYED} == DEPLOYED
    assert not story.cluster.uncordons


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("rung", ["reset", "reboot", "power-cycle"])
def test_each_mode_stops_where_it_says(store: Store, mode: Mode, rung: str) -> None:
    story = with_operands(Story(store, policy=story_policy(mode)))
    pod = story.cluster.add_pod(NODE, "llama-ft-0", ends_after=5)
    story.open("xid-119", ladder=(rung,))
    operation = story.run(until=timedelta(hours=3))
    acts = (len(story.cluster.history) > 0, story.cluster.cordons[NODE], story.cluster.evictions[pod.uid])
    expected = {
        Mode.OBSERVE: ("held", (False, 0, 0)),
        Mode.CORDON: ("needs-human", (True, 1, 0)),
        Mode.APPROVE: ("needs-human", (True, 1, 0)),
        Mode.ACT: ("finished", (True, 1, 1)),
    }
    assert (operation.state, acts) == expected[mode], story.timeline()
    assert operation.reason.endswith(".")


def test_a_rung_that_did_not_hold_is_not_taken_again_soon(story: Story) -> None:
    first = story.open("xid-119", ladder=("reset", "reboot"))
    assert story.run(operation_id=first).result == "released"
    story.cluster.clock.advance(hours=1)
    second = story.open("xid-119", ladder=("reset", "reboot"), operation_id="op-second")
    assert story.run(operation_id=second).result == "released"
    assert "did not hold" in " ".join(story.timeline(second))
    assert [job.step for job in story.cluster.node_jobs.started].count("reset") == 1
    assert story.cluster.reboots == {NODE: 1}


def test_a_rung_counts_as_tried_also_when_its_first_step_had_nothing_to_do(store: Store) -> None:
    """Without the GPU Operator's labels there is nothing to pause, and the reset is counted all the same."""
    story = Story(store)
    story.open("xid-119", ladder=("reset",))
    assert story.run().result == "released"
    cards = {fault.gpu for fault in story.operation().faults if fault.gpu}
    tried = story.store.attempts.of(NODE, cards, since=story.now - timedelta(days=1))
    assert {attempt.rung for attempt in tried} == {"reset"}


def test_a_power_backend_that_never_answers_ends_at_the_deadline(story: Story) -> None:
    story.cluster.machine(NODE).reboot = "same-boot"
    story.cluster.fail_next("cycle", *(TemporaryPortError("The hook was not answered.") for _ in range(500)))
    story.open(ladder=("power-cycle",))
    operation = story.run()
    assert operation.state == "needs-human", story.timeline()
    assert "could not be asked for" in operation.reason
