"""The main story and its bad turns, on the fake cluster: what happens to the node, and what people read."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from app.domain.effects import PatchNode
from app.domain.folding import join
from app.domain.operations import Changed, Operation
from app.domain.people import give
from app.domain.policies import Mode, Rung
from app.store import Change, Committed, Store
from tests.engine.driving import NODE, Story
from tests.engine.policies import story_policy


@pytest.fixture
def story(store: Store) -> Story:
    return Story(store)


def order(story: Story, what: str, reason: str = "looked at it") -> None:
    """A person's order, as the API commits it."""
    operation = story.operation()
    _commit(story, operation, give(operation, what, actor="ana", reason=reason, now=story.now))


def _commit(story: Story, before: Operation, changed: Changed) -> None:
    operation, entries = changed
    change = Change(operation=operation, expected_version=before.version, entries=entries, now=story.now)
    assert isinstance(story.store.operations.commit(change), Committed)


def test_a_sick_node_is_cordoned_drained_rebooted_proven_and_given_back(story: Story) -> None:
    story.cluster.add_pod(NODE, "llama-ft-0", namespace="train", grace=600, ends_after=90)
    story.open()
    operation = story.run()
    assert operation.result == "released"
    assert [(step.step, step.state) for step in operation.plan] == [
        (step, "done") for step in ("cordon", "evidence", "drain", "reboot", "diagnose", "benchmark", "release")
    ]
    text = " ".join(story.timeline())
    for words in ("Cordoned gpu-a01", "1 pod evicted", "a new boot id", "GB/s", "takes work again"):
        assert words in text


def test_the_cordon_comes_before_every_other_act(story: Story) -> None:
    story.cluster.add_pod(NODE, "llama-ft-0")
    story.open()
    story.run()
    assert story.cluster.history[0].verb == "patch"


def test_urgent_work_ends_before_the_first_disruption(story: Story) -> None:
    story.cluster.add_pod(NODE, "llama-ft-0")
    story.open()
    assert story.worker().advance(f"op-{NODE}", only_urgent=True)
    assert story.cluster.cordons == {NODE: 1}
    assert not story.cluster.evictions


def test_a_budget_blocks_the_drain_and_then_frees_it(story: Story) -> None:
    story.cluster.add_pod(NODE, "vllm-chat-0", namespace="serve", labels={"app": "vllm-chat"}, ends_after=5)
    story.cluster.set_budget("serve/vllm-chat", {"app": "vllm-chat"}, allowed=0)
    story.open()
    operation = story.run(until=timedelta(minutes=10))
    assert operation.state == "waiting"
    assert "serve/vllm-chat" in operation.reason
    story.cluster.set_budget("serve/vllm-chat", {"app": "vllm-chat"}, allowed=1)
    assert story.run().result == "released"


def test_a_drain_past_its_deadline_asks_a_person_and_evicts_nothing_by_force(story: Story) -> None:
    pod = story.cluster.add_pod(NODE, "vllm-chat-0", namespace="serve", labels={"app": "vllm-chat"})
    story.cluster.set_budget("serve/vllm-chat", {"app": "vllm-chat"}, allowed=0)
    story.open()
    operation = story.run()
    assert operation.state == "needs-human"
    assert "deadline" in operation.reason
    assert "serve/vllm-chat" in operation.reason
    assert story.cluster.evictions[pod.uid] == 0
    assert not story.cluster.reboots


@pytest.mark.parametrize(
    ("behaviour", "state", "words"),
    [
        ("same-boot", "needs-human", "no new boot id"),
        ("never-ready", "needs-human", ""),
        ("gpu-missing", "needs-human", "7 of 8 GPUs"),
        ("fails", "needs-human", "exit code"),
        ("quick", "finished", ""),
    ],
)
def test_only_a_proven_reboot_counts(story: Story, behaviour: str, state: str, words: str) -> None:
    story.cluster.machine(NODE).reboot = behaviour
    story.open()
    operation = story.run()
    assert operation.state == state, story.timeline()
    assert words in " ".join(story.timeline())
    assert [job.step for job in story.cluster.node_jobs.started].count("reboot") == 1
    node = story.cluster.nodes.get(NODE)
    assert node is not None
    assert node.unschedulable == (state != "finished")


