"""The objects, their one counter of resource versions, and the watches on them. It knows no rule about what may change.

Objects are plain dicts that nobody changes once they are stored: a write puts a new dict in the old one's place, so a
reader needs no copy. Each is encoded once, when it is written; reads and watches send those bytes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

import msgspec

from simulator.api.kinds import ALL, EVENTS, PODS, Kind
from simulator.api.statuses import expired

Key = tuple[str, str]  # namespace ("" for cluster-wide objects) and name
Matches = Callable[[dict[str, Any]], bool]

HISTORY = 8192  # events kept for each resource; a watch from before them gets 410 Gone
EVENTS_KEPT = 2000  # Events kept: the real server lets them go after an hour


@dataclass(frozen=True, slots=True)
class Stored:
    """An object as it is kept: the dict, its JSON, and its resource version as a number."""

    object: dict[str, Any]
    body: bytes
    revision: int


@dataclass(frozen=True, slots=True)
class Change:
    """One write: `before` is None for a new object, `after` is the last state of a deleted one."""

    revision: int
    before: Stored | None
    after: Stored
    deleted: bool


@dataclass(eq=False, slots=True)
class Watch:
    """What one client watches; `lines` receives (revision, JSON line), or None when the server stops."""

    namespace: str
    matches: Matches
    lines: SimpleQueue[tuple[int, bytes] | None] = field(default_factory=SimpleQueue)

    def offer(self, change: Change) -> None:
        """Puts the change on the line as this watch sees it: an object that stops matching is DELETED for it."""
        metadata = change.after.object["metadata"]
        if self.namespace and metadata.get("namespace") != self.namespace:
            return
        before = change.before is not None and self.matches(change.before.object)
        after = not change.deleted and self.matches(change.after.object)
        if after:
            self.lines.put((change.revision, line("MODIFIED" if before else "ADDED", change.after.body)))
        elif before:
            self.lines.put((change.revision, line("DELETED", self._last_seen(change))))

    @staticmethod
    def _last_seen(change: Change) -> bytes:
        if change.deleted or change.before is None:
            return change.after.body
        last = change.before.object
        return encode({**last, "metadata": {**last["metadata"], "resourceVersion": str(change.revision)}})


def line(event: str, body: bytes) -> bytes:
    """One line of a watch stream."""
    return b'{"type":"%s","object":%s}\n' % (event.encode(), body)


encode = msgspec.json.Encoder().encode


class Store:
    """Thread-safe; hold `lock` around a read that a write depends on."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.revision = 100
        self._objects: dict[Kind, OrderedDict[Key, Stored]] = {kind: OrderedDict() for kind in ALL}
        self._pods_by_node: defaultdict[str, set[Key]] = defaultdict(set)
        self._history: dict[Kind, deque[Change]] = {kind: deque() for kind in ALL}
        self._floor: dict[Kind, int] = dict.fromkeys(ALL, 0)
        self._watches: dict[Kind, list[Watch]] = {kind: [] for kind in ALL}

    def get(self, kind: Kind, key: Key) -> Stored | None:
        """The object as it is now, or None."""
        return self._objects[kind].get(key)

    def all(self, kind: Kind, namespace: str = "", node: str = "") -> tuple[int, list[Stored]]:
        """The current revision and the objects; `node` narrows pods by its index, in the order of creation."""
        with self.lock:
            objects = self._objects[kind]
            if node and kind is PODS:
                found = [
                    objects[key] for key in self._pods_by_node.get(node, ()) if not namespace or key[0] == namespace
                ]
            elif namespace:
                found = [stored for key, stored in objects.items() if key[0] == namespace]
            else:
                found = list(objects.values())
            return self.revision, found

    def put(self, kind: Kind, key: Key, an_object: dict[str, Any]) -> Stored:
        """Stores the object under the next resource version and tells the watches."""
        with self.lock:
            self.revision += 1
            before = self._objects[kind].get(key)
            stored = self._stored(an_object)
            self._objects[kind][key] = stored
            self._index(kind, key, before, stored)
            self._publish(kind, Change(self.revision, before, stored, deleted=False))
            if kind is EVENTS and len(self._objects[kind]) > EVENTS_KEPT:
                self._objects[kind].popitem(last=False)
            return stored

    def remove(self, kind: Kind, key: Key) -> Stored:
        """Takes the object away; its last state carries the resource version of the deletion."""
        with self.lock:
            self.revision += 1
            before = self._objects[kind].pop(key)
            last = self._stored(before.object)
            self._index(kind, key, before, None)
            self._publish(kind, Change(self.revision, before, last, deleted=True))
            return last

    @contextmanager
    def watching(self, kind: Kind, namespace: str, matches: Matches, since: int | None) -> Iterator[Watch]:
        """A watch from after `since`, or with what there is now as ADDED when `since` is None.

        Raises:
            Refused: 410 when the history does not reach back to `since`.
        """
        watch = Watch(namespace, matches)
        with self.lock:
            if since is None:
                for stored in self.all(kind, namespace)[1]:
                    watch.offer(Change(stored.revision, None, stored, deleted=False))
            elif since < self._floor[kind]:
                raise expired(f"too old resource version: {since} ({self._floor[kind]})")
            else:
                for change in self._history[kind]:
                    if change.revision > since:
                        watch.offer(change)
            self._watches[kind].append(watch)
        try:
            yield watch
        finally:
            with self.lock:
                if watch in self._watches[kind]:
                    self._watches[kind].remove(watch)

    def revision_when_idle(self, watch: Watch) -> int | None:
        """The revision up to which this watch has been told everything, or None while lines wait to be sent."""
        with self.lock:
            return self.revision if watch.lines.empty() else None

    def forgotten(self, kind: Kind, revision: int) -> bool:
        """Whether the history no longer reaches back to this revision."""
        return revision < self._floor[kind]

    def compact(self) -> None:
        """Forgets all history, so that every watch from an earlier version gets 410 Gone."""
        with self.lock:
            for kind in ALL:
                self._history[kind].clear()
                self._floor[kind] = self.revision

    def end_watches(self) -> None:
        """Ends every open watch."""
        with self.lock:
            for watches in self._watches.values():
                for watch in watches:
                    watch.lines.put(None)

    def _stored(self, an_object: dict[str, Any]) -> Stored:
        an_object = {**an_object, "metadata": {**an_object["metadata"], "resourceVersion": str(self.revision)}}
        return Stored(an_object, encode(an_object), self.revision)

    def _index(self, kind: Kind, key: Key, before: Stored | None, after: Stored | None) -> None:
        if kind is not PODS:
            return
        old = before.object["spec"].get("nodeName", "") if before else ""
        new = after.object["spec"].get("nodeName", "") if after else ""
        if old and old != new:
            self._pods_by_node[old].discard(key)
        if new:
            self._pods_by_node[new].add(key)

    def _publish(self, kind: Kind, change: Change) -> None:
        history = self._history[kind]
        history.append(change)
        if len(history) > HISTORY:
            self._floor[kind] = history.popleft().revision
        for watch in self._watches[kind]:
            watch.offer(change)
