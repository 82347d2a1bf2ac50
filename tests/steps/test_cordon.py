from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.effects import PatchNode
from app.domain.facts import NodeView, Write
from app.domain.idleness import NOT_IDLE
from app.domain.marks import ANNOTATION, read_mark, release_patch
from app.domain.operations import Operation
from app.domain.outcomes import Act, Done, NeedsHuman, Outcome, Wait
from app.domain.policies import When
from app.domain.uncordons import UPGRADE_STATE
from tests.building import a_node, a_pod, a_policy, an_operation, at, cordoned, patched, remembering, rungs
from tests.fakes import FakeCluster
from workers.steps.cordon import FOREIGN_CORDON, Cordon, Site


def judged(node: NodeView, operation: Operation | None = None) -> Act | Outcome:
    return Cordon().judge(operation or an_operation(), Site(node), a_policy(), at(1))


def acted(node: NodeView, operation: Operation | None = None) -> NodeView:
    """The node after the one patch that the judgement asks for."""
    act = judged(node, operation)
    assert isinstance(act, Act)
    (patch,) = act.effects
    assert isinstance(patch, PatchNode)
    assert (patch.uid, patch.resource_version) == (node.uid, node.resource_version)
    return patched(node, dict(patch.body))


@pytest.mark.parametrize(
    "node",
    [
        a_node(),
        a_node(unschedulable=True),
        cordoned(operation="op-0"),
        replace(cordoned(), unschedulable=False),
    ],
)
def test_a_node_that_is_not_held_by_this_operation_is_cordoned_in_one_patch(node: NodeView) -> None:
    after = acted(node)
    mark = read_mark(after)
    assert after.unschedulable
    assert mark is not None
    assert mark.operation == "op-1"


def test_a_cordon_that_is_seen_is_done() -> None:
    assert judged(cordoned()) == Done("Cordoned gpu-a01, 1 min after the operation opened.")


def test_a_persons_cordon_is_asked_about_before_anything_is_evicted() -> None:
    node = acted(a_node(unschedulable=True))
    told = judged(node)
    assert isinstance(told, NeedsHuman)
    assert told.asks == FOREIGN_CORDON
    assert told.reason == (
        "gpu-a01 was cordoned by somebody before Sickbay: nothing is evicted before a person approves."
    )


def test_after_approval_it_goes_on_and_the_node_is_handed_back_to_whoever_cordoned_it() -> None:
    node = acted(a_node(unschedulable=True))
    assert isinstance(judged(node, an_operation(approvals=(FOREIGN_CORDON,))), Done)
    mark = read_mark(node)
    assert mark is not None
    assert patched(node, release_patch(node, mark)) == a_node(unschedulable=True)


def test_a_worker_that_died_right_after_the_patch_does_not_take_its_own_cordon_for_a_persons() -> None:
    node = acted(a_node())
    assert isinstance(judged(node), Done)
    other = acted(node, an_operation(id="op-2"))
    mark = read_mark(other)
    assert mark is not None
    assert not mark.was_unschedulable


def test_an_annotation_that_cannot_be_read_is_neither_overwritten_nor_guessed_at() -> None:
    told = judged(a_node(annotations={ANNOTATION: '{"v": 9}'}, unschedulable=True))
    assert isinstance(told, NeedsHuman)
    assert "cannot be read" in told.reason
    assert told.asks == ""


def test_the_program_that_cordoned_is_named_as_far_as_it_is_known() -> None:
    theirs = a_node(unschedulable=True, writes=(Write(by="kubectl-cordon", at=at(-5), unschedulable=True),))
    told = judged(replace(acted(theirs), writes=theirs.writes))
    assert isinstance(told, NeedsHuman)
    assert "was cordoned by somebody with kubectl-cordon before Sickbay" in told.reason


def test_a_driver_upgrade_that_had_cordoned_the_node_is_waited_for_and_then_a_person_is_asked() -> None:
    labels = {**a_node().labels, UPGRADE_STATE: "pod-restart-required"}
    node = acted(a_node(unschedulable=True, labels=labels))
    told = judged(node)
    assert isinstance(told, Wait)
    assert told.reason == (
        "gpu-a01 was cordoned before Sickbay by the GPU Operator (driver upgrade: pod-restart-required): "
        "waits until that is over."
    )
    assert isinstance(judged(node, an_operation(approvals=(FOREIGN_CORDON,))), Done)
    begun = remembering(an_operation())
    assert isinstance(Cordon().judge(begun, Site(node), a_policy(), at(119)), Wait)
    assert isinstance(Cordon().judge(begun, Site(node), a_policy(), at(121)), NeedsHuman)
    over = replace(node, labels={**node.labels, UPGRADE_STATE: "upgrade-failed"})
    assert isinstance(judged(over), NeedsHuman)


def test_a_cordon_that_a_service_took_back_is_ours_alone_when_it_is_done_again() -> None:
    theirs = acted(a_node(unschedulable=True))
    owed = remembering(an_operation(), cordoned_again="yes")
    after = acted(replace(theirs, unschedulable=False), owed)
    assert judged(after, owed) == Done("Cordoned gpu-a01 again.")
    mark = read_mark(after)
    assert mark is not None
    assert patched(after, release_patch(after, mark)) == a_node()


# A repair that waits until the node is idle

WAITED = an_operation(ladder=rungs("reset", when=When.IDLE), at_step="cordon")
BUSY = a_pod(gpus=8)


def looked(operation: Operation, *, pods: int = 1) -> Site:
    cluster = FakeCluster(nodes=1)
    for number in range(pods):
        cluster.add_pod("gpu-a01", f"train-{number}", gpus=1)
    return Cordon().look(operation, a_node(), cluster.ports)


def test_pods_are_read_only_where_the_repair_waits_for_them() -> None:
    assert len(looked(WAITED, pods=2).busy) == 2
    assert looked(an_operation()).busy == ()


def test_work_that_came_since_the_node_was_idle_is_waited_for_and_not_cordoned_away() -> None:
    told = Cordon().judge(WAITED, Site(a_node(), (BUSY,)), a_policy(), at(1))
    assert isinstance(told, Wait)
    assert told.reason == "Waits until gpu-a01 is idle, for 1 d at most: ml/train-0."
    came_meanwhile = Cordon().judge(WAITED, Site(cordoned(), (BUSY,)), a_policy(), at(1))
    assert isinstance(came_meanwhile, Wait)
    assert isinstance(Cordon().judge(WAITED, Site(a_node()), a_policy(), at(1)), Act)
    approved = replace(WAITED, approvals=(NOT_IDLE,))
    assert isinstance(Cordon().judge(approved, Site(a_node(), (BUSY,)), a_policy(), at(1)), Act)
