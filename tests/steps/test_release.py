from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from app.domain.effects import PatchNode, RemoveNodeJob
from app.domain.facts import NodeJobView, NodeView
from app.domain.folding import join
from app.domain.marks import ANNOTATION, cordon_patch, noted
from app.domain.operations import Operation, Result, begin, give_back
from app.domain.outcomes import Act, Done, Failed, NeedsHuman, Outcome, Wait
from tests.building import (
    a_fault,
    a_gpu,
    a_job,
    a_node,
    a_policy,
    an_operation,
    at,
    cordoned,
    patched,
    remembering,
    rungs,
)
from workers.steps.release import Held, Release

PROVEN = an_operation(at_step="release")
RUNNING = a_job("op-1-4-diagnose-1")
LATER = a_fault("xid-74", gpu=a_gpu(1, None, "GPU-0101"), at=at(20))


def with_later_fault(operation: Operation) -> Operation:
    joined = join(operation, LATER, ladder=rungs("reboot"), now=at(20))
    assert joined is not None
    return joined[0]


def ordered(operation: Operation = PROVEN) -> Operation:
    given, _ = give_back(operation, Result.CANCELLED, actor="ann", reason="Enough.", now=at(21))
    return given


def judged(
    node: NodeView, *running: NodeJobView, operation: Operation = PROVEN, now: datetime | None = None
) -> Act | Outcome:
    return Release().judge(operation, Held(node, running), a_policy(), now or at(30))


def test_a_proven_node_is_given_back_as_it_was_in_one_patch() -> None:
    told = judged(cordoned())
    assert isinstance(told, Act)
    (patch,) = told.effects
    assert isinstance(patch, PatchNode)
    assert (patch.uid, patch.resource_version) == ("uid-1", "7")
    assert patched(cordoned(), dict(patch.body)) == a_node()
    assert told.reason == "Gives gpu-a01 back."


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (a_node(), "Released: gpu-a01 takes work again after 30 min."),
        (
            a_node(unschedulable=True),
            "Handed back after 30 min; gpu-a01 stays cordoned, as somebody else wants it.",
        ),
        (
            cordoned(operation="op-2"),
            "Handed back after 30 min; gpu-a01 stays cordoned, as somebody else wants it.",
        ),
        (
            patched(cordoned(), {"metadata": {"annotations": {ANNOTATION: None}}}),
            "Handed back after 30 min; gpu-a01 stays cordoned, as somebody else wants it.",
        ),
    ],
)
def test_a_node_without_our_mark_is_given_back_already(node: NodeView, reason: str) -> None:
    assert judged(node) == Done(reason)


def test_a_node_whose_cordon_was_tried_and_never_written_is_not_said_to_take_work_again() -> None:
    told = judged(a_node(), operation=ordered(remembering(an_operation())))
    assert told == Done("Handed back after 30 min; gpu-a01 was never cordoned and takes work as before.")


def test_what_still_runs_for_us_is_ended_first_and_once() -> None:
    told = judged(cordoned(), RUNNING)
    assert told == Act(
        (RemoveNodeJob(key="op-1-4-diagnose-1/remove", name="op-1-4-diagnose-1"),),
        "Ends op-1-4-diagnose-1 first.",
        {"told": "op-1-4-diagnose-1"},
    )
    waiting = remembering(PROVEN, told="op-1-4-diagnose-1")
    assert isinstance(judged(cordoned(), RUNNING, operation=waiting, now=at(1)), Wait)
    another = a_job("op-1-5-benchmark-1")
    assert isinstance(judged(cordoned(), RUNNING, another, operation=waiting, now=at(1)), Act)


def test_a_node_job_that_never_ends_is_brought_before_a_person() -> None:
    waiting = remembering(PROVEN, told="op-1-4-diagnose-1")
    told = judged(cordoned(), RUNNING, operation=waiting, now=at(10))
    assert isinstance(told, NeedsHuman)
    assert told.reason == ("op-1-4-diagnose-1 was told to end and still runs on the node. Delete it, then retry.")


def test_what_runs_for_us_is_ended_also_when_somebody_took_our_mark() -> None:
    told = judged(a_node(unschedulable=True), RUNNING, operation=ordered())
    assert isinstance(told, Act)


@pytest.mark.parametrize("back", [LATER, a_fault(at=at(20))])
def test_a_fault_after_the_repair_keeps_the_node(back: object) -> None:
    joined = join(PROVEN, back, ladder=rungs("reboot"), now=at(20))  # type: ignore[arg-type]  # the table's column
    assert joined is not None
    told = judged(cordoned(), operation=joined[0])
    assert isinstance(told, Failed)
    assert told.reason.startswith("gpu-a01 stays cordoned: after the repair came xid-")


def test_a_persons_order_releases_also_with_a_fault_after_the_repair() -> None:
    told = judged(cordoned(), operation=ordered(with_later_fault(PROVEN)))
    assert isinstance(told, Act)
    assert isinstance(told.effects[0], PatchNode)


def test_a_node_that_a_person_uncordoned_keeps_its_state_and_loses_our_marks() -> None:
    node = replace(cordoned(), unschedulable=False)
    told = judged(node, operation=ordered())
    assert isinstance(told, Act)
    (patch,) = told.effects
    assert isinstance(patch, PatchNode)
    assert "spec" not in patch.body
    assert patched(node, dict(patch.body)) == a_node()


