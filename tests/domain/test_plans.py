from __future__ import annotations

import pytest

from app.domain.plans import PLANS, repair
from app.domain.plans.planned import OVER, PlannedStep, StepState
from tests.building import an_operation, named, remembering


def test_a_repair_drains_first_and_proves_before_it_releases() -> None:
    assert named(PLANS["repair"](("reboot",))) == [
        "cordon",
        "evidence",
        "drain",
        "reboot/reboot",
        "reboot/diagnose",
        "reboot/benchmark",
        "release",
    ]


def test_a_repair_without_a_rung_ends_drained_and_has_no_release() -> None:
    assert named(PLANS["repair"](())) == ["cordon", "evidence", "drain"]


@pytest.mark.parametrize("rung", repair.RUNGS)
def test_every_rung_is_followed_by_the_whole_validation_and_then_by_release(rung: str) -> None:
    steps = [step.step for step in repair.rung_steps(rung, ())]
    drain, proof = ([], repair.LIGHT_VALIDATION) if rung == "restart-plugin" else (["drain"], repair.VALIDATION)
    assert steps == [*drain, *repair.RUNGS[rung], *proof, repair.RELEASE]


def test_no_rung_is_taken_twice_and_a_ladder_ends() -> None:
    plan = PLANS["repair"](("reboot",))
    assert repair.rung_after(("reboot",), plan) is None
    assert repair.rung_after(("reboot", "power-cycle", "replace"), plan) == "power-cycle"
    assert repair.rung_after(("reboot",), PLANS["repair"](())) == "reboot"
    assert repair.rung_after((), plan) is None


@pytest.mark.parametrize("state", list(StepState))
def test_a_step_is_over_when_it_is_done_failed_or_skipped(state: StepState) -> None:
    step = PlannedStep(step="drain", state=state)
    assert step.over is (state in {StepState.DONE, StepState.FAILED, StepState.SKIPPED})
    assert (state in OVER) is step.over


@pytest.mark.parametrize(
    ("state", "attempt", "run"), [(StepState.PENDING, 0, 1), (StepState.RUNNING, 1, 1), (StepState.PENDING, 1, 2)]
)
def test_a_try_has_one_number_before_and_after_it_begins(state: StepState, attempt: int, run: int) -> None:
    assert PlannedStep(step="reboot", state=state, attempt=attempt).run == run


@pytest.mark.parametrize(
    ("rung", "own"),
    [
        ("restart-plugin", ["recovery-check", "restart-plugin"]),
        ("reset", ["pause-operands", "reset", "restore-operands"]),
        ("reboot", ["reboot"]),
        ("power-cycle", ["power-cycle"]),
        ("replace", ["replace", "cordon", "drain"]),
        ("ticket", ["open-ticket", "await-ticket", "inventory"]),
    ],
)
def test_each_rung_has_its_steps(rung: str, own: list[str]) -> None:
    assert [step.step for step in repair.rung_steps(rung, ()) if step.rung == rung][: len(own)] == own


def test_a_plugin_is_restarted_without_a_drain_and_proven_by_what_the_gpus_ask_for() -> None:
    assert named(PLANS["repair"](("restart-plugin", "reset"))) == [
        "cordon",
        "evidence",
        "restart-plugin/recovery-check",
        "restart-plugin/restart-plugin",
        "restart-plugin/recovery-check",
        "release",
    ]


def test_a_rung_that_follows_an_undrained_one_is_drained_first_and_once() -> None:
    before = PLANS["repair"](("restart-plugin", "reset"))
    second = repair.rung_steps("reset", before)
    assert named(second)[:2] == ["drain", "reset/pause-operands"]
    assert named(repair.rung_steps("reboot", before + second))[0] == "reboot/reboot"


def test_a_drain_that_was_skipped_is_done_before_the_next_rung() -> None:
    skipped = PlannedStep(step="drain", state=StepState.SKIPPED)
    assert named(repair.rung_steps("reboot", (skipped,)))[0] == "drain"


@pytest.mark.parametrize("ladder", [("reboot",), ()])
def test_a_wait_until_idle_comes_before_the_cordon(ladder: tuple[str, ...]) -> None:
    wait = PlannedStep(step="await-idle", memo={"deadline_s": "60", "then": "hold"})
    plan = PLANS["repair"](ladder, wait=wait)
    assert plan[0] is wait
    assert plan[1:] == PLANS["repair"](ladder)


def test_what_is_cut_short_is_skipped_but_for_an_undo_that_is_owed() -> None:
    owing = an_operation(ladder=("reset",), at_step="reset").plan
    cut = repair.cut_short(owing)
    assert [step.step for step in cut if not step.over] == ["restore-operands"]
    assert [step.step for step in cut if step.state is StepState.SKIPPED] == [
        "reset",
        "diagnose",
        "benchmark",
        "release",
    ]


@pytest.mark.parametrize("begun", ["drain", "pause-operands", "diagnose"])
def test_nothing_is_owed_before_the_act_and_after_its_undo(begun: str) -> None:
    cut = repair.cut_short(an_operation(ladder=("reset",), at_step=begun).plan)
    assert [step.step for step in cut if not step.over] == []


def test_an_act_that_may_have_been_sent_is_owed_its_undo() -> None:
    sent = remembering(an_operation(ladder=("reset",), at_step="pause-operands"))
    assert [step.step for step in repair.cut_short(sent.plan) if not step.over] == ["restore-operands"]


def test_rungs_are_ordered_from_the_mildest_to_the_gravest_each_once() -> None:
    assert repair.by_gravity(reversed([*repair.RUNGS, "reset", "ticket"])) == tuple(repair.RUNGS)
    assert tuple(repair.RUNGS) == ("restart-plugin", "reset", "reboot", "power-cycle", "replace", "ticket")


def test_a_milder_rung_never_follows_a_graver_one() -> None:
    plan = PLANS["repair"](("reboot",))
    assert repair.rung_after(("restart-plugin", "reset", "reboot"), plan) is None
    assert repair.rung_after(("restart-plugin", "reboot", "ticket"), plan) == "ticket"
