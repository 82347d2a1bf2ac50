"""How commands show lists: lean tables without lines, times as people say them, and JSON for scripts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.domain.alerts import read_time
from app.domain.timeline import spell

as_json = click.option("--json", "as_json", is_flag=True, help="Print the API's answer as it is.")
"""The option of every command that reads."""


def show(answer: dict[str, Any], drawn: Callable[[dict[str, Any]], Iterable[Table | str]], *, as_json: bool) -> None:
    """Print the answer as JSON, or what `drawn` makes of it, part by part. Texts are shown as they are."""
    if as_json:
        click.echo(json.dumps(answer, indent=2))
        return
    console = Console(highlight=False)
    for part in drawn(answer):
        console.print(Text(part) if isinstance(part, str) else part)


def lean(columns: Iterable[str], rows: Iterable[Iterable[object]], *, wraps: str = "") -> Table:
    """A table in which only the column `wraps` is broken into lines; the others are cut when the terminal is narrow."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in columns:
        table.add_column(name, overflow="fold" if name == wraps else "ellipsis", no_wrap=name != wraps)
    for row in rows:
        table.add_row(*(Text("" if cell is None else str(cell)) for cell in row))
    return table


def ago(told: str | None) -> str:
    """`3 d 4 h ago` for a time of the API."""
    at = read_time(told)
    return "" if at is None else f"{spell(datetime.now(UTC) - at)} ago"


def card(gpu: dict[str, Any] | None) -> str:
    """A card by its serial, else its UUID."""
    return "" if gpu is None else str(gpu["serial"] or gpu["uuid"] or "")