@pytest.mark.parametrize("diagnosis", ["fail", "skip", "hang", "garbage", "vanish"])
def test_a_diagnosis_that_does_not_pass_never_releases(story: Story, diagnosis: str) -> None:
    story.cluster.machine(NODE).diagnosis = diagnosis
    story.open()
    operation = story.run()
    assert operation.state == "needs-human", story.timeline()
    assert not story.cluster.uncordons
    tries = [job for job in story.cluster.node_jobs.started if job.step == "diagnose"]
    assert len(tries) == (1 if diagnosis == "fail" else 2)


@pytest.mark.parametrize("bandwidth", ["slow", "wrong", "hang"])
def test_a_bandwidth_that_does_not_match_never_releases(store: Store, bandwidth: str) -> None:
    story = Story(store, policy=story_policy(Mode.ACT, bandwidth_floor=440.0))
    story.cluster.machine(NODE).bandwidth = bandwidth
    story.open()
    operation = story.run()
    assert operation.state == "needs-human", story.timeline()
    assert not story.cluster.uncordons


def test_a_person_retries_after_mending_and_the_node_comes_back(story: Story) -> None:
    story.cluster.machine(NODE).diagnosis = "garbage"
    story.open()
    assert story.run().state == "needs-human"
    story.cluster.machine(NODE).diagnosis = "pass"
    order(story, "retry")
    assert story.run().result == "released"


def test_a_persons_uncordon_stops_the_operation_and_takes_our_marks_away(story: Story) -> None:
    story.cluster.add_pod(NODE, "llama-ft-0", grace=7200, ends_after=7200)
    story.open()
    story.worker().advance(f"op-{NODE}")
    assert story.cluster.evictions.total() == 1
    story.cluster.change_node(NODE, unschedulable=False)
    operation = story.run()
    assert operation.result == "cancelled"
    assert "uncordoned by a person" in " ".join(story.timeline())
    assert not story.cluster.reboots
    node = story.cluster.nodes.get(NODE)
    assert node is not None
    assert not node.annotations
    assert "sickbay/state" not in node.labels
    story.cluster.clock.advance(minutes=10)
    assert story.store.operations.open_on(NODE) is None


def test_a_node_that_was_cordoned_before_us_is_asked_about_and_stays_cordoned(story: Story) -> None:
    story.cluster.change_node(NODE, unschedulable=True)
    pod = story.cluster.add_pod(NODE, "llama-ft-0", ends_after=5)
    story.open()
    operation = story.run()
    assert (operation.state, operation.asks) == ("needs-human", "foreign-cordon")
    assert not story.cluster.evictions
    order(story, "approve")
    assert story.run().result == "released"
    assert story.cluster.evictions == {pod.uid: 1}
    node = story.cluster.nodes.get(NODE)
    assert node is not None
    assert node.unschedulable
    assert not node.annotations


def test_a_node_that_is_deleted_or_recreated_ends_the_operation(story: Story) -> None:
    story.open()
    story.worker().advance(f"op-{NODE}", only_urgent=True)
    story.cluster.remove_node(NODE)
    assert story.run().result == "overtaken"
    story.cluster.add_node(NODE)
    operation_id = story.open(operation_id="op-second")
    story.cluster.remove_node(NODE)
    story.cluster.add_node(NODE)
    assert story.run(operation_id=operation_id).result == "overtaken"
    assert not story.cluster.reboots


def test_observe_decides_everything_and_touches_nothing(store: Store) -> None:
    story = Story(store, policy=story_policy(Mode.OBSERVE))
    story.cluster.add_pod(NODE, "llama-ft-0")
    before = story.cluster.nodes.all()
    story.open()
    operation = story.run()
    assert operation.state == "held"
    assert "would cordon gpu-a01" in operation.reason
    assert "reboot" in operation.reason
    story.cluster.clock.advance(hours=25)
    assert story.run().result == "noted"
    assert story.cluster.nodes.all() == before
    assert not story.cluster.history


