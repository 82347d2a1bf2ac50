"""The live view fits into the window, however small that is and however long the story."""

from __future__ import annotations

import io
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console
from rich.text import Text

from simulator.demo import Telling, command
from simulator.demo_view import Screen
from simulator.scenes import SCENES
from simulator.stage import Stage

Object = dict[str, Any]
STAGE = Stage("http://127.0.0.1:46299", "http://127.0.0.1:43349")
PODS = [
    {"namespace": "batch", "name": f"embed-documents-{one}-of-a-long-name", "node": "gpu-a01", "phase": "Running"}
    for one in range(5)
]
CARD = {"fault": 0, "healthy": True, "on_bus": True}
CLUSTER = {
    "pods": PODS,
    "nodes": [
        {"name": f"gpu-a0{one}", "registered": True, "ready": False, "unschedulable": True, "gpus": [CARD] * 8}
        for one in range(1, 5)
    ],
}


def operation(steps: int, entries: int, at: int) -> Object:
    plan = [
        {"step": f"step-number-{one}", "state": "done" if one < at else "running" if one == at else "pending"}
        for one in range(steps)
    ]
    words = "has booted, but seven of eight GPUs are back after half a minute, which is one too few."
    timeline = [
        {"at": "2026-05-20T02:14:07.421Z", "actor": "sickbay", "text": f"Entry {one}. gpu-a04 {words}"}
        for one in range(entries)
    ]
    return {
        "id": "op-wtqp7fcp",
        "state": "running",
        "result": None,
        "reason": words,
        "plan": plan,
        "timeline": timeline,
    }


def drawn(width: int, height: int, shown: Object | None) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True, color_system=None)
    options = console.options.update_dimensions(width, height)
    title = "GPU 5 of gpu-a04: Xid 79, and no boot finds the GPU again: only another card helps."
    lines = console.render_lines(Screen(STAGE, title, CLUSTER, shown, Text("now")), options, pad=False)
    return ["".join(part.text for part in line).rstrip() for line in lines]


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (60, 15), (200, 60)])
@pytest.mark.parametrize("story", [None, operation(7, 2, 1), operation(30, 80, 25)], ids=["none", "short", "long"])
def test_it_is_no_higher_and_no_wider_than_the_window(size: tuple[int, int], story: Object | None) -> None:
    width, height = size
    lines = drawn(width, height, story)
    while lines and not lines[-1]:
        lines.pop()
    assert len(lines) <= height
    assert max(map(len, lines)) <= width


def test_at_80_by_24_both_pages_every_node_the_step_and_the_latest_entry_are_there() -> None:
    lines = drawn(80, 24, operation(30, 80, 25))
    text = "\n".join(lines)
    assert STAGE.sickbay in text
    assert STAGE.control in text
    assert all(f"gpu-a0{one} " in text for one in range(1, 5))
    assert "▸ step-number-25" in text
    assert "Entry 79." in text


def test_of_a_plan_that_is_not_at_its_end_the_first_steps_are_shown() -> None:
    text = "\n".join(drawn(80, 24, operation(30, 1, 0)))
    assert "▸ step-number-0" in text
    assert "step-number-29" not in text


def test_the_timeline_is_told_once_at_the_end_of_the_live_view() -> None:
    console = Console(file=io.StringIO(), width=200)
    telling = Telling(console, at_once=False)
    telling.hear(operation(3, 1, 1))
    telling.hear(operation(3, 2, 1))
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == ""
    telling.over = True
    telling.finish()
    told = console.file.getvalue()
    assert [told.count(f"Entry {one}.") for one in (0, 1)] == [1, 1]
    assert told.endswith("It ended as it must.\n")


def test_the_help_has_one_line_for_each_scene() -> None:
    told = CliRunner().invoke(command, ["--help"], terminal_width=80).output.splitlines()
    lines = told[told.index("Scenes:") + 1 :]
    assert [line.split()[0] for line in lines] == list(SCENES)
