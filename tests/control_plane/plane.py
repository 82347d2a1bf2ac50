"""A real control plane on 127.0.0.1: etcd, API server, controllers and scheduler, without nodes. Tests bring those.

It authorizes by RBAC and keeps an audit log. Its certificate is the API server's own, and the key of that signs the
tokens of service accounts.
"""

from __future__ import annotations

import functools
import os
import secrets
import shutil
import socket
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import requests
import yaml

from simulator.actors.client import ApiClient
from simulator.children import Child
from tests.control_plane import binaries
from tests.control_plane.audit import POLICY, AuditLog

READY_S = 120.0
API_SERVER = "kube-apiserver"
MASTERS = "system:masters"
# Who comes in with a token of a file. The controllers' rights are those that Kubernetes itself gives to their names.
USERS = {
    "admin": ("kubernetes-admin", MASTERS),
    "actors": ("system:simulator", MASTERS),
    "person": ("alice", MASTERS),
    "client": ("system:serviceaccount:sickbay:sickbay", MASTERS),
    "controllers": ("system:kube-controller-manager", ""),
    "scheduler": ("system:kube-scheduler", ""),
}
POLL_S = 0.05


class ControlPlane:
    """A running control plane; `with ControlPlane() as plane` boots it, in some seconds, and ends it.

    Attributes:
        url: of the API server, https on 127.0.0.1.
        ca: the file by which clients know it.
        certificate, key: files of its certificate, which the fake kubelet also serves with.
        tokens: by the names in `USERS`.
        audit: who did what.
        directory: where its files and logs lie until it ends.
    """

    def __init__(self) -> None:
        self.programs = binaries.found(os.environ)
        self.directory = Path(tempfile.mkdtemp(prefix="control-plane-"))
        self.tokens = {name: secrets.token_urlsafe(24) for name in USERS}
        self.certificate = self.ca = self.directory / "certificates" / "apiserver.crt"
        self.key = self.directory / "certificates" / "apiserver.key"
        self.audit = AuditLog(self.directory / "audit.log")
        self.url = ""
        self._children: dict[str, Child] = {}
        self._starts: dict[str, list[str]] = {}

    def __enter__(self) -> Self:
        try:
            self._boot()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends what runs, the API server's clients first, and removes its files."""
        for name in reversed(list(self._children)):
            self._children.pop(name).stop()
        self.audit.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def end(self, name: str) -> None:
        """Ends one program, as if its machine were away; `start` brings it back on the same port and data."""
        self._children.pop(name).kill()

    def start(self, name: str) -> None:
        """Starts a program again that was ended, and waits until it is ready."""
        self._start(name)
        if name == API_SERVER:
            self._until(self._ready, name)

    def kubeconfig(self, token: str, name: str = "kubeconfig", *, namespace: str = "default") -> Path:
        """Writes a kubeconfig that comes in with this token, and returns its path."""
        cluster = {"server": self.url, "certificate-authority": str(self.ca)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "real", "cluster": cluster}],
            "users": [{"name": "client", "user": {"token": token}}],
            "contexts": [{"name": "real", "context": {"cluster": "real", "user": "client", "namespace": namespace}}],
            "current-context": "real",
        }
        path = self.directory / name
        path.write_text(yaml.safe_dump(config))
        path.chmod(0o600)
        return path

    def client(self, name: str = "admin", agent: str = "tests") -> ApiClient:
        """A client that comes in as one of `USERS`. The caller closes it."""
        return ApiClient(self.url, self.tokens[name], agent, verify=str(self.ca))

    def ask(self, method: str, path: str, body: Any = None, *, token: str = "", **more: Any) -> requests.Response:
        """One bare request, as the administrator unless a token is given; the answer whatever its code."""
        headers = {"Authorization": f"Bearer {token or self.tokens['admin']}", **more.pop("headers", {})}
        return requests.request(
            method, self.url + path, json=body, headers=headers, verify=str(self.ca), timeout=30, **more
        )

    def service_account_token(self, namespace: str, name: str, *, bound_to: str = "") -> str:
        """A token of a service account for an hour, as a pod gets one; dead with the Secret that it is bound to."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        bound = {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": bound_to}} if bound_to else {}
        body = {"spec": {"expirationSeconds": 3600, **bound}}
        answer = self.ask("POST", path, body)
        answer.raise_for_status()
        return str(answer.json()["status"]["token"])

    def account(self, name: str, *rules: dict[str, Any], namespace: str = "default") -> str:
        """Makes a service account with these rights in the whole cluster (RBAC rules), and returns a token of it."""
        rbac, at = "/apis/rbac.authorization.k8s.io/v1", {"metadata": {"name": name}}
        subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        for path, body in (
            (f"/api/v1/namespaces/{namespace}/serviceaccounts", at),
            (f"{rbac}/clusterroles", {**at, "rules": list(rules)}),
            (f"{rbac}/clusterrolebindings", {**at, "roleRef": role, "subjects": [subject]}),
        ):
            self.ask("POST", path, body).raise_for_status()
        for rule in rules:
            self._until(functools.partial(self._may, f"system:serviceaccount:{namespace}:{name}", rule), API_SERVER)
        return self.service_account_token(namespace, name)

    def _may(self, user: str, rule: dict[str, Any]) -> bool:
        """Whether the API server has taken note of a right."""
        resource, _, subresource = rule["resources"][0].partition("/")
        asked = {"verb": rule["verbs"][0], "group": rule["apiGroups"][0], "resource": resource}
        spec = {"user": user, "resourceAttributes": {**asked, "subresource": subresource}}
        answer = self.ask("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": spec})
        return bool(answer.json()["status"]["allowed"])

    def _boot(self) -> None:
        etcd, peer, port = _free_ports(3)
        self.url = f"https://127.0.0.1:{port}"
        self._write_files()
        self._starts = self._commands(etcd, peer, port)
        for name in ("etcd", API_SERVER):
            self._start(name)
        self._until(self.certificate.exists, API_SERVER)
        self._until(self._ready, API_SERVER)
        for name in ("kube-controller-manager", "kube-scheduler"):
            self._start(name)
        self._until(self._has_default_account, "kube-controller-manager")

    def _write_files(self) -> None:
        lines = [
            f'{self.tokens[name]},{user},{name},"{groups}"' if groups else f"{self.tokens[name]},{user},{name}"
            for name, (user, groups) in USERS.items()
        ]
        tokens = self.directory / "tokens.csv"
        tokens.write_text("\n".join(lines) + "\n")
        tokens.chmod(0o600)
        (self.directory / "audit-policy.yaml").write_text(yaml.safe_dump(POLICY))
        for name in ("controllers", "scheduler"):
            self.kubeconfig(self.tokens[name], f"{name}.kubeconfig")

    def _commands(self, etcd: int, peer: int, port: int) -> dict[str, list[str]]:
        store, among = f"http://127.0.0.1:{etcd}", f"http://127.0.0.1:{peer}"
        here = self.directory
        arguments = {
            "etcd": [
                f"--data-dir={here}/etcd",
                "--unsafe-no-fsync",
                "--log-level=error",
                f"--listen-client-urls={store}",
                f"--advertise-client-urls={store}",
                f"--listen-peer-urls={among}",
                f"--initial-advertise-peer-urls={among}",
                f"--initial-cluster=default={among}",
            ],
            API_SERVER: [
                f"--etcd-servers={store}",
                "--bind-address=127.0.0.1",
                f"--secure-port={port}",
                f"--cert-dir={self.certificate.parent}",
                "--authorization-mode=RBAC",
                f"--token-auth-file={here}/tokens.csv",
                "--service-account-issuer=https://kubernetes.default.svc",
                f"--service-account-key-file={self.key}",
                f"--service-account-signing-key-file={self.key}",
                "--service-cluster-ip-range=10.0.0.0/24",
                "--allow-privileged=true",
                "--endpoint-reconciler-type=none",
                # Every machine's kubelet answers on this host; only this kind of address says so.
                "--kubelet-preferred-address-types=InternalDNS",
                f"--audit-policy-file={here}/audit-policy.yaml",
                f"--audit-log-path={self.audit.path}",
                "--audit-log-mode=blocking",
            ],
            "kube-controller-manager": [
                f"--kubeconfig={here}/controllers.kubeconfig",
                "--leader-elect=false",
                "--secure-port=0",
                f"--service-account-private-key-file={self.key}",
                f"--root-ca-file={self.ca}",
                "--use-service-account-credentials",
                # The fake kubelets renew no leases; they say themselves when a machine has fallen silent.
                "--node-monitor-grace-period=24h",
            ],
            "kube-scheduler": [
                f"--kubeconfig={here}/scheduler.kubeconfig",
                "--leader-elect=false",
                "--secure-port=0",
            ],
        }
        return {name: [str(self.programs[name]), *more] for name, more in arguments.items()}

    def _start(self, name: str) -> None:
        self._children[name] = Child(self._starts[name], log=self.directory / f"{name}.log")

    def _ready(self) -> bool:
        try:
            return self.ask("GET", "/readyz").ok
        except requests.RequestException:
            return False

    def _has_default_account(self) -> bool:
        return self.ask("GET", "/api/v1/namespaces/default/serviceaccounts/default").ok

    def _until(self, condition: Callable[[], bool], name: str) -> None:
        ends = time.monotonic() + READY_S
        while not condition():
            late = time.monotonic() > ends
            if late or not self._children[name].alive:
                told = (self.directory / f"{name}.log").read_text(errors="replace")[-3000:]
                raise RuntimeError(f"{name} {'is not ready in time' if late else 'has ended'}:\n{told}")
            time.sleep(POLL_S)


def _free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()
