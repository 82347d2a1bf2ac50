"""Puts the simulated cluster together: the server, the machines and the actors, in threads of one process."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import yaml

from simulator import bmc, provider
from simulator import clock as clocks
from simulator.actors.alerting import Alerting
from simulator.actors.client import ApiClient, ApiRefused
from simulator.actors.kubelet import Kubelet
from simulator.actors.kubelet_nodes import Nodes
from simulator.actors.operands import NAMESPACE as OPERATOR
from simulator.actors.operands import operands, runtime_class
from simulator.actors.view import ClusterView
from simulator.actors.workloads import NAMESPACES as OF_PEOPLE
from simulator.actors.workloads import workloads
from simulator.api.audit import Audit
from simulator.api.routes import Beside, Routes
from simulator.api.server import ApiServer
from simulator.api.store import Store
from simulator.bmc import Bmc
from simulator.control import Control
from simulator.controllers import controllers
from simulator.hardware import Machine, machine
from simulator.objects import node_names
from simulator.provider import Provider
from simulator.readiness import not_ready
from simulator.real_api import KUBELET_HOST, Acts, RealApi
from simulator.signals import put_off
from simulator.signed_calls import SignedCalls

Object = dict[str, Any]
NAMESPACES = ("default", "kube-system", OPERATOR, "sickbay", "sickbay-node-jobs", *OF_PEOPLE)
READY_S = 60.0

# Tokens of the simulated cluster, and who they are in the audit.
USERS = {
    "simulator-actors": "system:simulator",
    "simulator-client": "system:serviceaccount:sickbay:sickbay",
    "simulator-person": "alice",
}


class _Party(Protocol):
    def start(self) -> None: ...

    def stop(self) -> None: ...


class Cluster:
    """A running cluster; `start` below makes it. `kubeconfig` is the path of a file that leads to it."""

    def __init__(
        self,
        *,
        nodes: int | list[str],
        speed: float,
        port: int,
        webhook_url: str | None,
        webhook_token_file: Path | None,
        cluster_label: str,
        durations: clocks.Durations | None,
        real: RealApi | None,
    ) -> None:
        self.clock = clocks.started(speed, durations)
        self.nodes = node_names(nodes) if isinstance(nodes, int) else list(nodes)
        self.machines: dict[str, Machine] = {name: machine(name) for name in self.nodes}
        self.machines["control-1"] = machine("control-1", gpus=0)
        self.real = real
        self.store = Store()
        audit = Audit()
        self.audit: Acts = real.audit if real else audit
        self.routes: Routes | Beside = Beside({}) if real else Routes(self.store, audit, USERS, {})
        self.server = ApiServer(self.routes, port)  # first: a port that is taken leaves no files
        self._directory = Path(tempfile.mkdtemp(prefix="simulated-cluster-"))
        self.url = real.url if real else self.server.url
        self.control_url = f"{self.server.url}/simulator"
        self.kubeconfig = (
            real.kubeconfig if real else write_kubeconfig(self._directory / "kubeconfig", self.url, "simulator-client")
        )
        ca = str(real.ca) if real else None
        kubectl = "kubectl/v1.36.3 (linux/amd64) kubernetes/abcdef0"
        self.api = ApiClient(self.url, real.actors if real else "simulator-actors", "simulator-actors/1.0", verify=ca)
        self.person = ApiClient(self.url, real.person if real else "simulator-person", kubectl, verify=ca)
        self.view = ClusterView(self.api)
        tls = (real.certificate, real.key) if real else None
        self.kubelet = Kubelet(self.api, self.view, self.machines, self.clock, tls)
        self.node_keeper = Nodes(self.api, self.view, self.kubelet, self.clock, KUBELET_HOST if real else "")
        self.alerting = Alerting(self.machines, self.view, self.clock, cluster_label)
        if webhook_url:
            self.alerting.send_to(webhook_url, webhook_token_file)
        self.power_calls = SignedCalls(self._directory / "bmc-secret")
        self.provider_calls = SignedCalls(self._directory / "provider-secret")
        self.control = Control(self)
        self.routes.extra[bmc.PREFIX] = Bmc(self.machines, self.node_keeper.power_cycle, self.power_calls).answer
        another = Provider(self.machines, self.node_keeper.replace, self.provider_calls)
        self.routes.extra[provider.PREFIX] = another.answer
        self.routes.extra["/simulator/"] = self.control.answer
        self._parties: list[_Party] = []

    def run(self, *, actors: bool, people: bool, operator: tuple[str, ...] | None) -> None:
        """Starts the server and, where asked, the actors, the GPU Operator (None: without) and the workloads."""
        self.server.start()
        for name in NAMESPACES:
            with suppress(ApiRefused):  # a real server has some of them
                self.api.create("namespaces", "", {"metadata": {"name": name}})
        with suppress(ApiRefused):  # as above; Sickbay's chart makes it elsewhere
            self.api.create("serviceaccounts", "sickbay-node-jobs", {"metadata": {"name": "node-job"}})
        if not actors:
            self.kubelet.logs.start()
            self._parties = [_LogsOnly(self.kubelet)]
            self.node_keeper.register()
            return
        beside = [] if self.real else controllers(self.api, self.view, self.clock)
        self._parties = [*beside, self.kubelet, self.node_keeper]
        self.view.start()
        for party in self._parties:
            party.start()
        self.alerting.start()
        self._parties.append(self.alerting)
        if operator is not None:
            with suppress(ApiRefused):  # as above
                self.api.create("runtimeclasses", "", runtime_class())
        self._create([("daemonsets", one) for one in operands(operator)] if operator is not None else [])
        # Later than what offers the GPUs: a scheduler places a workload where there are some, whatever it prefers.
        self._create(workloads(self.nodes) if people else [])

    def _create(self, created: list[tuple[str, Object]]) -> None:
        for resource, one in created:
            self.api.create(resource, one["metadata"]["namespace"], one)
        self._wait_until_ready(created)

    def _wait_until_ready(self, created: list[tuple[str, Object]]) -> None:
        ends = time.monotonic() + READY_S
        while missing := not_ready(self.view, len(self.nodes), created):
            if time.monotonic() > ends:
                raise TimeoutError(f"the simulated cluster was not ready after {READY_S:g} s: {', '.join(missing)}")
            self.clock_tick.wait(0.02)

    clock_tick = threading.Event()  # never set: a pause that needs no sleep

    def stop(self) -> None:
        """Ends every thread and removes the kubeconfig, whatever of it was started."""
        try:
            self._stop()
        finally:
            shutil.rmtree(self._directory, ignore_errors=True)

    def _stop(self) -> None:
        for party in self._parties:
            if isinstance(party, _LogsOnly):
                party.stop()
        self.api.wake()
        self.server.stop()
        for party in reversed(self._parties):
            if not isinstance(party, _LogsOnly):
                party.stop()
        self.view.stop()
        self.api.close()
        self.person.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()


class _LogsOnly:
    """The kubelets' log endpoint without kubelets: nodes are there, and nothing moves on them."""

    def __init__(self, kubelet: Kubelet) -> None:
        self._kubelet = kubelet

    def start(self) -> None:
        self._kubelet.logs.start()

    def stop(self) -> None:
        self._kubelet.logs.stop()


