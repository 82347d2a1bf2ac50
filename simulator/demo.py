"""`sickbay demo`: everything on one laptop, with the same commands as in production, and stories to watch.

`simulator.demo_house` puts it together, `simulator.scenes` are the stories, `simulator.demo_view` is the terminal.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from signal import SIGINT
from typing import Any

import click
from rich.console import Console
from rich.live import Live
from rich.text import Text

from simulator.demo_house import staged
from simulator.demo_view import Screen, line
from simulator.local_ports import why_not
from simulator.scenes import SCENES, Scene
from simulator.signals import Ended, ended_by_signals
from simulator.stage import Stage

Object = dict[str, Any]
POLL_S = 0.25
LONGEST_S = 300.0
"""Real seconds that a scene may take; it is a failure to take longer."""


class WithScenes(click.Command):
    """A command whose help also lists the scenes."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  click's
        """One line for each."""
        with formatter.section("Scenes"):
            formatter.write_dl([(name, scene.brief) for name, scene in SCENES.items()])


def _free(_ctx: click.Context, _param: click.Parameter, port: int) -> int:
    if refused := why_not(port):
        raise click.BadParameter(refused)
    return port


@click.command(cls=WithScenes)
@click.option(
    "--scene",
    "name",
    type=click.Choice(list(SCENES)),
    metavar="NAME",
    default="repair",
    show_default=True,
    help="The story, of those below.",
)
@click.option("--once", is_flag=True, help="Play it, print the timeline, and end: 0 only if it ended as it must.")
@click.option(
    "--speed", type=click.FloatRange(min=1), default=60.0, show_default=True, help="Simulated seconds a second."
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, callback=_free, help="Of Sickbay's page; 0 takes a free one."
)
def command(name: str, once: bool, speed: float, port: int) -> None:  # noqa: FBT001 - click passes flags so
    """Play a story on a simulated four-node H100 cluster, then stay up until Ctrl-C.

    Prints two URLs, Sickbay's page and one on which the cluster can be broken, and shows the story in the terminal.
    Without a terminal it behaves as with --once: it prints the timeline and ends with 0 only if the story ended as it
    must.
    """
    console = Console()
    stays = console.is_terminal and not once
    scene = SCENES[name]
    telling = Telling(console, at_once=not stays or console.is_dumb_terminal)
    try:
        with ended_by_signals(), ExitStack() as everything:
            console.print(scene.title, style="bold", soft_wrap=True)
            console.print("Starting Valkey, the simulated cluster, and Sickbay's web, worker and watch …", style="dim")
            stage = everything.enter_context(staged(speed, port))
            _say_where(console, stage)
            if stays:
                _show(console, stage, scene, telling)
            else:
                telling.wrong = played(stage, scene, telling.hear)
                telling.over = True
    except Ended as ended:
        telling.finish()
        console.print("Ended.", style="dim")
        # A story that was cut off has not ended as it must.
        sys.exit(0 if stays and ended.number == SIGINT else ended.exit_code)
    telling.finish()
    sys.exit(1 if telling.wrong else 0)


def played(
    stage: Stage, scene: Scene, seen: Callable[[Object | None], None], longest_s: float = LONGEST_S
) -> str | None:
    """Plays the scene to its end, showing the operation at each poll; what is wrong at the end, or None."""
    story = scene.story(stage)
    ends = time.monotonic() + longest_s
    while time.monotonic() < ends:
        try:
            next(story)
        except StopIteration as end:
            seen(stage.operation(scene.node))
            wrong: str | None = end.value
            return wrong
        seen(stage.operation(scene.node))
        time.sleep(POLL_S)
    operation = stage.operation(scene.node)
    told = f"{operation['state']}: {operation['reason']}" if operation else "without an operation"
    return f"It has not ended within {longest_s:g} s. {scene.node} is {told}"


class Telling:
    """The story's timeline, each entry once: as it comes, or all of it at the end."""

    def __init__(self, console: Console, *, at_once: bool) -> None:
        self._console = console
        self._at_once = at_once
        self._heard: dict[str, int] = {}
        self._kept: list[Text] = []
        self.wrong: str | None = None
        self.over = False

    def hear(self, operation: Object | None) -> None:
        """Takes what is new in the operation's timeline."""
        if operation is None:
            return
        for entry in operation["timeline"][self._heard.get(operation["id"], 0) :]:
            self._tell(line(entry))
        self._heard[operation["id"]] = len(operation["timeline"])

    def _tell(self, text: Text) -> None:
        if self._at_once:
            # A line that ends where the window ends is hard to search for in a log.
            self._console.print(text, soft_wrap=not self._console.is_terminal)
        else:
            self._kept.append(text)

    def verdict(self) -> Text:
        """How the story ended."""
        return Text(self.wrong, style="red") if self.wrong else Text("It ended as it must.", style="green")

    def finish(self) -> None:
        """What was not told yet, and how the story ended if it did."""
        self._at_once = True
        for text in self._kept:
            self._tell(text)
        if self.over:
            self._console.print(self.verdict(), soft_wrap=not self._console.is_terminal)


def _say_where(console: Console, stage: Stage) -> None:
    console.print(f"Watch it, Sickbay's page:  {stage.sickbay}", soft_wrap=True)
    console.print(f"Break it, the cluster:     {stage.control}", soft_wrap=True)
    tokens = f"To sign in: {stage.tokens}/api-token   For alerts of your own: {stage.tokens}/webhook-token"
    console.print(tokens, style="dim", soft_wrap=True)


def _show(console: Console, stage: Stage, scene: Scene, telling: Telling) -> None:
    """Plays the scene on the whole screen, and stays there until a signal comes."""
    drawn = not console.is_dumb_terminal
    with Live(console=console, auto_refresh=False, screen=drawn) as live:

        def draw(operation: Object | None, now: Text) -> None:
            if drawn:
                live.update(Screen(stage, scene.title, stage.cluster_state(), operation, now), refresh=True)

        playing = Text("The story is played …  Ctrl-C ends it.", style="dim")

        def seen(operation: Object | None) -> None:
            telling.hear(operation)
            draw(operation, playing)

        telling.wrong = played(stage, scene, seen)
        telling.over = True
        stays = Text.assemble(telling.verdict(), (" Everything stays up: break something. Ctrl-C ends it.", "dim"))
        if not drawn:
            console.print(stays)
        while True:
            draw(stage.operation(scene.node), stays)
            time.sleep(POLL_S)
