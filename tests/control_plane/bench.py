"""`make bench`: `sickbay bench`, and then the same cordons on a real API server where one has been built.

python -m tests.control_plane.bench --nodes 1000
"""

from __future__ import annotations

import os
import sys

import click

from simulator import bench
from simulator.signals import Ended, ended_by_signals
from tests.control_plane import binaries
from tests.control_plane.emptying import emptied
from tests.control_plane.plane import ControlPlane


@click.command(params=bench.command.params, help=bench.command.help)
@click.option("--only-real", is_flag=True, help="Leave the simulated cluster out.")
def command(seconds: float, nodes: int, only_real: bool) -> None:
    """Both, in one run."""
    try:
        with ended_by_signals():
            if not only_real:
                bench.measure(seconds, nodes)
            lacking = binaries.missing(os.environ)
            if lacking:
                click.echo(
                    f"No real API server was measured: there is no {lacking[0]}; {binaries.BUILD_THEM} builds it."
                )
                return
            with ControlPlane() as plane:
                bench.measure_real(nodes, lambda: emptied(plane))
    except Ended as ended:
        sys.exit(ended.exit_code)


if __name__ == "__main__":
    command()
