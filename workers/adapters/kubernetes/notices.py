"""Notices: Events on the node, and the state in its label and annotation, written by a thread of its own.

An operation never waits for it and never fails by it. What cannot be shown in time is dropped, the oldest first: at
most WAITING notices wait, and RATE requests a second are made, so that in a storm the cordons have the API server. One
sentence of an operation is one Event, whoever tells it and however often.

Source: the API reference of `events.k8s.io/v1`; an Event on a node lies in namespace `default`, a note has 1024 bytes.
"""

from __future__ import annotations

import hashlib
import socket
import threading
import time
from collections import OrderedDict, deque
from datetime import UTC, datetime
from typing import Any

import structlog

from app.domain.effects import PatchNode
from app.domain.marks import shown_patch
from app.domain.notices import Notice
from app.domain.operations import State
from app.errors import PermanentPortError, PortError
from workers.adapters.kubernetes.answers import Right, error_of
from workers.adapters.kubernetes.client import Client
from workers.adapters.kubernetes.nodes import KubernetesNodes
from workers.ports import NodeChangedError

PATH = "/apis/events.k8s.io/v1/namespaces/default/events"
CONTROLLER = "sickbay"
LONGEST_NOTE = 1024
WAITING = 2000
KNOWN = 4096
"""Sentences and states that are remembered as told; what was forgotten is found by its name in the cluster."""
RATE = 25.0
COLLECTS_S = 0.3
"""How long notices are collected: of several states of one operation only the last is shown."""
TRIES = 3
"""Reads of a node that somebody else changes each time."""
SULKS_S = 600.0
"""How long nothing of a kind is tried after the API server has said that it is not allowed."""

log = structlog.get_logger("sickbay.notices")


class KubernetesNotices:
    """The port `Notices`. Its thread begins with the first notice and ends with the process, or by `close`."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._nodes = KubernetesNodes(client)
        self._waiting: deque[Notice] = deque(maxlen=WAITING)
        self._there = threading.Event()
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._told: OrderedDict[str, None] = OrderedDict()
        self._shown: OrderedDict[str, tuple[State, str]] = OrderedDict()
        self._sulks_until: dict[str, float] = {}

    def tell(self, notice: Notice) -> None:
        """Lays it by for the thread."""
        with self._lock:
            self._waiting.append(notice)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="sickbay-notices", daemon=True)
                self._thread.start()
        self._there.set()

    def close(self) -> None:
        """Ends the thread; what still waits is dropped."""
        self._closing.set()
        self._there.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._closing.is_set():
            self._there.wait()
            self._closing.wait(COLLECTS_S)
            self._there.clear()
            with self._lock:
                batch = list(self._waiting)
                self._waiting.clear()
            for notice in {one.operation: one for one in batch}.values():
                self._carefully("state", self._show, notice)
            for notice in batch:
                for at, sentence in notice.sentences:
                    self._carefully("event", self._post, notice, at, sentence)

    def _carefully(self, what: str, act: Any, *of: Any) -> None:
        """Whatever becomes of it, the next one has its turn."""
        if self._closing.is_set() or time.monotonic() < self._sulks_until.get(what, 0.0):
            return
        try:
            if act(*of):
                self._closing.wait(1 / RATE)
        except PermanentPortError as error:
            self._sulks_until[what] = time.monotonic() + SULKS_S
            log.warning("notices not shown for a while", what=what, error=str(error))
        except PortError as error:
            log.info("notice not shown", what=what, error=str(error))
        except Exception:
            log.exception("notice failed", what=what)

    def _show(self, notice: Notice) -> bool:
        """The state that it rests in. While it runs the next one is near, and the cordon has said `running`."""
        where = (notice.state, notice.step)
        if notice.state in {State.RUNNING, State.FINISHED} or self._shown.get(notice.operation) == where:
            return False
        for _ in range(TRIES):
            node = self._nodes.get(notice.node.name)
            body = shown_patch(node, notice.operation, *where) if node and node.uid == notice.node.uid else None
            if node is None or body is None:
                break
            key, version = f"{notice.operation}/shown", node.resource_version
            try:
                patch = PatchNode(key=key, node=node.name, uid=node.uid, resource_version=version, body=body)
                self._nodes.patch(patch)
                break
            except NodeChangedError:
                continue
        _remember(self._shown, notice.operation, where)
        return True

    def _post(self, notice: Notice, at: datetime, sentence: str) -> bool:
        name = _name(notice, at, sentence)
        if name in self._told:
            return False
        right = Right("create", "events")
        answer = self._client.ask("POST", PATH, right, body=_event(name, notice, at, sentence))
        if not answer.ok and answer.code != 409:  # 409: another worker, or this one before, has told it
            raise error_of(answer, right)
        _remember(self._told, name, None)
        return True


def _remember(known: OrderedDict[str, Any], key: str, value: Any) -> None:
    known[key] = value
    known.move_to_end(key)
    while len(known) > KNOWN:
        known.popitem(last=False)


def _name(notice: Notice, at: datetime, sentence: str) -> str:
    """The same for one sentence within an hour, so that a reason that comes and goes does not fill the list."""
    said = f"{notice.operation}\n{at:%Y-%m-%dT%H}\n{sentence}"
    return f"{notice.operation}.{hashlib.sha256(said.encode()).hexdigest()[:16]}"


def _event(name: str, notice: Notice, at: datetime, sentence: str) -> dict[str, Any]:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "default"},
        "eventTime": at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "reportingController": CONTROLLER,
        "reportingInstance": socket.gethostname()[:128] or CONTROLLER,
        "action": notice.kind.title(),
        "reason": "".join(word.title() for word in notice.state.value.split("-")),
        "regarding": {"apiVersion": "v1", "kind": "Node", "name": notice.node.name, "uid": notice.node.uid},
        "note": sentence.encode()[:LONGEST_NOTE].decode(errors="ignore"),
        "type": "Warning" if notice.calls_for_attention else "Normal",
    }
