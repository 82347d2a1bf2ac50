"""The demo's house: Valkey, the simulated cluster and Sickbay's own processes, put together and made ready.

Web, worker and watch are started as anybody would start them and know nothing of the simulation. Whatever ends the
house ends them too.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from simulator import bmc, provider, valkey
from simulator import cluster as clusters
from simulator.cluster import Cluster
from simulator.demo_policy import rendered
from simulator.sickbay_components import SickbayComponents
from simulator.signals import put_off
from simulator.signed_calls import SignedCalls
from simulator.stage import Stage
from simulator.ticket_desk import TicketDesk
from simulator.valkey import EmbeddedValkey

WORKER = "worker-1"


@contextmanager
def staged(speed: float, port: int = 0) -> Iterator[Stage]:
    """The whole house, ready; everything in it ends with the block. `port` is the page's, 0 for a free one."""
    with ExitStack() as everything:
        with put_off():
            made = everything.enter_context(tempfile.TemporaryDirectory(prefix="sickbay-demo-"))
            store = everything.enter_context(valkey.start())
        cluster = everything.enter_context(clusters.start(speed=speed))
        directory = Path(made)
        tickets = directory / "tickets"
        tickets.mkdir()
        policy = directory / "policy.yaml"
        power = _hook(cluster, bmc.PREFIX, cluster.power_calls)
        machines = _hook(cluster, provider.PREFIX, cluster.provider_calls)
        policy.write_text(rendered(speed, tickets=tickets, power=power, provider=machines))
        links = {"SICKBAY_LINKS": f"Simulated_cluster={cluster.url}/simulator/"}
        with SickbayComponents(directory, store.url, cluster.kubeconfig, policy, port, environ=links) as sickbay:
            # A story that began before would first tell of a drain that waits for what is known of the nodes.
            sickbay.wait_for_nodes()
            cluster.alerting.send_to(sickbay.webhook_url, sickbay.webhook_token_file)
            _hand_in(cluster, sickbay, store, TicketDesk(tickets))
            yield Stage(cluster.url, sickbay.url, made)


def _hook(cluster: Cluster, prefix: str, calls: SignedCalls) -> dict[str, str]:
    return {"url": f"{cluster.url}{prefix.rstrip('/')}", "secret_file": str(calls.secret_file)}


def _hand_in(cluster: Cluster, sickbay: SickbayComponents, store: EmbeddedValkey, desk: TicketDesk) -> None:
    """What the control page can do to the rest of the house."""

    def kill_worker(_given: object) -> str:
        sickbay.children[WORKER].kill()
        sickbay.start_one(WORKER)
        return "The worker was killed (SIGKILL) and another one started, as a Deployment would."

    def restart_valkey(_given: object) -> str:
        store.kill()
        store.restart()
        return "Valkey was killed and started again on what it had written."

    cluster.control.extra_acts = {"kill-worker": kill_worker, "restart-valkey": restart_valkey}
    cluster.control.desk = desk
    cluster.control.sickbay_url = sickbay.url
