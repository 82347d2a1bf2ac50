"""`sickbay status`: what is open, from the HTTP API, with the same sentences as the page."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Final

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.cli.client import Client
from app.domain.alerts import read_time
from app.domain.operations import State
from app.domain.timeline import spell
from app.settings import Settings

COLOURS: Final = {
    State.NEEDS_HUMAN: "bold red",
    State.HELD: "yellow",
    State.RUNNING: "blue",
    State.WAITING: "blue",
    State.WITH_VENDOR: "magenta",
}
"""In the order in which operations are listed: first what waits for a person."""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the API's answer as it is.")
def command(as_json: bool) -> None:  # noqa: FBT001 - click hands a flag over so
    """Show what is open, and what waits for a person.

    Asks the HTTP API at SICKBAY_URL. What is missing (workers, an inventory) is told below the list.
    """
    client = Client(Settings.from_environment())
    states = ",".join(COLOURS)
    answer = client.get(f"/api/v1/operations?state={states}&limit=500")
    if as_json:
        click.echo(json.dumps(answer, indent=2))
        return
    ready = client.get("/readyz", also=503)
    standing = client.get("/api/v1/pause")
    console = Console()
    for held in (standing["breaker"], standing["sentence"]):
        if held:
            console.print(Text(f"{held} `sickbay resume` lifts it.", "bold red"))
    console.print(table(answer["operations"], datetime.now(UTC)) if answer["operations"] else "No open operations.")
    if answer["next"]:
        console.print("More are open than are listed here.")
    for one in ready["missing"]:
        console.print(Text(f"{one['what']}: {one['reason']}", "red" if one["fatal"] else "yellow"))


def table(operations: list[dict[str, Any]], now: datetime) -> Table:
    """One row an operation, what needs a person first."""
    order = list(COLOURS)
    drawn = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("state", "node", "operation", "step", "open for", "why"):
        drawn.add_column(name, overflow="fold" if name == "why" else "ellipsis", no_wrap=name != "why")
    for one in sorted(operations, key=lambda one: order.index(State(one["state"]))):
        step = next((step["step"] for step in one["plan"] if step["state"] in {"pending", "running", "waiting"}), "")
        opened = read_time(one["opened_at"]) or now
        drawn.add_row(
            Text(one["state"], COLOURS[State(one["state"])]),
            Text(one["node"]["name"]),
            Text(one["id"]),
            Text(step),
            Text(spell(now - opened)),
            Text(one["reason"]),
        )
    return drawn
