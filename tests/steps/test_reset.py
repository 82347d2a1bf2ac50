from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from app.domain.effects import StartNodeJob
from app.domain.facts import NodeJobView
from app.domain.operations import Operation
from app.domain.outcomes import Act, Done, Failed, NeedsHuman, Outcome, Wait
from tests.building import a_case, a_fault, a_gpu, a_job, a_node, a_policy, an_operation, at, remembering
from tests.tool_output import IN_USE, reset_output
from workers.proof import GRACE, Run
from workers.steps.reset import KEPT, SCRIPT, Reset

ILL = a_fault("xid-48", gpu=a_gpu(3, None, "GPU-0103"))
TO_DO = an_operation(ILL, ladder=("reset",), at_step="reset")
NAME = "op-1-4-reset-1"
AGAIN = f"{NAME}-1"
TRIED_ONCE = remembering(TO_DO, again="0")
SEEN_ONCE = remembering(TRIED_ONCE, seen=NAME)
TRIED_TWICE = remembering(TO_DO, again="1")
DONE = reset_output("GPU-0103", "None")


def judged(job: NodeJobView | None = None, *, operation: Operation = TRIED_ONCE, now: datetime | None = None) -> Any:
    return Reset().judge(operation, Run(a_node(), job), a_policy(), now or at(1))


def ended(output: str | None, *, name: str = NAME, exit_code: int = 0, **fields: Any) -> NodeJobView:
    ok = {"succeeded": exit_code == 0, "failed": exit_code != 0, "exit_code": exit_code, "active": False}
    return a_job(name, step="reset", output=output, **{**ok, **fields})


def started(told: Act | Outcome) -> StartNodeJob:
    assert isinstance(told, Act)
    (start,) = told.effects
    assert isinstance(start, StartNodeJob)
    return start


def test_a_reset_is_of_the_gpu_that_is_ill_named_by_uuid_as_an_argument() -> None:
    told = judged(operation=TO_DO)
    start = started(told)
    assert (start.key, start.job.name, start.job.host, start.job.image) == (NAME, NAME, True, "host:1")
    root = "/host/run/nvidia/driver"
    assert start.job.argv == ("chroot", root, "/bin/sh", "-c", SCRIPT, "nvidia-smi --gpu-reset", "GPU-0103", KEPT)
    assert (told.memo, told.reason) == ({"again": "0"}, "Resets GPU-0103 on gpu-a01.")


def test_every_gpu_of_a_burst_is_reset_once_and_each_must_say_that_it_is_well() -> None:
    other = a_fault("xid-94", gpu=a_gpu(5, None, "GPU-0105"))
    burst = replace(TRIED_ONCE, faults=(ILL, other, a_fault("xid-63", gpu=a_gpu()), a_fault("xid-64", gpu=None)))
    assert started(judged(operation=burst)).job.argv[-2] == "GPU-0103,GPU-0105"
    assert isinstance(judged(ended(DONE), operation=burst), Failed)
    assert isinstance(judged(ended(DONE + reset_output("GPU-0105", "None")), operation=burst), Done)


@pytest.mark.parametrize("uuid", ["", "0103", "GPU-1; reboot", "GPU-$(reboot)", "GPU-", "MIG-1", "GPU-" + "1" * 65])
def test_what_is_no_uuid_of_a_gpu_is_never_run(uuid: str) -> None:
    operation = replace(TO_DO, faults=(a_fault("xid-48", gpu=a_gpu(3, "S3", uuid)),))
    told = judged(operation=operation)
    assert isinstance(told, NeedsHuman)
    assert told.reason == f"{uuid[:80]!r} is no UUID of a GPU, so nothing is reset."


def test_a_card_that_is_named_worse_by_a_second_fault_stops_the_reset() -> None:
    operation = replace(TO_DO, faults=(ILL, a_fault("xid-94", gpu=a_gpu(5, None, "five"))))
    assert isinstance(judged(operation=operation), NeedsHuman)


def test_a_worker_that_died_before_the_reset_asks_for_the_same_one_again() -> None:
    assert started(judged(operation=TRIED_ONCE)).key == NAME


