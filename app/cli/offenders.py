"""`sickbay offenders`: the cards that fail too often, from the HTTP API."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import click
from rich.table import Table

from app.cli.client import Client
from app.cli.tables import ago, as_json, card, lean, show
from app.domain.timeline import spell
from app.settings import Settings


@click.command()
@click.option("--all", "everyone", is_flag=True, help="Also the cards below the limit.")
@click.option("--limit", type=click.IntRange(1, 500), default=50, show_default=True, help="Most cards to show.")
@as_json
def command(*, everyone: bool, limit: int, as_json: bool) -> None:
    """Show the cards whose faults weigh as much as the policy's limit, worst first.

    Such a card is not repaired once more: its next fault leads to a ticket, or to a person. `sickbay history SERIAL`
    shows the faults behind it. Weights, window and limit stand under `offenders` in the policy.
    """
    path = f"/api/v1/offenders?limit={limit}" + ("&all=true" if everyone else "")
    show(Client(Settings.from_environment()).get(path), _drawn, as_json=as_json)


def _drawn(answer: dict[str, Any]) -> Iterator[Table | str]:
    window = spell(timedelta(seconds=answer["window_s"]))
    if not answer["offenders"]:
        yield f"No offenders within {window}; the limit is {answer['limit']:g}."
        return
    rows = (_row(one) for one in answer["offenders"])
    yield lean(("card", "score", "faults", "last", "nodes", "why"), rows, wraps="why")
    more = " More are not shown here." if answer["more"] else ""
    yield f"Within {window}; from a score of {answer['limit']:g} on a card is an offender.{more}"


def _row(one: dict[str, Any]) -> tuple[object, ...]:
    nodes = ", ".join(one["nodes"])
    return card(one["gpu"]), f"{one['score']:g}", one["faults"], ago(one["last_at"]), nodes, one["reason"]