def test_a_fault_after_the_repair_does_not_hold_a_node_that_is_no_longer_ours() -> None:
    assert isinstance(judged(a_node(unschedulable=True), operation=with_later_fault(PROVEN)), Done)


# An annotation that somebody took away

NOTED = replace(
    PROVEN, plan=(replace(PROVEN.plan[0], memo=noted(cordon_patch(a_node(), "op-1"), a_node())), *PROVEN.plan[1:])
)
TAKEN = patched(cordoned(), {"metadata": {"annotations": {ANNOTATION: None}}, "spec": {"unschedulable": False}})


@pytest.mark.parametrize("operation", [NOTED, ordered(NOTED)])
def test_our_other_marks_go_too_when_somebody_has_taken_the_annotation(operation: Operation) -> None:
    told = judged(TAKEN, operation=operation)
    assert isinstance(told, Act)
    (patch,) = told.effects
    assert isinstance(patch, PatchNode)
    after = patched(TAKEN, dict(patch.body))
    assert after == a_node()
    begun, _ = begin(operation, told, now=at(30))
    assert isinstance(judged(after, operation=begun), Done)


def test_a_value_that_is_set_after_our_patch_is_somebody_elses() -> None:
    patched_before = remembering(NOTED, patched="yes")
    theirs = a_node(annotations={"karpenter.sh/do-not-disrupt": "true"})
    assert isinstance(judged(theirs, operation=patched_before), Done)
    assert isinstance(judged(theirs, operation=NOTED), Act)


def test_marks_of_another_operation_are_its_own_and_without_a_record_nothing_is_guessed() -> None:
    assert isinstance(judged(cordoned(operation="op-2"), operation=NOTED), Done)
    assert isinstance(judged(TAKEN), Done)


# A person's uncordon


def test_a_cordon_that_comes_after_a_persons_uncordon_is_somebody_elses() -> None:
    given, _ = give_back(PROVEN, Result.CANCELLED, actor="sickbay", reason="Uncordoned.", now=at(21), uncordoned=True)
    told = judged(cordoned(), operation=given)
    assert isinstance(told, Act)
    (patch,) = told.effects
    assert isinstance(patch, PatchNode)
    assert patched(cordoned(), dict(patch.body)) == a_node(unschedulable=True)


def test_an_uncordon_that_is_seen_while_node_jobs_end_is_remembered() -> None:
    waiting = remembering(ordered(), told=RUNNING.name)
    told = judged(replace(cordoned(), unschedulable=False), RUNNING, operation=waiting, now=at(1))
    assert isinstance(told, Wait)
    told = judged(cordoned(), operation=remembering(ordered(), **told.memo))
    assert isinstance(told, Act)
    assert isinstance(told.effects[0], PatchNode)
    assert "spec" not in told.effects[0].body


# A boot or a replacement that is under way


def cut_off(step: str, **memo: str) -> Operation:
    asked = {"boot_id": "b-111", "asked_at": at().isoformat(), **memo}
    return ordered(remembering(an_operation(ladder=(step,), at_step=step), **asked))


def rebooting(node: NodeView, job: NodeJobView | None, *, now: datetime | None = None) -> Act | Outcome:
    return Release().judge(cut_off("reboot"), Held(node, (), job), a_policy(), now or at(2))


REBOOT_JOB = a_job("op-1-3-reboot-1", step="reboot")


def test_a_node_is_not_given_back_before_its_reboot_is_over() -> None:
    told = rebooting(cordoned(), REBOOT_JOB)
    assert isinstance(told, Wait)
    assert told.reason == (
        "The reboot of gpu-a01 was asked for and is not over: it is given back after that, or at 10:30 UTC, "
        "since new pods would die with it."
    )
    booted = cordoned(a_node(boot_id="b-222"))
    assert isinstance(rebooting(replace(booted, ready=False), REBOOT_JOB), Wait)
    for node, job, now in ((booted, REBOOT_JOB, at(2)), (cordoned(), REBOOT_JOB, at(30)), (cordoned(), None, at(2))):
        assert isinstance(rebooting(node, job, now=now), Act)


def test_the_node_job_of_a_reboot_under_way_is_not_ended_while_it_is_waited_for() -> None:
    told = Release().judge(cut_off("reboot"), Held(cordoned(), (REBOOT_JOB,), REBOOT_JOB), a_policy(), at(2))
    assert isinstance(told, Wait)


def test_a_node_that_others_cordon_or_that_a_person_has_uncordoned_is_not_waited_for() -> None:
    for node in (replace(cordoned(), unschedulable=False), cordoned(a_node(unschedulable=True))):
        assert isinstance(rebooting(node, REBOOT_JOB), Act)


@pytest.mark.parametrize(("step", "minutes"), [("power-cycle", 30), ("replace", 120)])
def test_a_power_cycle_and_a_replacement_are_waited_for_too(step: str, minutes: int) -> None:
    assert isinstance(judged(cordoned(), operation=cut_off(step), now=at(minutes - 1)), Wait)
    assert isinstance(judged(cordoned(), operation=cut_off(step), now=at(minutes)), Act)