def test_a_reset_that_runs_is_waited_for_until_its_deadline_and_a_little_longer() -> None:
    running = a_job(NAME, step="reset")
    assert judged(running) == Wait("Waits for the reset on gpu-a01.", memo={"seen": NAME})
    late = at(10) + GRACE
    last = judged(running, now=late - timedelta(seconds=1))
    assert isinstance(last, Wait)
    assert last.after == timedelta(seconds=1)
    told = judged(running, now=late)
    assert told == Failed("The reset on gpu-a01 did not end within 10 min.")


@pytest.mark.parametrize("operation", [TRIED_ONCE, TO_DO])
def test_without_a_time_of_its_own_a_reset_is_timed_by_its_step_or_from_now(operation: Operation) -> None:
    told = judged(a_job(NAME, step="reset", created_at=None), operation=operation, now=at(60))
    assert isinstance(told, Failed if operation is TRIED_ONCE else Wait)


def test_a_reset_whose_node_job_was_deleted_is_not_sent_twice() -> None:
    told = judged(operation=remembering(TO_DO, again="0", seen=NAME))
    assert told == Failed("The reset on gpu-a01 was cut off: its node job was deleted.")


@pytest.mark.parametrize(
    ("job", "outcome", "reason"),
    [
        (ended(DONE), Done, "The GPU was reset and asks for no recovery."),
        (ended(DONE, exit_code=3), Failed, "The reset ended with exit code 3, whatever it said."),
        (
            ended(reset_output("GPU-0103", "Reboot")),
            Failed,
            "The reset had no effect: the GPU still asks for reboot.",
        ),
        (ended("Done."), Failed, "The reset left no word that it was done."),
        (
            ended("Resetting GPU 00000000:00:05.0 is not supported.\n", exit_code=3),
            Failed,
            "The GPU cannot be reset in its state.",
        ),
        (ended(None, exit_code=137), Failed, "The reset on gpu-a01 said nothing (exit code 137)."),
        (
            ended("", exit_code=1, reason="DeadlineExceeded"),
            Failed,
            "The reset on gpu-a01 said nothing (DeadlineExceeded).",
        ),
    ],
)
def test_a_reset_is_judged_by_what_the_gpu_says_after_it(job: NodeJobView, outcome: type[Outcome], reason: str) -> None:
    told = judged(job)
    assert isinstance(told, outcome)
    assert told.reason == reason


def test_a_gpu_in_use_is_tried_once_more_under_another_name_and_then_the_next_rung_is_taken() -> None:
    told = judged(ended(IN_USE, exit_code=255), operation=SEEN_ONCE)
    assert started(told).key == AGAIN
    assert told.memo == {"again": "1"}
    assert told.reason == "The GPU is in use: something still holds it open. Tries again."
    told = judged(ended(IN_USE, name=AGAIN, exit_code=255), operation=TRIED_TWICE)
    assert told == Failed("The GPU is in use: something still holds it open.")


def test_what_a_first_try_said_is_written_down_before_the_next_which_may_be_held_for_long() -> None:
    told = judged(ended(IN_USE, exit_code=255), operation=TRIED_ONCE)
    assert isinstance(told, Wait)
    assert told.memo == {"seen": NAME}
    cut_off = judged(None, operation=remembering(TRIED_ONCE, **told.memo))
    assert isinstance(cut_off, Failed)


def test_a_gpu_whose_name_was_lost_meanwhile_is_not_tried_again() -> None:
    nameless = replace(SEEN_ONCE, faults=(a_fault("xid-48", gpu=None),))
    assert isinstance(judged(ended(IN_USE, exit_code=255), operation=nameless), NeedsHuman)


@pytest.mark.parametrize("case", a_case("resets")["cases"], ids=lambda case: case["name"])
def test_a_reset_that_others_saw_fail_is_never_done(case: dict[str, Any]) -> None:
    for operation in (SEEN_ONCE, TRIED_TWICE):
        told = judged(ended(case["output"], exit_code=case["exit_code"]), operation=operation)
        again = case["want"] == "in-use" and operation is SEEN_ONCE
        assert isinstance(told, Act if again else Failed)
