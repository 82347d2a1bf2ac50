"""`python -m simulator`: the simulated cluster as a process of its own, until Ctrl-C, SIGTERM or SIGHUP."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from pathlib import Path

from simulator.cluster import start, write_kubeconfig
from simulator.local_ports import why_not
from simulator.signals import ENDING


def main(arguments: list[str] | None = None) -> int:
    """Starts the cluster, prints where it is, and waits."""
    parser = argparse.ArgumentParser(prog="python -m simulator", description=__doc__)
    parser.add_argument("--nodes", type=int, default=4, help="GPU nodes (4)")
    parser.add_argument("--speed", type=float, default=60.0, help="simulated seconds in a real one (60)")
    parser.add_argument("--port", type=int, default=0, help="of the API server on 127.0.0.1 (a free one)")
    parser.add_argument("--kubeconfig", type=Path, help="also write a kubeconfig to this file")
    parser.add_argument("--webhook", help="URL that alerts are posted to")
    parser.add_argument("--token-file", type=Path, help="file with the bearer token for the webhook")
    parser.add_argument("--cluster-label", default="demo", help="the `cluster` label on alerts (demo)")
    parser.add_argument("--no-workloads", action="store_true", help="nodes and the GPU Operator only")
    given = parser.parse_args(arguments)
    if refused := why_not(given.port):
        parser.error(refused)
    ended = threading.Event()
    for number in ENDING:
        signal.signal(number, lambda *_: ended.set())
    with start(
        nodes=given.nodes,
        speed=given.speed,
        port=given.port,
        webhook_url=given.webhook,
        webhook_token_file=given.token_file,
        cluster_label=given.cluster_label,
        workloads=not given.no_workloads,
    ) as cluster:
        if given.kubeconfig:
            write_kubeconfig(given.kubeconfig, cluster.url, "simulator-client")
        sys.stdout.write(f"{cluster.url}\nKUBECONFIG={given.kubeconfig or cluster.kubeconfig}\n")
        sys.stdout.flush()
        ended.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
