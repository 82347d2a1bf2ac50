"""`sickbay demo`: everything on one laptop, with the same commands as in production, and a story to watch.

Valkey comes from its wheel and the cluster is simulated; web, worker and watch are Sickbay's own processes and know
nothing of that. Whatever ends the demo ends them too.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.live import Live

from simulator import cluster as clusters
from simulator import valkey
from simulator.demo_view import line, render
from simulator.scenes import SCENES, Scene, Stage
from simulator.sickbay_processes import SickbayProcesses

POLICY = Path(__file__).parent / "policy.yaml"
POLL_S = 0.5
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
    """Play a repair on a simulated four-node H100 cluster, then stay up until Ctrl-C.

    Prints one URL, Sickbay's page, and shows the story in the terminal. Without a terminal it behaves as with --once:
    it prints the timeline and ends with 0 only if the node really came back through validation.
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
                _stay(stage, scene, console)
        except KeyboardInterrupt:
            console.print("Ended.", style="dim")
            return
    if wrong:
        console.print(wrong, style="red")
        sys.exit(1)


@contextmanager
def staged(speed: float, port: int = 0) -> Iterator[Stage]:
    """The whole house, ready; everything in it ends with the block."""
    with (
        tempfile.TemporaryDirectory(prefix="sickbay-demo-") as made,
        valkey.start() as store,
        clusters.start(speed=speed) as cluster,
        SickbayProcesses(Path(made), store.url, cluster.kubeconfig, POLICY, port) as sickbay,
    ):
        cluster.alerting.send_to(sickbay.webhook_url, sickbay.webhook_token_file)
        yield Stage(cluster.url, sickbay.url)


def _polls(stage: Stage, scene: Scene) -> Iterator[dict[str, object] | None]:
    """The operation at each poll, while the scene plays and until it is over or takes too long."""
    acts = scene.play(stage)
    deadline = time.monotonic() + LONGEST_S
    while time.monotonic() < deadline:
        next(acts, None)
        operation = stage.operation(scene.node)
        yield operation
        if operation is not None and operation["state"] in {"finished", "needs-human"}:
            return
        time.sleep(POLL_S)


def _plain(stage: Stage, scene: Scene, console: Console) -> str | None:
    console.print(f"{scene.title}. The page: {stage.sickbay}")
    printed = 0
    for operation in _polls(stage, scene):
        timeline = operation["timeline"] if operation else []
        assert isinstance(timeline, list)  # noqa: S101 - for the type checker
        for entry in timeline[printed:]:
            console.print(line(entry))
        printed = len(timeline)
    return scene.wrong(stage)


def _live(stage: Stage, scene: Scene, console: Console) -> str | None:
    with Live(console=console, auto_refresh=False, vertical_overflow="visible") as screen:
        for operation in _polls(stage, scene):
            screen.update(render(stage.cluster_state(), operation, stage.sickbay, scene.title), refresh=True)
    return scene.wrong(stage)


def _stay(stage: Stage, scene: Scene, console: Console) -> None:
    console.print(f"\nThe story is over; everything stays up for a look: {stage.sickbay}   Ctrl-C ends it.")
    with Live(console=console, auto_refresh=False) as screen:
        while True:
            shown = render(stage.cluster_state(), stage.operation(scene.node), stage.sickbay, scene.title)
            screen.update(shown, refresh=True)
            time.sleep(POLL_S)
