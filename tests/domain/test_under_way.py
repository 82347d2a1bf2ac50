from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from app.domain.facts import NodeJobView
from app.domain.plans.planned import PlannedStep, StepState
from app.domain.under_way import cut_off, refusal, told, waits_until
from tests.building import a_job, a_node, an_operation, at

ASKED = {"boot_id": "b-111", "asked_at": at().isoformat()}
JOB = a_job("op-1-3-reboot-1", step="reboot")
WITHIN = timedelta(minutes=30)


def act(step: str = "reboot", **memo: str) -> PlannedStep:
    return PlannedStep(step=step, rung=step, state=StepState.SKIPPED, attempt=1, memo={**ASKED, **memo})


def until(
    step: PlannedStep, job: NodeJobView | None = JOB, *, now: datetime | None = None, **node: Any
) -> datetime | None:
    return waits_until(step, a_node(**node), job, within=WITHIN, now=now or at(1))


def test_only_an_act_that_takes_the_machine_away_and_was_left_out_after_it_was_asked_for_is_cut_off() -> None:
    plan = (act("diagnose"), act("power-cycle"), act(), PlannedStep(step="release"))
    operation = replace(an_operation(), plan=plan)
    assert cut_off(operation) == 2
    for other in (replace(act(), state=StepState.FAILED), replace(act(), memo={})):
        assert cut_off(replace(operation, plan=(plan[0], other))) is None


@pytest.mark.parametrize("step", ["reboot", "power-cycle", "replace"])
def test_what_was_asked_for_is_waited_for_until_its_deadline(step: str) -> None:
    assert until(act(step)) == at(30)
    assert until(act(step), now=at(30)) is None


def test_without_the_time_of_its_request_nothing_is_waited_for() -> None:
    assert until(replace(act(), memo={})) is None


@pytest.mark.parametrize("step", ["reboot", "power-cycle"])
def test_a_boot_is_over_when_the_node_is_ready_with_a_new_boot_id(step: str) -> None:
    assert until(act(step), boot_id="b-222") is None
    assert until(act(step), boot_id="b-222", ready=False) == at(30)
    assert until(act(step), boot_id="") == at(30)


def test_a_replacement_is_not_over_by_a_boot() -> None:
    assert until(act("replace"), boot_id="b-222") == at(30)


def test_a_reboot_that_was_never_sent_or_was_refused_is_not_waited_for() -> None:
    assert until(act(), None) is None
    assert until(act(seen="uid"), None) == at(30)
    assert until(act(), replace(JOB, active=False, failed=True, exit_code=1)) is None
    assert until(act(), replace(JOB, active=False, failed=True, exit_code=255)) == at(30)


def test_a_reboot_is_refused_by_the_word_of_its_command_or_by_never_running() -> None:
    failed = replace(JOB, active=False, failed=True, exit_code=1)
    assert refusal(None, "gpu-a01") is None
    assert refusal(JOB, "gpu-a01") is None
    assert refusal(failed, "gpu-a01") == "gpu-a01 refused to reboot: the command ended with exit code 1."
    never = replace(failed, started=False)
    assert refusal(never, "gpu-a01") == "The reboot of gpu-a01 could not be sent: its node job never ran."


def test_the_sentence_names_the_act_and_the_hour() -> None:
    assert told(act("power-cycle"), "gpu-a01", at(30)) == (
        "The power cycle of gpu-a01 was asked for and is not over: it is given back after that, or at 10:30 UTC, "
        "since new pods would die with it."
    )
