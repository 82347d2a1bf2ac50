"""`sickbay baselines`: what nodes measured when they last passed, from the HTTP API."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from statistics import median
from typing import Any

import click
from rich.table import Table

from app.cli.client import Client
from app.cli.tables import ago, as_json, lean, show
from app.settings import Settings


@click.command()
@as_json
def command(*, as_json: bool) -> None:
    """Show the bus bandwidth that each node measured when it last passed, by what is comparable.

    A node is compared with the median of its peers: those with the same pool, GPU model and number of GPUs. The last
    column says how far it lies from the median of them all.
    """
    show(Client(Settings.from_environment()).get("/api/v1/baselines"), _drawn, as_json=as_json)


def _drawn(answer: dict[str, Any]) -> Iterator[Table | str]:
    alike: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in answer["baselines"]:
        alike[one["key"]].append(one)
    if not alike:
        yield "No node has passed a bandwidth test yet."
        return
    rows = []
    for key, peers in alike.items():
        middle = median(one["bus_bandwidth_gb_s"] for one in peers)
        for one in peers:
            measured = one["bus_bandwidth_gb_s"]
            off = f"{(measured - middle) / middle:+.1%}" if middle else ""
            rows.append((key, one["node"], f"{measured:.1f}", off, ago(one["at"])))
    yield lean(("comparable", "node", "GB/s", "off the median", "measured"), rows)
