from __future__ import annotations

import pytest

from app.domain.plans import PLANS, repair
from app.domain.plans.planned import OVER, PlannedStep, StepState


def named(plan: tuple[PlannedStep, ...]) -> list[str]:
    return [step.key for step in plan]


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
