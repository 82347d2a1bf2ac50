"""The demo in a terminal: the cluster on top, the operation's plan and timeline below. It shows, it does nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.panel import Panel
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from simulator.stage import Stage

Object = dict[str, Any]
STEP_GLYPHS = {"pending": "·", "running": "▸", "waiting": "▸", "done": "✓", "failed": "✗", "skipped": "-"}
STEP_STYLES = {"running": "bold cyan", "waiting": "bold cyan", "done": "green", "failed": "yellow"}
STATE_STYLES = {"needs-human": "bold red", "held": "yellow", "with-vendor": "magenta", "finished": "green"}
NOW = ("running", "waiting")
PLAN_LINES = 3


@dataclass(frozen=True, slots=True)
class Screen:
    """The whole screen, as high as the terminal: what does not fit is cut off the timeline's older end."""

    stage: Stage
    title: str
    cluster: Object
    operation: Object | None
    now: Text
    """What goes on, in a line."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The lines."""
        height = options.height or options.max_height
        found = options.reset_height()
        head = (Text(self.title, style="bold"), self._places(), self.now)
        parts = Group(*head, _nodes(self.cluster), *([_plan(self.operation, options)] if self.operation else []))
        lines = console.render_lines(parts, found, pad=False)
        if self.operation:
            told = Group(*(line(entry) for entry in self.operation["timeline"]))
            entries = console.render_lines(told, found, pad=False)
            lines += entries[max(0, len(entries) - max(0, height - len(lines))) :]
        for shown in lines[:height]:
            yield from shown
            yield Segment.line()

    def _places(self) -> Text:
        places = (("Watch it: ", self.stage.sickbay), ("   Break it: ", self.stage.control))
        return Text.assemble(*(part for words, url in places for part in (words, (url, "underline cyan"))))


def _nodes(cluster: Object) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="dim", expand=True)
    for column in ("node", "state", "GPUs"):
        table.add_column(column, no_wrap=True)
    table.add_column("pods", no_wrap=True, overflow="ellipsis", ratio=1)
    for node in cluster["nodes"]:
        if not node["gpus"]:
            continue
        pods = [pod["name"] for pod in cluster["pods"] if pod["node"] == node["name"] and _is_there(pod)]
        table.add_row(node["name"], _state(node), _gpus(node), ", ".join(pods) or Text("none", style="dim"))
    return Panel(table, title="simulated cluster", title_align="left", border_style="dim")


def _is_there(pod: Object) -> bool:
    return pod["phase"] in ("Pending", "Running")


def _state(node: Object) -> Text:
    if not node["registered"]:
        return Text("no such node", style="bold red")
    ready = Text("Ready", style="green") if node["ready"] else Text("NotReady", style="yellow")
    return ready.append(", cordoned", style="yellow") if node["unschedulable"] else ready


def _gpus(node: Object) -> Text:
    signs = []
    for gpu in node["gpus"]:
        ill = gpu["fault"] or not gpu["healthy"] or not gpu["on_bus"]
        signs.append(("✗", "bold red") if ill else ("■", "green"))
    return Text(" ").join(Text(sign, style=style) for sign, style in signs)


def _plan(operation: Object, options: ConsoleOptions) -> RenderableType:
    """The state, the reason, and of a long plan the lines around the step that it is at."""
    head = Text(f"{operation['id']} ", style="dim")
    head.append(operation["result"] or operation["state"], style=STATE_STYLES.get(operation["state"], "cyan"))
    lines, at, width = [Text()], 0, options.max_width - 4
    for step in operation["plan"]:
        # Words that stay together: no line ends between the sign and its step.
        word = Text(f"{STEP_GLYPHS[step['state']]} {step['step']}   ", style=STEP_STYLES.get(step["state"], "dim"))
        if lines[-1] and lines[-1].cell_len + word.cell_len - 3 > width:
            lines.append(Text())
        lines[-1].append_text(word)
        if step["state"] in NOW or (operation["state"] == "finished" and step["state"] == "done"):
            at = len(lines) - 1
    first = max(0, min(at - 1, len(lines) - PLAN_LINES))
    shown = lines[first : first + PLAN_LINES]
    for one in (head, *shown):
        one.rstrip()
        one.no_wrap = True
    parts = Group(head, *shown, Text(operation["reason"]))
    return Panel(parts, title="operation", title_align="left", border_style="dim")


def line(entry: Object) -> Text:
    """One entry of a timeline, as it is printed without a terminal too."""
    return Text.assemble((entry["at"][11:19], "dim"), " ", (f"{entry['actor']:<8}", "dim"), " ", entry["text"])
