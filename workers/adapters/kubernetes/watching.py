"""Nodes, pods and node jobs as the feeds that `workers.watch` follows: lists, and watches read line by line.

A watch goes on from the version where the last one ended, asks for bookmarks so that this version does not grow old
on a quiet cluster, and is ended by the server every minute or so: a connection that died silently is noticed then.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

import msgspec
import urllib3

from app.domain.facts import NodeView
from app.errors import PermanentPortError
from workers.adapters.kubernetes import nodes, pods
from workers.adapters.kubernetes.answers import Answer, GoneError, Right, Status, error_of
from workers.adapters.kubernetes.client import Client, segment
from workers.adapters.kubernetes.job_views import Job
from workers.adapters.kubernetes.lists import Page, decoded, read_list
from workers.adapters.kubernetes.manifests import MANAGED_BY, OURS
from workers.adapters.kubernetes.node_jobs import NAMESPACE
from workers.exporter_pods import is_exporter
from workers.watch.seen import Event, Feeds, HistoryGone, SeenNodeJob, SeenPod

WATCH_S = (50, 70)
"""Seconds after which the server ends a watch: random, so that not all begin anew at once."""
SILENCE_S = 20
"""Seconds that the end of a watch may be late."""
LINE_LIMIT = 8 * 1024 * 1024
OVER = frozenset({"Succeeded", "Failed"})
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Line(msgspec.Struct):
    """One line of a watch."""

    type: str
    object: msgspec.Raw


LINE = msgspec.json.Decoder(Line)


class Versioned(msgspec.Struct):
    """The only part of a bookmark that counts; every object has it."""

    class Metadata(msgspec.Struct):
        """Of any object."""

        version: str = msgspec.field(default="", name="resourceVersion")

    metadata: Metadata


VERSIONED = msgspec.json.Decoder(Versioned)
STATUS = msgspec.json.Decoder(Status)


class WatchedPodMetadata(msgspec.Struct):
    """Of a pod, without what only a drain needs."""

    name: str
    namespace: str
    uid: str
    labels: dict[str, str] | None = None
    deleted_at: str | None = msgspec.field(default=None, name="deletionTimestamp")


class WatchedPodSpec(msgspec.Struct):
    """Where it is bound to."""

    node: str | None = msgspec.field(default=None, name="nodeName")


class WatchedPodStatus(msgspec.Struct):
    """How far it is."""

    phase: str | None = None


class WatchedPod(msgspec.Struct):
    """The parts of a Pod that the watch keeps."""

    metadata: WatchedPodMetadata
    spec: WatchedPodSpec | None = None
    status: WatchedPodStatus | None = None

    def item(self) -> tuple[str, SeenPod | None]:
        """Its uid, and what is kept of it; nothing while it is bound to no node."""
        metadata = self.metadata
        if not (self.spec and self.spec.node):
            return metadata.uid, None
        return metadata.uid, SeenPod(
            namespace=metadata.namespace,
            name=metadata.name,
            uid=metadata.uid,
            node=self.spec.node,
            going=metadata.deleted_at is not None,
            over=bool(self.status and self.status.phase in OVER),
            exporter=is_exporter(metadata.labels or {}),
        )


class WatchedNode(nodes.Node):
    """A Node, read whole."""

    def item(self) -> tuple[str, NodeView | None]:
        """Its name and its view."""
        return self.metadata.name, self.view()


class WatchedJob(Job):
    """A Job of ours."""

    def item(self) -> tuple[str, SeenNodeJob | None]:
        """Its uid, and what is kept of it."""
        view = self.view()
        return view.uid, SeenNodeJob(name=view.name, uid=view.uid, node=view.node, ended=view.ended)


class Watched(Protocol[T_co]):
    """An object that comes in a watch."""

    def item(self) -> tuple[str, T_co | None]:
        """Its key, and what is kept of it."""


class KubernetesFeed(Generic[T]):
    """A `Feed` of one resource."""

    def __init__(
        self,
        client: Client,
        path: str,
        resource: str,
        kind: type[Watched[T]],
        query: Mapping[str, str] | None = None,
    ) -> None:
        self._client = client
        self._path = path
        self._resource = resource
        self._query = query or {}
        self._one = msgspec.json.Decoder(kind)
        self._page: msgspec.json.Decoder[Page[Watched[T]]] = msgspec.json.Decoder(Page[kind])  # type: ignore[valid-type]
        self._stopping = False
        self._open: urllib3.BaseHTTPResponse | None = None
        self._lock = threading.Lock()

    def list(self) -> tuple[dict[str, T], str]:
        """All items by key, and the version from which `follow` tells the rest."""
        found, version = read_list(self._client, self._path, Right("list", self._resource), self._page, self._query)
        items = (one.item() for one in found)
        return {key: item for key, item in items if item is not None}, version

    def follow(self, version: str) -> Iterator[Event[T]]:
        """What came after that version, until the server ends the answer."""
        right = Right("watch", self._resource)
        seconds = random.randint(*WATCH_S)  # noqa: S311 - jitter, no secret
        query: dict[str, str | int] = {
            **self._query,
            "watch": "1",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": seconds,
        }
        try:
            with self._client.stream(self._path, right, query=query, read_s=seconds + SILENCE_S) as response:
                if not self._keep(response):
                    return
                for line in _lines(response, right):
                    yield self._event(line, right)
        except GoneError as gone:
            raise HistoryGone from gone
        finally:
            with self._lock:
                self._open = None

    def stop(self) -> None:
        """Wakes a thread that waits in `follow`, by shutting its socket."""
        with self._lock:
            self._stopping = True
            if self._open is not None:
                with suppress(ValueError, RuntimeError, OSError):  # it ended by itself meanwhile
                    self._open.shutdown()

    def _keep(self, response: urllib3.BaseHTTPResponse) -> bool:
        with self._lock:
            self._open = response
            return not self._stopping

    def _event(self, text: bytes, right: Right) -> Event[T]:
        line = decoded(LINE, text, right)
        if line.type == "ERROR":
            code = decoded(STATUS, bytes(line.object), right).code or 500
            raise error_of(Answer(code, {}, bytes(line.object)), right)
        version = decoded(VERSIONED, bytes(line.object), right).metadata.version
        if line.type == "BOOKMARK":
            return Event(version)
        key, item = decoded(self._one, bytes(line.object), right).item()
        return Event(version, key, None if line.type == "DELETED" else item)


def feeds(client: Client, namespace: str | None = NAMESPACE) -> Feeds:
    """The three feeds; node jobs are those in that namespace that carry our label, none where there is no namespace."""
    ours = {"labelSelector": f"{MANAGED_BY}={OURS}"}
    jobs = f"/apis/batch/v1/namespaces/{segment(namespace or '')}/jobs"
    return Feeds(
        nodes=KubernetesFeed(client, nodes.PATH, "nodes", WatchedNode),
        pods=KubernetesFeed(client, pods.PATH, "pods", WatchedPod),
        node_jobs=KubernetesFeed(client, jobs, "jobs", WatchedJob, ours) if namespace else None,
    )


def _lines(response: urllib3.BaseHTTPResponse, right: Right) -> Iterator[bytes]:
    rest = b""
    for part in response.stream(64 * 1024):
        *lines, rest = (rest + part).split(b"\n")
        if len(rest) > LINE_LIMIT:
            raise PermanentPortError(f"A line of {right} is longer than {LINE_LIMIT} bytes.")
        yield from (line for line in lines if line.strip())
