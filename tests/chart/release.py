"""The chart on a control plane, as the administrator installs it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.domain.rights import Component
from tests.chart.helm import CHART, Helm, Object
from tests.control_plane.plane import ControlPlane
from workers.adapters.kubernetes.client import Client, connect

NAMESPACE = "sickbay"
JOBS = "sickbay-node-jobs"
OURS = "app.kubernetes.io/name=sickbay"
PATIENCE_S = 180.0


@dataclass
class Release:
    """The chart on the control plane, as the administrator installs it."""

    plane: ControlPlane
    helm: Helm
    policy: Path

    def helm_says(self, *arguments: str) -> str:
        """What Helm said; it must have gone well."""
        kubeconfig = self.plane.kubeconfig(self.plane.tokens["admin"], "helm.kubeconfig")
        told = self.helm.run(*arguments, "--namespace", NAMESPACE, kubeconfig=kubeconfig)
        assert told.returncode == 0, told.stderr
        return told.stdout

    def put(self, verb: str, mode: str, *values: str) -> str:
        """Installs or upgrades to this mode."""
        given = ("--set", "redis.trial.enabled=true", "--set", f"mode={mode}", "--set-file", f"policy={self.policy}")
        beside = ("--create-namespace",) if verb == "install" else ()
        return self.helm_says(verb, "sickbay", str(CHART), *beside, *given, *values)

    def clear(self) -> None:
        """Takes away what earlier tests of this process made by hand, since it belongs to no release."""
        self.plane.ask("DELETE", f"/api/v1/namespaces/{JOBS}")
        eventually(lambda: not self.there(f"/api/v1/namespaces/{JOBS}"), "the namespace of node jobs does not go")

    def take_away(self) -> None:
        """Uninstalls it, and waits until nothing of it is left."""
        self.helm_says("uninstall", "sickbay", "--ignore-not-found", "--wait")
        eventually(lambda: not self.there("/api/v1/namespaces/" + JOBS), "the namespace of node jobs is still there")

    def there(self, path: str) -> bool:
        """Whether an object exists."""
        return self.plane.ask("GET", path).status_code == 200

    def ours(self, path: str) -> list[Object]:
        """The chart's objects of a kind."""
        answer = self.plane.ask("GET", path, params={"labelSelector": OURS})
        answer.raise_for_status()
        return list(answer.json()["items"])

    def kubeconfigs(self) -> dict[str, Path]:
        """How each component comes in: with a token of its account, as its pod does."""
        tokens = {one.value: self.plane.service_account_token(NAMESPACE, f"sickbay-{one}") for one in Component}
        return {one: self.plane.kubeconfig(token, f"{one}.kubeconfig") for one, token in tokens.items()}

    @contextmanager
    def client(self, component: Component) -> Iterator[Client]:
        """A client that comes in as that component's pod would."""
        token = self.plane.service_account_token(NAMESPACE, f"sickbay-{component}")
        client = connect(self.plane.kubeconfig(token, f"{component}.kubeconfig"))
        try:
            yield client
        finally:
            client.close()


def eventually(true: Callable[[], bool], told: str) -> None:
    ends = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < ends, told
        time.sleep(0.1)