def start(  # noqa: PLR0913 - one call is the whole interface
    *,
    nodes: int | list[str] = 4,
    speed: float = 60.0,
    webhook_url: str | None = None,
    webhook_token_file: Path | None = None,
    port: int = 0,
    actors: bool = True,
    workloads: bool = True,
    operator: tuple[str, ...] | None = (),
    cluster_label: str = "demo",
    durations: clocks.Durations | None = None,
    real: RealApi | None = None,
) -> Cluster:
    """Starts a cluster and returns when its nodes are Ready and its workloads run.

    Args:
        nodes: how many GPU nodes, or their names.
        speed: simulated seconds in a real one; also for graces, deadlines and tolerations in specs.
        webhook_url: where alerts go; `Cluster.alerting.send_to` sets it later.
        webhook_token_file: a file with the bearer token for it.
        port: of the API server; 0 takes a free one.
        actors: without them nodes are registered and nothing moves: for tests of a client alone.
        workloads: whether the training run, the inference service and the batch job are there.
        operator: which DaemonSets of the GPU Operator; () is all, None none.
        cluster_label: the `cluster` label on alerts; empty leaves it out.
        durations: how long things take, where not as in reality.
        real: a real API server to work against; `port` is then that of the control API alone.
    """
    with ExitStack() as unfinished:
        with put_off():
            cluster = Cluster(
                nodes=nodes,
                speed=speed,
                port=port,
                webhook_url=webhook_url,
                webhook_token_file=webhook_token_file,
                cluster_label=cluster_label,
                durations=durations,
                real=real,
            )
            unfinished.callback(cluster.stop)
        cluster.run(actors=actors, people=workloads and actors, operator=operator if actors else None)
        unfinished.pop_all()
    return cluster


def write_kubeconfig(path: Path, url: str, token: str) -> Path:
    """Writes a kubeconfig with one cluster and one user, and returns its path."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "simulated", "cluster": {"server": url}}],
        "users": [{"name": "client", "user": {"token": token}}],
        "contexts": [{"name": "simulated", "context": {"cluster": "simulated", "user": "client"}}],
        "current-context": "simulated",
    }
    path.write_text(yaml.safe_dump(config))
    path.chmod(0o600)
    return path