def test_mode_cordon_cordons_and_then_asks(store: Store) -> None:
    story = Story(store, policy=story_policy(Mode.CORDON))
    story.open()
    operation = story.run()
    assert operation.state == "needs-human"
    assert story.cluster.cordons == {NODE: 1}
    order(story, "cancel")
    assert story.run().result == "cancelled"
    node = story.cluster.nodes.get(NODE)
    assert node is not None
    assert not node.unschedulable


def test_mode_approve_asks_before_each_disruption(store: Store) -> None:
    story = Story(store, policy=story_policy(Mode.APPROVE))
    story.cluster.add_pod(NODE, "llama-ft-0", ends_after=5)
    story.open()
    assert story.run().asks == "drain"
    assert not story.cluster.evictions
    order(story, "approve")
    assert story.run().asks == "reboot"
    assert not story.cluster.reboots
    order(story, "approve")
    assert story.run().result == "released"


def test_a_fault_after_the_repair_keeps_the_node(story: Story) -> None:
    story.open()
    while story.operation().current is not None and story.operation().current.step != "diagnose":  # type: ignore[union-attr]
        story.worker().advance(f"op-{NODE}")
        story.cluster.clock.advance(seconds=30)
    operation = story.operation()
    joined = join(operation, story.fault("xid-95"), ladder=(Rung(rung="reboot"),), now=story.now)
    assert joined is not None
    _commit(story, operation, joined)
    after = story.run()
    assert after.state == "needs-human"
    assert "after the repair" in after.reason
    assert not story.cluster.uncordons


def test_pause_starts_nothing_that_hurts_and_resume_goes_on(story: Story) -> None:
    story.store.pause.set("ana", "network maintenance", story.now)
    story.open()
    operation = story.run(until=timedelta(minutes=5))
    assert operation.state == "held"
    assert "network maintenance" in operation.reason
    assert not story.cluster.history
    story.store.standing.lift(story.store.standing.read())
    assert story.run().result == "released"


def test_no_more_nodes_are_disrupted_at_once_than_the_budget_allows(store: Store) -> None:
    story = Story(store, policy=story_policy(Mode.ACT, disruptions=1))
    first, second = story.open(), story.open(node="gpu-a02")
    story.worker().advance(first)
    story.worker().advance(second)
    held = story.operation(second)
    assert held.state == "held"
    assert "1 of 1 disruptions are in use (gpu-a01)" in held.reason
    assert story.cluster.cordons == {"gpu-a01": 1, "gpu-a02": 1}
    assert story.run(operation_id=first).result == "released"
    assert story.run(operation_id=second).result == "released"


def test_an_excluded_node_is_left_alone(story: Story) -> None:
    node = story.cluster.nodes.get(NODE)
    assert node is not None
    story.cluster.change_node(NODE, labels={**node.labels, "sickbay/exclude": "true"})
    story.open()
    operation = story.run(until=timedelta(minutes=5))
    assert operation.state == "held"
    assert "sickbay/exclude" in operation.reason
    assert not story.cluster.history


def test_the_serial_is_learnt_from_the_diagnosis_and_joins_the_history(story: Story) -> None:
    story.open()
    operation = story.run()
    gpu = operation.faults[0].gpu
    assert gpu is not None
    assert gpu.serial == story.cluster.machine(NODE).serials[gpu.index or 0]


def test_a_fault_that_comes_while_the_node_is_given_back_takes_it_out_again(story: Story) -> None:
    """Between the release's intent and its end: the alert is joined in the moment the patch goes out."""
    patch = story.ports.nodes.patch

    class Meanwhile:
        def __getattr__(self, name: str) -> Any:
            return getattr(story.cluster.nodes, name)

        def patch(self, body: PatchNode) -> None:
            patch(body)
            if body.key.endswith("/release") and len(story.operation().faults) == 1:
                known = story.operation()
                fault = story.fault("xid-95")
                joined = join(known, fault, ladder=(Rung(rung="power-cycle"),), now=story.now)
                assert joined is not None
                _commit(story, known, joined)

    story.open()
    engine = story.worker(ports=replace(story.ports, nodes=Meanwhile()))
    operation = story.run(engine)
    assert operation.result == "released", story.timeline()
    assert story.cluster.cordons == {NODE: 2}
    assert len(story.cluster.power.keys) == 1
    assert "Cordons gpu-a01 again" in " ".join(story.timeline())
