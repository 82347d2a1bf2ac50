"""Sickbay's own components beside the simulated cluster: web, worker and watch, started as anybody would start them.

Only commands and environment, no import: what runs here is what runs in production.
"""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import requests

from simulator.children import Child
from simulator.local_ports import free_port
from simulator.signals import put_off

READY_S = 40.0
"""How long web may take until it is ready: imports on a slow laptop take most of it."""


@dataclass
class SickbayComponents:
    """One web, one watch and `workers` workers on a store and a cluster. Logs, tokens and URL lie in `directory`.

    `kubeconfigs` gives single components another way into the cluster, such as an account of their own.
    """

    directory: Path
    redis_url: str
    kubeconfig: Path
    policy: Path
    port: int = 0
    workers: int = 1
    environ: Mapping[str, str] = field(default_factory=dict)
    kubeconfigs: Mapping[str, Path] = field(default_factory=dict)
    children: dict[str, Child] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.port = self.port or free_port()
        self.webhook_token_file = _token(self.directory / "webhook-token")
        self.api_token_file = _token(self.directory / "api-token")

    @property
    def url(self) -> str:
        """Where web answers."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def webhook_url(self) -> str:
        """Where Alertmanager posts to."""
        return f"{self.url}/webhook/alertmanager"

    def start(self) -> Self:
        """Starts them all, and returns when web says that nothing is missing. What did not get ready is ended again."""
        try:
            for name in ("web", "watch", *(f"worker-{number}" for number in range(1, self.workers + 1))):
                self.start_one(name)
            self.wait_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def start_one(self, name: str) -> Child:
        """Starts `web`, `watch` or `worker-N`."""
        component = name.partition("-")[0]
        settings = {
            "SICKBAY_REDIS_URL": self.redis_url,
            "SICKBAY_POLICY": str(self.policy),
            "SICKBAY_WEBHOOK_TOKEN_FILE": str(self.webhook_token_file),
            "SICKBAY_API_TOKEN_FILE": str(self.api_token_file),
            "SICKBAY_BIND": f"127.0.0.1:{self.port}",
            "SICKBAY_URL": self.url,
            "KUBECONFIG": str(self.kubeconfigs.get(component, self.kubeconfig)),
        }
        # What the person at this machine has set for a Sickbay of their own is not meant for this one.
        outside = {name: value for name, value in os.environ.items() if not name.startswith("SICKBAY_")}
        argv = [sys.executable, "-m", "app.cli", component]
        log = self.directory / f"{name}.log"
        with put_off():
            self.children[name] = Child(argv, log=log, environ={**outside, **settings, **self.environ})
        return self.children[name]

    def wait_ready(self) -> None:
        """Until /readyz answers 200. RuntimeError with what is missing, and the end of each log, if it does not."""
        ends, missing = time.monotonic() + READY_S, "no answer"
        while time.monotonic() < ends:
            try:
                answer = requests.get(f"{self.url}/readyz", timeout=2)
                if answer.ok and self._is_our_web():
                    return
                missing = answer.text if not answer.ok else f"something else answers at {self.url}"
            except requests.RequestException as error:
                missing = str(error)
            dead = [name for name, child in self.children.items() if not child.alive]
            if dead:
                missing = f"{', '.join(dead)} ended"
                break
            time.sleep(0.1)
        logs = "\n".join(f"--- {name}\n{child.log.read_text()[-1500:]}" for name, child in self.children.items())
        raise RuntimeError(f"Sickbay did not get ready: {missing}\n{logs}")

    def _is_our_web(self) -> bool:
        """Only ours takes a message with this run's token; a server that was there before may be ready too."""
        token = self.webhook_token_file.read_text().strip()
        empty = {"version": "4", "status": "firing", "receiver": "demo", "alerts": []}
        headers = {"Authorization": f"Bearer {token}"}
        return requests.post(self.webhook_url, json=empty, headers=headers, timeout=2).status_code == 202

    def wait_for_nodes(self) -> None:
        """Until watch has written the inventory: an alert that comes before it waits a moment longer."""
        ends = time.monotonic() + READY_S
        while not requests.get(f"{self.url}/api/v1/nodes", timeout=5).json()["nodes"]:
            if time.monotonic() > ends:
                raise RuntimeError("watch has written no inventory")
            time.sleep(0.1)

    def stop(self) -> None:
        """Ends them all, side by side."""
        for child in self.children.values():
            child.ask_to_end()
        for child in self.children.values():
            child.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()


def _token(path: Path) -> Path:
    path.write_text(secrets.token_urlsafe(24) + "\n")
    path.chmod(0o600)
    return path
