"""The demo in a terminal: the cluster on top, the operation's plan and timeline below. It shows, it does nothing."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from simulator.stage import Stage

Object = dict[str, Any]
STEP_GLYPHS = {"pending": "·", "running": "▸", "waiting": "▸", "done": "✓", "failed": "✗", "skipped": "-"}
STEP_STYLES = {"running": "bold cyan", "waiting": "bold cyan", "done": "green", "failed": "yellow"}
STATE_STYLES = {"needs-human": "bold red", "held": "yellow", "with-vendor": "magenta", "finished": "green"}
SHOWN_ENTRIES = 14


def render(cluster: Object, operation: Object | None, stage: Stage, title: str) -> RenderableType:
    """The whole screen."""
    pages = ("\nWatch it: ", (stage.sickbay, "underline cyan"), "   Break it: ", (stage.control, "underline cyan"))
    head = Text.assemble((title, "bold"), *pages)
    return Group(head, _nodes(cluster), *([_plan(operation), _timeline(operation)] if operation else []))


def _nodes(cluster: Object) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("node", "state", "GPUs", "pods"):
        table.add_column(column, overflow="fold")
    for node in cluster["nodes"]:
        if not node["gpus"]:
            continue
        pods = [f"{pod['namespace']}/{pod['name']}" for pod in cluster["pods"] if pod["node"] == node["name"]]
        table.add_row(node["name"], _state(node), _gpus(node), ", ".join(pods) or Text("none", style="dim"))
    return Panel(table, title="simulated cluster", title_align="left", border_style="dim")


def _state(node: Object) -> Text:
    ready = Text("Ready", style="green") if node["ready"] else Text("NotReady", style="yellow")
    return ready.append(", cordoned", style="yellow") if node["unschedulable"] else ready


def _gpus(node: Object) -> Text:
    cells = Text()
    for gpu in node["gpus"]:
        ill = gpu["fault"] or not gpu["healthy"] or not gpu["on_bus"]
        cells.append("✗ " if ill else "■ ", style="bold red" if ill else "green")
    return cells


def _plan(operation: Object) -> RenderableType:
    line = Text(f"{operation['id']} ", style="dim")
    line.append(operation["result"] or operation["state"], style=STATE_STYLES.get(operation["state"], "cyan"))
    for step in operation["plan"]:
        line.append(f"   {STEP_GLYPHS[step['state']]} {step['step']}", style=STEP_STYLES.get(step["state"], "dim"))
    return Panel(Group(line, Text(operation["reason"])), title="operation", title_align="left", border_style="dim")


def _timeline(operation: Object) -> RenderableType:
    return Group(*(line(entry) for entry in operation["timeline"][-SHOWN_ENTRIES:]))


def line(entry: Object) -> Text:
    """One entry of a timeline, as it is printed without a terminal too."""
    return Text.assemble((entry["at"][11:19], "dim"), " ", (f"{entry['actor']:<8}", "dim"), " ", entry["text"])
