from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.domain.operations import Operation
from app.domain.outcomes import Act, Done, Failed, NeedsHuman, Outcome
from tests.building import a_fault, a_job, a_node, a_policy, an_operation, at, remembering
from tests.tool_output import card_list
from workers.proof import Run
from workers.steps.recovery_check import RecoveryCheck

TO_DO = an_operation(a_fault("xid-31"), ladder=("restart-plugin",), at_step="recovery-check")
NAME = "op-1-2-recovery-check-1"
SERIALS = [f"165000000000{gpu}" for gpu in range(8)]
WELL = card_list("gpu-a01", SERIALS, (), "None")


def judged(
    output: str, *, operation: Operation | None = None, exit_code: int = 0, name: str = NAME, **fields: Any
) -> Act | Outcome:
    ended: dict[str, Any] = {"active": False, "succeeded": not exit_code, "failed": bool(exit_code)}
    job = a_job(name, step="recovery-check", output=output, exit_code=exit_code, **ended)
    return RecoveryCheck().judge(operation or remembering(TO_DO), Run(a_node(**fields), job), a_policy(), at(1))


def test_no_gpu_that_asks_for_anything_is_well() -> None:
    assert judged(WELL) == Done("None of 8 GPUs asks for recovery.")


@pytest.mark.parametrize("action", ["Reset", "Reboot", "Drain P2P", "Drain and Reset", "GPU_RESET", "Something new"])
def test_a_gpu_that_asks_for_more_is_not_mended_by_a_plugins_restart(action: str) -> None:
    told = judged(card_list("gpu-a01", SERIALS, (), action))
    assert isinstance(told, Failed)
    assert told.reason.endswith("restarting the device plugin would not mend that.")


def test_one_gpu_among_eight_is_enough_and_named() -> None:
    eighth = WELL.rindex("GPU Recovery Action : None")
    told = judged(WELL[:eighth] + WELL[eighth:].replace(": None", ": Reset"))
    assert told == Failed("GPU 7 asks for Reset: restarting the device plugin would not mend that.")


def test_rows_that_wait_for_a_reset_ask_for_one() -> None:
    told = judged(WELL.replace("Remapped Rows Pending : No", "Remapped Rows Pending : Yes", 1))
    assert told == Failed("GPU 0 has rows that wait to be remapped: restarting the device plugin would not mend that.")


@pytest.mark.parametrize(
    "output",
    [
        card_list("gpu-a01", SERIALS, (), "N/A"),
        WELL[: WELL.index("--")],
        WELL[: WELL.rindex("GPU 0000")],
        WELL.replace("GPU Recovery Action", "GPU Reset Status"),
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
    ],
)
def test_a_driver_that_tells_not_everything_proves_nothing(output: str) -> None:
    told = judged(output)
    assert isinstance(told, Act)
    assert "is inconclusive" in told.reason
    assert isinstance(judged(output, operation=remembering(TO_DO, again="1")), Act | NeedsHuman)


def test_a_gpu_that_is_missing_fails_and_without_a_count_nothing_is_proven() -> None:
    seven = card_list("gpu-a01", SERIALS[:7], (), "None")
    assert judged(seven) == Failed("7 of 8 GPUs answer: restarting the device plugin would not mend that.")
    bare = replace(TO_DO, plan=tuple(step for step in TO_DO.plan if step.step != "evidence"))
    told = judged(seven, operation=bare, name="op-1-1-recovery-check-1", gpu_capacity=0)
    assert isinstance(told, Act)
    assert "how many GPUs gpu-a01 must have is not known" in told.reason


def test_a_gpu_that_the_driver_cannot_reach_fails() -> None:
    told = judged("Unable to determine the device handle for GPU 0000:3B:00.0: GPU is lost.\n", exit_code=15)
    assert isinstance(told, Failed)
