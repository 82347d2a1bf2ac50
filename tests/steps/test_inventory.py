from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.card_inventory import read_inventory
from app.domain.effects import StartNodeJob
from app.domain.faults import Gpu
from app.domain.operations import Operation
from app.domain.outcomes import Act, Done, Failed, Learned, Outcome
from tests.building import a_fault, a_job, a_node, a_policy, an_operation, at, remembering
from tests.tool_output import card_list
from workers.cards import SCRIPT
from workers.proof import Run
from workers.steps.inventory import Inventory

SERIALS = tuple(f"165000000{gpu}" for gpu in range(8))
ILL = Gpu(serial=SERIALS[3], uuid="GPU-gpu-a01-3", index=3)
NAME = "op-1-5-inventory-1"


def back(gpu: Gpu | None = ILL) -> Operation:
    """The operation whose node is back from the vendor."""
    return remembering(
        an_operation(a_fault(gpu=gpu), ladder=("ticket",), at_step="inventory"), again="0", seen=NAME, why=""
    )


def judged(output: str, operation: Operation | None = None) -> Act | Outcome:
    job = a_job(NAME, step="inventory", active=False, succeeded=True, exit_code=0, output=output)
    return Inventory().judge(operation or back(), Run(a_node(), job), a_policy(), at(1))


def listed(*swapped: int, serials: tuple[str, ...] = SERIALS) -> str:
    return card_list("gpu-a01", serials, swapped, "None")


def test_it_starts_with_fixed_words_where_the_driver_is_past_a_runtime_that_a_lost_gpu_stops() -> None:
    fresh = an_operation(ladder=("ticket",), at_step="inventory")
    begun = Inventory().judge(fresh, Run(a_node(), None), a_policy(), at(1))
    assert isinstance(begun, Act)
    (effect,) = begun.effects
    assert isinstance(effect, StartNodeJob)
    assert effect.job.argv == ("chroot", "/host/run/nvidia/driver", "/bin/sh", "-c", SCRIPT)
    assert (effect.job.image, effect.job.host, effect.job.runtime_class) == ("host:1", True, None)
    assert effect.job.step == "inventory"


def test_another_card_in_its_place_is_a_replacement() -> None:
    told = judged(listed(3))
    assert isinstance(told, Done)
    assert told.learned.replaced
    assert told.learned.gpus[3] == Gpu(serial=f"9{SERIALS[3][1:]}", uuid="GPU-gpu-a01-3-new", index=3)
    assert told.reason.startswith("gpu-a01 has another card in place of GPU 3 (serial 1650000003)")


def test_a_card_that_was_moved_to_another_slot_is_the_same() -> None:
    moved = (*SERIALS[:3], SERIALS[7], *SERIALS[4:7], SERIALS[3])
    told = judged(listed(serials=moved))
    assert isinstance(told, Done)
    assert not told.learned.replaced


def test_the_same_card_is_no_replacement_also_when_its_neighbour_was_swapped() -> None:
    told = judged(listed(4))
    assert isinstance(told, Done)
    assert not told.learned.replaced
    assert "still has GPU 3" in told.reason


@pytest.mark.parametrize("gpu", [None, Gpu(index=3)])
def test_where_no_card_is_to_blame_nothing_is_learnt_of_any(gpu: Gpu | None) -> None:
    told = judged(listed(3), back(gpu))
    assert isinstance(told, Done)
    assert told.learned == Learned()


def test_a_card_that_is_missing_fails() -> None:
    told = judged(listed(serials=SERIALS[:7]))
    assert isinstance(told, Failed)
    assert told.reason == "gpu-a01 has 7 of 8 GPUs."


def test_a_card_that_the_driver_cannot_reach_fails() -> None:
    assert isinstance(judged("Unable to determine the device handle for GPU 0000:65:00.0: Unknown Error\n"), Failed)


