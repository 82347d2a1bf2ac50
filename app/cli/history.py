"""`sickbay history SERIAL`: what one card has been through, on whichever node, from the HTTP API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import click
from rich.table import Table

from app.cli.client import Client
from app.cli.tables import ago, as_json, card, lean, show
from app.settings import Settings


@click.command()
@click.argument("serial")
@click.option("--limit", type=click.IntRange(1, 500), default=50, show_default=True, help="Most faults to show.")
@as_json
def command(serial: str, *, limit: int, as_json: bool) -> None:
    """Show the faults of the card with this SERIAL, newest first, on every node that it was in.

    A UUID does as well, and has to where a board has no serial. The column `weighs` is what each fault adds to the
    score by which a card becomes an offender: nothing for an application's fault, for one that Sickbay's own act
    brought about, for one that only follows another, and for what is older than the policy's window.
    """
    answer = Client(Settings.from_environment()).get(f"/api/v1/gpus/{quote(serial, safe='')}?limit={limit}")
    show(answer, _drawn, as_json=as_json)


def _drawn(answer: dict[str, Any]) -> Iterator[Table | str]:
    gpu = answer["gpu"]
    by_uuid = f", {gpu['uuid']}" if gpu["serial"] and gpu["uuid"] else ""
    yield f"Card {card(gpu)}{by_uuid}."
    yield answer["offender"] or f"Its faults weigh {answer['score']:g}; from {answer['limit']:g} on it is an offender."
    rows = (
        (ago(row["at"]), row["node"], row["code"], row["class"], f"{row['weight']:g}", row["operation"], _told(row))
        for row in answer["history"]
    )
    yield lean(("when", "node", "code", "class", "weighs", "operation", "evidence"), rows, wraps="evidence")


def _told(row: dict[str, Any]) -> str:
    return f"{row['evidence']} (Sickbay's own {row['own_act']})" if row["own_act"] else str(row["evidence"])
