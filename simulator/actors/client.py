"""A small Kubernetes client for the actors: narrow, fast, plain dicts in and out, over HTTP or HTTPS."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

Object = dict[str, Any]

PATHS = {
    "nodes": "/api/v1",
    "pods": "/api/v1",
    "events": "/api/v1",
    "namespaces": "/api/v1",
    "serviceaccounts": "/api/v1",
    "poddisruptionbudgets": "/apis/policy/v1",
    "jobs": "/apis/batch/v1",
    "daemonsets": "/apis/apps/v1",
    "deployments": "/apis/apps/v1",
    "replicasets": "/apis/apps/v1",
    "statefulsets": "/apis/apps/v1",
    "runtimeclasses": "/apis/node.k8s.io/v1",
}


class ApiRefused(Exception):
    """The API server said no; `code` is the HTTP code and `body` its Status."""

    def __init__(self, code: int, body: Any) -> None:
        self.code = code
        self.body = body if isinstance(body, dict) else {}
        super().__init__(f"{code}: {self.body.get('message', body)}")


class ApiClient:
    """Thread-safe: each thread keeps its own connection. `agent` is the user agent, which the audit shows."""

    def __init__(self, url: str, token: str = "", agent: str = "simulator", *, verify: str | None = None) -> None:
        parts = urlsplit(url)
        self._host, self._port, self._tls = parts.hostname or "", parts.port, parts.scheme == "https"
        self._verify = verify
        self._headers = {"User-Agent": agent, "Accept": "application/json", "Authorization": f"Bearer {token}"}
        self._local = threading.local()
        self._connections: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()
        self._closed = False

    def get(self, resource: str, namespace: str, name: str) -> Object:
        """One object; `namespace` is empty for a node."""
        return self._ask("GET", path_of(resource, namespace, name))

    def list(self, resource: str, **query: str) -> Object:
        """The list of all namespaces; `query` takes selectors and the like."""
        return self._ask("GET", f"{PATHS[resource]}/{resource}?{urlencode(query)}")

    def create(self, resource: str, namespace: str, an_object: Object) -> Object:
        """Creates the object and returns it as it was stored."""
        return self._ask("POST", path_of(resource, namespace), an_object)

    def patch(self, resource: str, namespace: str, name: str, change: Object, *, status: bool = False) -> Object:
        """A merge patch, of the status subresource when `status`."""
        path = path_of(resource, namespace, name) + ("/status" if status else "")
        return self._ask("PATCH", path, change, content_type="application/merge-patch+json")

    def delete(self, resource: str, namespace: str, name: str, **options: Any) -> Object:
        """Deletes with these DeleteOptions, such as `preconditions`."""
        return self._ask("DELETE", path_of(resource, namespace, name), options or None)

    def post(self, resource: str, namespace: str, name: str, subresource: str, body: Object) -> Object:
        """Posts to a subresource, such as `binding`."""
        return self._ask("POST", f"{path_of(resource, namespace, name)}/{subresource}", body)

    def watch(self, resource: str, revision: str, stop: threading.Event) -> Iterator[Object]:
        """The events of one watch, until the server ends it or `stop` is set.

        Raises:
            ApiRefused: 410 when `revision` is too old.
        """
        query = {"watch": "1", "resourceVersion": revision, "allowWatchBookmarks": "true"}
        connection = self._connect(timeout=90)
        try:
            connection.request("GET", f"{PATHS[resource]}/{resource}?{urlencode(query)}", headers=self._headers)
            answer = connection.getresponse()
            if answer.status != 200:
                raise ApiRefused(answer.status, _decoded(answer.read()))
            while not stop.is_set() and (line := answer.readline()):
                event = msgspec.json.decode(line)
                if event["type"] == "ERROR":
                    raise ApiRefused(event["object"].get("code", 500), event["object"])
                yield event
        finally:
            self._forget(connection)

    def wake(self) -> None:
        """Shuts every connection, so that a thread that waits for an answer goes on; nothing more is sent."""
        with self._lock:
            self._closed = True
            connections = list(self._connections)
        for connection in connections:
            sock = connection.sock
            if sock is not None:
                with suppress(OSError):
                    # Past the TLS layer, which would forget its state while another thread reads.
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)

    def close(self) -> None:
        """Frees the connections; call it when the threads that used them have ended."""
        self.wake()
        for connection in list(self._connections):
            self._forget(connection)

    def _ask(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Object:
        encoded = None if body is None else msgspec.json.encode(body)
        headers = {**self._headers, "Content-Type": content_type} if encoded is not None else self._headers
        try:
            status, content = self._once(method, path, encoded, headers)
        except (http.client.HTTPException, OSError):
            # The server may have closed a kept connection; a fresh one decides.
            if self._closed:
                raise
            status, content = self._once(method, path, encoded, headers)
        if status >= 300:
            raise ApiRefused(status, _decoded(content))
        return msgspec.json.decode(content, type=dict[str, Any])

    def _once(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        connection = self._kept()
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (http.client.HTTPException, OSError):
            self._forget(connection)
            self._local.connection = None
            raise

    def _kept(self) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._connect(timeout=30)
            self._local.connection = connection
        return connection

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection
        if self._tls:
            context = ssl.create_default_context(cafile=self._verify)
            connection = http.client.HTTPSConnection(self._host, self._port, timeout=timeout, context=context)
        else:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=timeout)
        with self._lock:
            if self._closed:
                raise ConnectionAbortedError("the client is closed")
            self._connections.append(connection)
        return connection

    def _forget(self, connection: http.client.HTTPConnection) -> None:
        connection.close()
        with self._lock:
            if connection in self._connections:
                self._connections.remove(connection)


def path_of(resource: str, namespace: str = "", name: str = "") -> str:
    """The path of a collection or, with a name, of one object."""
    scope = f"/namespaces/{namespace}" if namespace else ""
    return f"{PATHS[resource]}{scope}/{resource}" + (f"/{name}" if name else "")


def _decoded(content: bytes) -> Any:
    try:
        return msgspec.json.decode(content)
    except msgspec.DecodeError:
        return content.decode(errors="replace")
