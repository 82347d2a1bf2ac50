"""`sickbay bench`: what Sickbay does in a second, each figure beside a bare limit measured in the same run.

Absolute times are those of this machine at this moment, the simulated API server included, and mean nothing
elsewhere; what a reader can take away is the ratio to the limit. Nothing is asserted here.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

import click
from rich.console import Console
from rich.table import Table

from simulator import bench_calls as calls
from simulator.bench_cordons import house, share, singles, storm
from simulator.bench_limits import empty_flask
from simulator.real_api import RealApi
from simulator.sickbay_components import SickbayComponents
from simulator.signals import Ended, ended_by_signals

STORM_NODES = 200
BARE = (
    "Bare: for the webhook an empty Flask route behind the same server; for one alert and a first cordon one PATCH of "
    f"a node; for the rest of the storm a PATCH of every node over {calls.CONNECTIONS} connections."
)


@click.command()
@click.option("--seconds", type=click.FloatRange(min=1), default=5.0, show_default=True, help="Per webhook figure.")
@click.option("--nodes", type=click.IntRange(10, 1000), default=STORM_NODES, show_default=True, help="In the storm.")
def command(seconds: float, nodes: int) -> None:
    """Measure the receiver, single alerts and a storm on a simulated cluster.

    Takes about a minute. Beside each figure stands what the same machine did in the same run with nothing of Sickbay
    in it: an empty Flask route behind the same server, and bare PATCH calls on the same nodes.
    """
    try:
        with ended_by_signals():
            measure(seconds, nodes)
    except Ended as ended:
        sys.exit(ended.exit_code)


def measure(seconds: float, nodes: int) -> None:
    """Prints all figures of the simulated cluster."""
    console, table = Console(), _table()
    with house(STORM_NODES, workers=1) as (_, sickbay):
        console.print(f"Webhook: bodies of one alert each, for {2 * seconds:g} s …", style="dim")
        _webhook(table, sickbay, seconds)
    singles(console, table, nodes)
    storm(console, table, nodes)
    console.print(table)
    console.print(BARE, style="dim")
    console.print("Times are this machine's at this moment, the simulated API server's included: compare within a run.")


def measure_real(nodes: int, emptied: Callable[[], AbstractContextManager[RealApi]]) -> None:
    """Prints the figures of cordons on a real API server, which `emptied` gives without nodes each time."""
    console, table = Console(), _table()
    console.print("The same on a real API server:")
    with emptied() as api:
        singles(console, table, nodes, api)
    with emptied() as api:
        storm(console, table, nodes, api)
    console.print(table)


def _table() -> Table:
    return Table("what", "Sickbay", "bare", "compared", box=None, pad_edge=False)


def _webhook(table: Table, sickbay: SickbayComponents, seconds: float) -> None:
    token = sickbay.webhook_token_file.read_text().strip()
    numbers = iter(range(10**9))
    lock = threading.Lock()

    def body() -> bytes:
        with lock:
            number = next(numbers)
        labels = {"alertname": "GpuXid", "Hostname": f"gpu-b{number % 200 + 1:03d}", "gpu": "3", "err_code": "31"}
        return calls.message([labels | {"replica": str(number)}])

    with empty_flask(sickbay.directory) as bare:
        limit = _rate(f"{bare}/", "", body, seconds)
    ours = _rate(sickbay.webhook_url, token, body, seconds)
    table.add_row("webhook bodies a second", f"{ours:.0f}", f"{limit:.0f}", share(ours, limit))


def _rate(url: str, token: str, body: Callable[[], bytes], seconds: float) -> float:
    """Answers a second over four kept-open connections."""
    ends = time.monotonic() + seconds

    def one(_: int) -> int:
        with calls.connection(url) as (kept, path):
            answers = 0
            while time.monotonic() < ends:
                answers += calls.post(kept, path, token, body())
            return answers

    began = time.monotonic()
    with ThreadPoolExecutor(calls.CONNECTIONS) as threads:
        answers = sum(threads.map(one, range(calls.CONNECTIONS)))
    return answers / (time.monotonic() - began)