@pytest.mark.parametrize(
    ("output", "operation", "why"),
    [
        ("No devices were found\n", None, "no GPU is listed"),
        (listed()[:200], None, "cannot be read"),
        (listed().replace(SERIALS[3], "[N/A]"), back(Gpu(serial=SERIALS[3])), "neither serial nor UUID tells"),
    ],
)
def test_what_tells_nothing_is_tried_again(output: str, operation: Operation | None, why: str) -> None:
    told = judged(output, operation)
    assert isinstance(told, Act)
    assert why in told.reason
    assert "is inconclusive" in told.reason


def test_without_a_known_number_of_gpus_nothing_is_told() -> None:
    blind = back()
    blind = replace(blind, plan=tuple(replace(s, memo={}) if s.step == "evidence" else s for s in blind.plan))
    job = a_job(NAME, step="inventory", active=False, succeeded=True, exit_code=0, output=listed())
    told = Inventory().judge(blind, Run(a_node(gpu_capacity=0), job), a_policy(), at(1))
    assert isinstance(told, Act)
    assert "how many GPUs gpu-a01 must have is not known" in told.reason


CAPTURE = """
==============NVSMI LOG==============

Attached GPUs                             : 2
GPU 00000000:1B:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Serial Number                         : 1650323001234
    MIG Mode
        Current                           : Disabled
        Pending                           : Disabled
    GPU Reset Status
        Reset Required                    : Requested functionality has been deprecated
        Drain and Reset Recommended       : Requested functionality has been deprecated
    GPU Recovery Action                   : None
    ECC Mode
        Current                           : Enabled
        Pending                           : Enabled
    Retired Pages
        Pending Page Blacklist            : N/A
    Remapped Rows
        Correctable Error                 : 0
        Uncorrectable Error               : 1
        Pending                           : Yes
        Remapping Failure Occurred        : No
GPU 00000000:43:00.0
    GPU Recovery Action                   : Reset
    ECC Mode
        Pending                           : Enabled
    Remapped Rows                         : N/A
"""


def test_the_script_picks_what_it_needs_from_the_whole_text(tmp_path: Path) -> None:
    """Run by a real shell and sed, on the layout of an H100's `nvidia-smi -q` (driver R570)."""
    rows = "0, GPU-a, 1650323001234, 00000000:1B:00.0\n1, GPU-b, 1650323001235, 00000000:43:00.0\n"
    (tmp_path / "rows").write_text(rows)
    (tmp_path / "whole").write_text(CAPTURE)
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f'#!/bin/sh\n[ "$1" = -q ] && exec cat {tmp_path}/whole\nexec cat {tmp_path}/rows\n')
    tool.chmod(0o755)
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    ran = subprocess.run(["/bin/sh", "-c", SCRIPT], env=path, capture_output=True, text=True, check=True)
    first, second = read_inventory(ran.stdout).cards
    assert (first.recovery_action, first.rows_pending) == ("None", True)
    assert (second.recovery_action, second.rows_pending) == ("Reset", None)


def test_the_script_ends_as_the_tool_does_when_it_fails(tmp_path: Path) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho failed >&2\nexit 9\n")
    tool.chmod(0o755)
    ran = subprocess.run(["/bin/sh", "-c", SCRIPT], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=False)
    assert ran.returncode == 9


def test_two_gpus_with_one_serial_are_told_apart_by_uuid_and_that_is_said() -> None:
    told = judged(listed(serials=(*SERIALS[:4], SERIALS[3], *SERIALS[5:])))
    assert isinstance(told, Done)
    assert [(gpu.serial, gpu.uuid) for gpu in told.learned.gpus[3:5]] == [
        (None, "GPU-gpu-a01-3"),
        (None, "GPU-gpu-a01-4"),
    ]
    assert told.reason.endswith(" 2 GPUs report the serial 1650000003, so it names none of them.")


def test_shares_of_gpus_in_capacity_are_not_missing_cards() -> None:
    labels = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3-SHARED", "nvidia.com/gpu.count": "8"}
    job = a_job(NAME, step="inventory", active=False, succeeded=True, exit_code=0, output=listed(3))
    told = Inventory().judge(back(), Run(a_node(gpu_capacity=32, labels=labels), job), a_policy(), at(1))
    assert isinstance(told, Done)
