"""What each cure does to a machine, and what `nvidia-smi` says of it: no cluster is needed for that."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

import pytest

from simulator.hardware import Behaviours, Cure, Machine, Reset, machine
from simulator.nvidia_smi import inventory, reset
from simulator.tools import benchmark, diagnose


@pytest.fixture
def node() -> Machine:
    return machine("gpu-node-1")


def script(node: Machine, gpu: int) -> str:
    return (
        'sh -c nvidia-smi -i "$1" -pm 0; nvidia-smi --gpu-reset -i "$1"; code=$?; nvidia-smi -q -i "$1" | '
        f'grep -E "GPU Recovery Action|Pending"; exit $code reset {node.gpus[gpu].uuid}'
    )


@pytest.mark.parametrize(
    ("codes", "action", "pending"),
    [
        ((31,), "None", False),
        ((94,), "None", False),
        ((63,), "Drain and Reset", True),
        ((48, 63), "Reset", True),
        ((95,), "Reset", False),
        ((119,), "Reset", False),
        ((119, 79), "Reboot", False),
        ((79, 63), "Reboot", True),
    ],
)
def test_the_gravest_recovery_action_of_all_codes_is_due(
    node: Machine, codes: tuple[int, ...], action: str, pending: bool
) -> None:
    for code in codes:
        node.raise_xid(2, code)
    assert (node.gpus[2].recovery_action, node.gpus[2].rows_pending) == (action, pending)


@pytest.mark.parametrize(
    ("how", "code", "words", "stays"),
    [
        ("works", 0, "was successfully reset", False),
        ("no-effect", 0, "was successfully reset", True),
        ("in-use", 255, "In use by another client", True),
        ("impossible", 3, "Not Supported", True),
    ],
)
def test_a_reset_answers_as_the_machine_is_told(node: Machine, how: Reset, code: int, words: str, stays: bool) -> None:
    node.behaviours.reset = how
    node.raise_xid(2, 119)
    text, exit_code = reset(node, f"nvidia-smi --gpu-reset -i {node.gpus[2].uuid}")
    assert (exit_code, words in text) == (code, True)
    assert (node.gpus[2].fault == 119) is stays
    assert (diagnose(node)[1] == 205) is stays


def test_a_gpu_that_is_lost_cannot_be_reset(node: Machine) -> None:
    node.raise_xid(2, 79)
    text, code = reset(node, script(node, 2))
    assert code == 15
    assert "GPU is lost" in text


def test_a_gpu_that_asks_for_a_reboot_cannot_be_reset(node: Machine) -> None:
    node.raise_xid(2, 151)
    assert reset(node, script(node, 2))[1] == 3
    assert node.gpus[2].recovery_action == "Reboot"


def test_a_gpu_that_a_program_holds_open_is_not_reset(node: Machine) -> None:
    node.holders = lambda gpu: ["train/llama-ft-0"] if gpu == 2 else []
    node.raise_xid(2, 119)
    assert reset(node, script(node, 2))[1] == 255
    assert reset(node, script(node, 3))[1] == 0


def test_a_reset_is_of_the_named_card_alone(node: Machine) -> None:
    node.raise_xid(2, 119)
    node.raise_xid(3, 119)
    reset(node, script(node, 2))
    assert [card.fault for card in node.gpus[2:4]] == [0, 119]


def test_a_reset_leaves_gauge_and_plugin_as_they_were(node: Machine) -> None:
    node.raise_xid(2, 119)
    reset(node, script(node, 2))
    assert (node.gpus[2].xid, node.gpus[2].healthy) == (119, False)
    node.restart_exporter()
    node.restart_plugin()
    assert (node.gpus[2].xid, node.gpus[2].healthy) == (0, True)


def test_the_query_after_a_reset_speaks_of_more_than_one_pending_thing(node: Machine) -> None:
    node.behaviours.reset = "no-effect"
    node.raise_xid(2, 63)
    lines = [re.sub(r"\s+", " ", line.strip()) for line in reset(node, script(node, 2))[0].splitlines()]
    assert lines[-5:] == [
        "Pending : Disabled",
        "GPU Recovery Action : Drain and Reset",
        "Pending : Enabled",
        "Pending Page Blacklist : N/A",
        "Pending : Yes",
    ]


def test_the_inventory_lists_what_is_on_the_bus_and_what_it_asks_for(node: Machine) -> None:
    node.behaviours = Behaviours(reboot="gpu-missing", gpu=5)
    node.boot()
    node.raise_xid(2, 63)
    rows, _, asked = inventory(node)[0].partition("--\n")
    assert len(rows.splitlines()) == 7
    assert rows.splitlines()[2] == f"2, {node.gpus[2].uuid}, {node.gpus[2].serial}, 00000000:3A:00.0"
    assert asked.splitlines()[6:9] == [
        "GPU 00000000:3A:00.0",
        "GPU Recovery Action : Drain and Reset",
        "Remapped Rows Pending : Yes",
    ]


def test_a_card_that_fell_off_the_bus_since_the_boot_ends_the_inventory(node: Machine) -> None:
    node.raise_xid(5, 79)
    text, code = inventory(node)
    assert (code, "GPU is lost" in text, "--" in text) == (15, True, False)


def test_without_a_driver_no_tool_answers(node: Machine) -> None:
    node.behaviours.reboot = "driver-crash"
    node.boot()
    assert node.allocatable() == 0
    assert inventory(node)[1] == reset(node, script(node, 2))[1] == 9
    assert "runtime_error" in diagnose(node)[0]
    assert benchmark(node)[1] == 2


@pytest.mark.parametrize("cure", ["reset", "reboot", "power", "swap"])
@pytest.mark.parametrize("until", ["", "reset", "reboot", "power", "swap"])
def test_a_behaviour_lasts_until_a_cure_that_is_grave_enough(
    node: Machine, cure: Cure, until: Cure | Literal[""]
) -> None:
    node.behaviours = Behaviours(diagnosis="fail", gpu=2, until=until)
    node.raise_xid(2, 119)
    acts: dict[str, Callable[[], object]] = {
        "reset": lambda: node.reset([node.gpus[2]]),
        "reboot": node.boot,
        "power": lambda: node.boot("power"),
        "swap": lambda: node.swap(2),
    }
    acts[cure]()
    assert (node.gpus[2].fault, node.gpus[2].recovery_action) == (0, "None")
    # What has no end of its own stays as it was set, but for a card that is no longer there.
    order = ["reset", "reboot", "power", "swap"]
    cured = cure == "swap" or (until and order.index(cure) >= order.index(until))
    assert (diagnose(node)[1] == 0) is bool(cured)


def test_a_reset_of_another_card_ends_no_behaviour(node: Machine) -> None:
    node.behaviours = Behaviours(diagnosis="fail", gpu=2, until="reset")
    node.reset([node.gpus[3]])
    assert node.behaviours.diagnosis == "fail"


def test_a_gpu_that_is_missing_until_it_is_swapped_is_missing_after_every_boot(node: Machine) -> None:
    node.behaviours = Behaviours(reboot="gpu-missing", gpu=2, until="swap")
    for cure in ("reboot", "power"):
        node.boot(cure)
        assert len(node.seen()) == 7
    node.swap(2)
    assert len(node.seen()) == 8


def test_no_boot_helps_a_card_without_a_spare_row(node: Machine) -> None:
    node.raise_xid(2, 64)
    node.boot("power")
    assert diagnose(node)[1] == 205
    node.swap(2)
    assert diagnose(node)[1] == 0


def test_another_card_has_another_serial_and_the_same_one_put_back_has_not(node: Machine) -> None:
    before = (node.gpus[2].serial, node.gpus[2].uuid)
    node.raise_xid(2, 79)
    node.swap(2, same=True)
    assert (node.gpus[2].serial, node.gpus[2].uuid) == before
    node.swap(2)
    assert node.gpus[2].serial != before[0]
    assert node.gpus[2].uuid != before[1]
    assert re.fullmatch(r"\d{13}", node.gpus[2].serial)
    assert len(node.seen()) == 8


def test_a_plugin_that_is_stuck_keeps_a_gpu_unhealthy_after_a_harmless_fault(node: Machine) -> None:
    node.raise_xid(2, 31)
    assert node.allocatable() == 8
    node.behaviours.plugin = "stuck"
    node.raise_xid(2, 31)
    assert (node.allocatable(), node.gpus[2].recovery_action) == (7, "None")
    node.restart_plugin()
    assert node.allocatable() == 8
