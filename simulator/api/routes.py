"""From a path to what it names, and from a request to its answer. The socket is `server`'s."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from email.message import Message
from typing import Any

import msgspec

from simulator.api import discovery
from simulator.api.audit import Audit
from simulator.api.event_forms import as_core, as_regarding
from simulator.api.eviction import evict
from simulator.api.kinds import BY_PATH, EVENTS, PODS, Kind
from simulator.api.logs import KubeletLogs
from simulator.api.reads import listed, watched
from simulator.api.statuses import (
    Refused,
    bad_request,
    conflict,
    method_not_allowed,
    no_such_path,
    success,
    unauthorized,
    unsupported_patch,
)
from simulator.api.store import Store, Stored, encode
from simulator.api.writes import create, delete, existing, patch, replace

JSON = "application/json"

_RESOURCE = re.compile(
    r"^/(?:api|apis/(?P<group>[^/]+))/(?P<version>[^/]+)"
    r"(?:/namespaces/(?P<namespace>[^/]+)(?=/[^/]+))?"
    r"/(?P<plural>[a-z]+)(?:/(?P<name>[^/]+)(?:/(?P<subresource>[a-z]+))?)?/?$"
)
_SUBRESOURCES = ("status", "eviction", "binding", "log")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One HTTP request, read whole."""

    method: str
    path: str
    query: Mapping[str, str]
    content_type: str = ""
    token: str = ""
    agent: str = ""
    headers: Message = field(default_factory=Message)
    body: bytes = b""
    client: socket.socket


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`stream` is there instead of a body for a watch."""

    code: int = 200
    body: bytes = b""
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    stream: Iterator[bytes] | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """What a path names."""

    kind: Kind
    group: str
    namespace: str
    name: str
    subresource: str


Extra = Callable[[Request], Answer]


class Routes:
    """Answers requests from a store. `users` maps bearer tokens to names; empty lets everybody in as anonymous.

    `extra` answers what lies below a path prefix that is not Kubernetes (the control API).
    """

    def __init__(self, store: Store, audit: Audit, users: Mapping[str, str], extra: dict[str, Extra]) -> None:
        self.store = store
        self.audit = audit
        self.users = users
        self.extra = extra
        self.logs = KubeletLogs()

    def answer(self, request: Request) -> Answer:
        """The answer; a refusal is an answer too."""
        user = self.users.get(request.token, "" if self.users else "system:anonymous")
        target: Target | None = None
        try:
            for prefix, ask in self.extra.items():
                if request.path.startswith(prefix):
                    return ask(request)
            if found := discovery.page(request.path):
                return Answer(body=found, content_type=JSON if found.startswith(b"{") else "text/plain")
            target = named(request.path)
            if not user:
                raise unauthorized()
            answer = self._resource(request, target)
        except Refused as refused:
            answer = Answer(code=refused.code, body=encode(refused.body), headers=refused.headers)
        if target is not None and (request.method != "GET" or target.subresource == "log"):
            self._note(request, target, user, answer.code)
        return answer

    def close(self) -> None:
        """Ends watches and connections to kubelets."""
        self.store.end_watches()
        self.logs.close()

    def _resource(self, request: Request, target: Target) -> Answer:
        if target.subresource:
            return self._subresource(request, target)
        if target.name:
            return self._object(request, target)
        if request.method == "GET" and request.query.get("watch") in ("true", "1", "True"):
            return self._watch(request, target)
        if request.method == "GET":
            return Answer(body=listed(self.store, target.kind, target.namespace, request.query, target.group))
        if request.method == "POST":
            given = decoded(request.body)
            given = as_core(given) if target.group != target.kind.group and isinstance(given, dict) else given
            return _shown(create(self.store, target.kind, target.namespace, given), target, 201)
        raise method_not_allowed()

    def _object(self, request: Request, target: Target) -> Answer:
        store, kind, key = self.store, target.kind, (target.namespace, target.name)
        match request.method:
            case "GET":
                return _shown(existing(store, kind, key), target)
            case "PATCH":
                return _shown(patch(store, kind, key, _merge_patch(request), writer=_writer(request)), target)
            case "PUT":
                return _shown(replace(store, kind, key, decoded(request.body), writer=_writer(request)), target)
            case "DELETE":
                stored, status = delete(store, kind, key, _delete_options(request))
                return _shown(stored, target) if status is None else Answer(body=encode(status))
            case _:
                raise method_not_allowed()

    def _subresource(self, request: Request, target: Target) -> Answer:
        store, kind, key = self.store, target.kind, (target.namespace, target.name)
        match target.subresource, request.method:
            case "status", "GET":
                return _shown(existing(store, kind, key), target)
            case "status", "PATCH":
                return _shown(patch(store, kind, key, _merge_patch(request), status=True), target)
            case "status", "PUT":
                return _shown(replace(store, kind, key, decoded(request.body), status=True), target)
            case "eviction", "POST" if kind is PODS:
                return Answer(code=201, body=encode(evict(store, key, decoded(request.body))))
            case "binding", "POST" if kind is PODS:
                return self._bind(key, decoded(request.body))
            case "log", "GET" if kind is PODS:
                return Answer(body=self.logs.read(store, key, request.query), content_type="text/plain")
            case _:
                raise method_not_allowed()

    def _bind(self, key: tuple[str, str], binding: Any) -> Answer:
        node = ((binding if isinstance(binding, dict) else {}).get("target") or {}).get("name")
        if not node:
            raise bad_request("target.name is required")
        with self.store.lock:
            pod = existing(self.store, PODS, key).object
            if pod["spec"].get("nodeName"):
                raise conflict(PODS, key[1], f'pod {key[1]} is already assigned to node "{pod["spec"]["nodeName"]}"')
            conditions = [{"type": "PodScheduled", "status": "True"}]
            status = {**pod["status"], "conditions": conditions}
            self.store.put(PODS, key, {**pod, "spec": {**pod["spec"], "nodeName": node}, "status": status})
        return Answer(code=201, body=encode(success(201)))

    def _watch(self, request: Request, target: Target) -> Answer:
        stream = watched(self.store, target.kind, target.namespace, request.query, request.client)
        try:
            next(stream)
        except Refused as refused:
            if refused.code != 410:
                raise
            stream = iter([b'{"type":"ERROR","object":%s}\n' % encode(refused.body)])
        return Answer(stream=stream)

    def _note(self, request: Request, target: Target, user: str, code: int) -> None:
        verb = {"POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete"}.get(request.method, "get")
        self.audit.note(
            at=time.time(),
            user=user,
            agent=request.agent,
            verb=verb,
            resource=target.kind.plural,
            subresource=target.subresource,
            namespace=target.namespace,
            name=target.name,
            code=code,
            sent=request.body,
        )


class Beside:
    """Answers only what is not Kubernetes: the control API beside a real API server."""

    def __init__(self, extra: dict[str, Extra]) -> None:
        self.extra = extra

    def answer(self, request: Request) -> Answer:
        """The answer; a refusal is an answer too."""
        try:
            for prefix, ask in self.extra.items():
                if request.path.startswith(prefix):
                    return ask(request)
            raise no_such_path()
        except Refused as refused:
            return Answer(code=refused.code, body=encode(refused.body), headers=refused.headers)

    def close(self) -> None:
        """Nothing is open."""


def named(path: str) -> Target:
    """What a path names.

    Raises:
        Refused: 404 for a path of no resource that is served.
    """
    found = _RESOURCE.match(path)
    if found is None:
        raise no_such_path()
    group = found["group"] or ""
    kind = BY_PATH.get((group, found["version"], found["plural"]))
    subresource = found["subresource"] or ""
    if kind is None or (subresource and subresource not in _SUBRESOURCES):
        raise no_such_path()
    namespace, name = found["namespace"] or "", found["name"] or ""
    if kind.namespaced is False and namespace:
        raise no_such_path()
    if kind.namespaced and name and not namespace:
        raise no_such_path()
    return Target(kind, group, namespace, name, subresource)


def decoded(body: bytes) -> Any:
    """The JSON of a body.

    Raises:
        Refused: 400.
    """
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError as wrong:
        raise bad_request(f"the object provided is unrecognized: {wrong}") from wrong


def _merge_patch(request: Request) -> Any:
    if request.content_type.partition(";")[0].strip() != "application/merge-patch+json":
        raise unsupported_patch()
    return decoded(request.body)


def _writer(request: Request) -> str:
    """Who owns the fields (`fieldManager`): as named, else the first word of the user agent."""
    return request.query.get("fieldManager") or request.agent.partition("/")[0]


def _delete_options(request: Request) -> dict[str, Any]:
    given = decoded(request.body) if request.body else {}
    options = dict(given) if isinstance(given, dict) else {}
    if "gracePeriodSeconds" in request.query:
        options["gracePeriodSeconds"] = int(request.query["gracePeriodSeconds"])
    if "propagationPolicy" in request.query:
        options["propagationPolicy"] = request.query["propagationPolicy"]
    return options


def _shown(stored: Stored, target: Target, code: int = 200) -> Answer:
    other_form = target.kind is EVENTS and target.group != target.kind.group
    return Answer(code=code, body=encode(as_regarding(stored.object)) if other_form else stored.body)
