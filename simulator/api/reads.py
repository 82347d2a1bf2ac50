"""Lists and watches: what a query selects, in pages, and as a stream of changes.

A page after the first shows the objects as they are now and not as they were for the first page; the real server keeps
a snapshot for a few minutes.
"""

from __future__ import annotations

import base64
import binascii
import select
import socket
import time
from collections.abc import Iterator, Mapping
from queue import Empty
from typing import Any

import msgspec

from simulator.api.event_forms import as_regarding
from simulator.api.kinds import Kind
from simulator.api.selectors import Matches, field, fields_match, fields_of, labels_match
from simulator.api.statuses import bad_request, expired, too_large_version
from simulator.api.store import Store, Stored, Watch, encode, line

BOOKMARK_S = 5.0
WATCH_S = 1800.0
LOOK_S = 1.0  # how soon a watch notices that its client has gone


def listed(store: Store, kind: Kind, namespace: str, query: Mapping[str, str], group: str) -> bytes:
    """The list object as JSON, with `limit` and `continue` where asked for.

    Raises:
        Refused: 400, 410 (a continue token from before the history) or 504 (a version of the future).
    """
    asked = _version(query.get("resourceVersion"))
    revision, found = store.all(kind, namespace, _node_asked(query))
    if asked is not None and asked > revision:
        raise too_large_version(asked, revision)
    matches = matching(query)
    found = sorted((one for one in found if matches(one.object)), key=_key)
    metadata: dict[str, Any] = {"resourceVersion": str(revision)}
    if token := query.get("continue"):
        metadata["resourceVersion"], after = _opened(token)
        if store.forgotten(kind, int(metadata["resourceVersion"])):
            raise expired("The provided continue parameter is too old to display a consistent list result.")
        found = [one for one in found if _key(one) > after]
    limit = int(query.get("limit") or 0)
    if limit and len(found) > limit:
        metadata["continue"] = _token(metadata["resourceVersion"], _key(found[limit - 1]))
        if not query.get("labelSelector") and not query.get("fieldSelector"):
            metadata["remainingItemCount"] = len(found) - limit
        found = found[:limit]
    version = f"{group}/{kind.version}" if group else kind.version
    head = encode({"kind": f"{kind.kind}List", "apiVersion": version, "metadata": metadata})
    bodies = [encode(as_regarding(one.object)) for one in found] if group != kind.group else [one.body for one in found]
    return head[:-1] + b',"items":[' + b",".join(_in_list(kind, body) for body in bodies) + b"]}"


def watched(
    store: Store, kind: Kind, namespace: str, query: Mapping[str, str], client: socket.socket
) -> Iterator[bytes]:
    """The lines of a watch, until its time is over, its client has gone or the server stops.

    Raises:
        Refused: 400; 410 comes as a line of its own, as the real server sends it to a watch.
    """
    since = _version(query.get("resourceVersion"))
    ends = time.monotonic() + float(query.get("timeoutSeconds") or WATCH_S)
    bookmarks = query.get("allowWatchBookmarks") in ("true", "1", "True")
    with store.watching(kind, namespace, matching(query), since or None) as watch:
        yield b""  # the watch is open: the answer's head may be sent
        next_bookmark = time.monotonic() + BOOKMARK_S
        while (left := ends - time.monotonic()) > 0:
            try:
                offered = watch.lines.get(timeout=min(left, LOOK_S))
            except Empty:
                if _gone(client):
                    return
                if bookmarks and time.monotonic() >= next_bookmark:
                    yield from _bookmark(store, kind, watch)
                    next_bookmark = time.monotonic() + BOOKMARK_S
                continue
            if offered is None:
                return
            yield offered[1]
        if bookmarks:
            yield from _bookmark(store, kind, watch)


def matching(query: Mapping[str, str]) -> Matches:
    """What the label and field selectors of a query take."""
    terms = []
    if labels := query.get("labelSelector"):
        terms.append(labels_match(labels))
    if fields := query.get("fieldSelector"):
        terms.append(fields_match(fields))
    if len(terms) == 1:
        return terms[0]
    return lambda an_object: all(term(an_object) for term in terms)


def _node_asked(query: Mapping[str, str]) -> str:
    terms = fields_of(query.get("fieldSelector") or "")
    return next((value for path, equal, value in terms if path == "spec.nodeName" and equal), "")


def _bookmark(store: Store, kind: Kind, watch: Watch) -> Iterator[bytes]:
    revision = store.revision_when_idle(watch)
    if revision is not None:
        metadata = {"resourceVersion": str(revision), "creationTimestamp": None}
        yield line("BOOKMARK", encode({"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}))


def _gone(client: socket.socket) -> bool:
    readable, _, _ = select.select([client], [], [], 0)
    return bool(readable) and client.recv(1, socket.MSG_PEEK) == b""


def _key(stored: Stored) -> tuple[str, str]:
    return field(stored.object, "metadata.namespace"), field(stored.object, "metadata.name")


def _in_list(kind: Kind, body: bytes) -> bytes:
    return b"{" + body[len(kind.prefix) :] if body.startswith(kind.prefix) else body


def _version(text: str | None) -> int | None:
    if not text:
        return None
    if not text.isdigit():
        raise bad_request(f'resourceVersion: Invalid value: "{text}"')
    return int(text)


def _token(revision: str, after: tuple[str, str]) -> str:
    return base64.urlsafe_b64encode(encode([revision, *after])).decode().rstrip("=")


def _opened(token: str) -> tuple[str, tuple[str, str]]:
    try:
        padded = token + "=" * (-len(token) % 4)
        revision, namespace, name = msgspec.json.decode(base64.urlsafe_b64decode(padded), type=tuple[str, str, str])
    except (binascii.Error, msgspec.DecodeError, ValueError) as wrong:
        raise bad_request("continue key is not valid") from wrong
    return revision, (namespace, name)
