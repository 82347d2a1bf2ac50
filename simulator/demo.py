"""`sickbay demo`: everything on one laptop, with the same commands as in production, and stories to watch.

`simulator.demo_house` puts it together, `simulator.scenes` are the stories, `simulator.demo_view` is the terminal.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import click
from rich.console import Console
from rich.live import Live

from simulator.demo_house import staged
from simulator.demo_view import line, render
from simulator.scenes import SCENES, Scene
from simulator.stage import Stage

Object = dict[str, Any]
POLL_S = 0.25
LONGEST_S = 300.0
"""Real seconds that a scene may take; it is a failure to take longer."""


@click.command()
@click.option(
    "--scene", "name", type=click.Choice(sorted(SCENES)), default="repair", show_default=True, help="The story."
)
@click.option("--once", is_flag=True, help="Play it, print the timeline, and end: 0 only if it ended as it must.")
@click.option(
    "--speed", type=click.FloatRange(min=1), default=60.0, show_default=True, help="Simulated seconds a second."
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Of the page; 0 takes a free one.")
def command(name: str, once: bool, speed: float, port: int) -> None:  # noqa: FBT001 - click passes flags so
    """Play a story on a simulated four-node H100 cluster, then stay up until Ctrl-C.

    Prints two URLs, Sickbay's page and one on which the cluster can be broken, and shows the story in the terminal.
    Without a terminal it behaves as with --once: it prints the timeline and ends with 0 only if the story ended as it
    must.
    """
    console = Console(stderr=False)
    live = console.is_terminal and not once
    scene = SCENES[name]
    with ExitStack() as everything:
        console.print("Starting Valkey, the simulated cluster, and Sickbay's web, worker and watch …", style="dim")
        stage = everything.enter_context(staged(speed, port))
        try:
            wrong = _live(stage, scene, console) if live else _plain(stage, scene, console)
            if live:
                _stay(stage, scene, console, wrong)
        except KeyboardInterrupt:
            console.print("Ended.", style="dim")
            sys.exit(0 if live else 130)  # a story that was cut off has not ended as it must
    if wrong:
        console.print(wrong, style="red")
        sys.exit(1)
    console.print("It ended as it must.", style="green")


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


def _plain(stage: Stage, scene: Scene, console: Console) -> str | None:
    console.print(f"{scene.title}\nSickbay's page: {stage.sickbay}   The cluster, to break it: {stage.control}")
    console.print(_tokens(stage), style="dim", soft_wrap=True)
    printed: dict[str, int] = {}

    def seen(operation: Object | None) -> None:
        if operation is None:
            return
        for entry in operation["timeline"][printed.get(operation["id"], 0) :]:
            console.print(line(entry))
        printed[operation["id"]] = len(operation["timeline"])

    return played(stage, scene, seen)


def _tokens(stage: Stage) -> str:
    return f"To sign in: {stage.tokens}/api-token. For alerts of your own: {stage.tokens}/webhook-token."


def _live(stage: Stage, scene: Scene, console: Console) -> str | None:
    with Live(console=console, auto_refresh=False, vertical_overflow="visible") as screen:
        return played(
            stage,
            scene,
            lambda operation: screen.update(render(stage.cluster_state(), operation, stage, scene.title), refresh=True),
        )


def _stay(stage: Stage, scene: Scene, console: Console, wrong: str | None) -> None:
    if wrong:
        console.print(wrong, style="red")
    console.print(
        f"\nThe story is over; everything stays up. Look: {stage.sickbay}   Break something: {stage.control}   "
        "Ctrl-C ends it."
    )
    console.print(_tokens(stage), style="dim", soft_wrap=True)
    with Live(console=console, auto_refresh=False) as screen:
        while True:
            shown = render(stage.cluster_state(), stage.operation(scene.node), stage, scene.title)
            screen.update(shown, refresh=True)
            time.sleep(POLL_S)
