"""The API server's audit log, read as it grows."""

from __future__ import annotations

import json
import threading
from datetime import datetime
from pathlib import Path
from typing import Any

Object = dict[str, Any]

POLICY: Object = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "users": ["system:apiserver", "system:kube-controller-manager", "system:kube-scheduler"]},
        {"level": "None", "userGroups": ["system:serviceaccounts:kube-system"]},
        {"level": "Request", "verbs": ["create", "update", "patch", "delete", "deletecollection"]},
        {"level": "Metadata"},
    ],
}
"""Everybody but the control plane itself, with what writes sent."""


class AuditLog:
    """Every request of everybody but the control plane itself, with the bodies of writes.

    `acts` speaks like the simulated cluster's audit, so that a test asks both alike; `requests` has the reads too.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._requests: list[Object] = []
        self._read = 0
        self._begun: set[str] = set()
        self._lock = threading.Lock()

    def requests(self, *, after: int = 0, user: str = "") -> list[Object]:
        """All requests with a higher number, in the order in which they were answered; a watch when it begins."""
        with self._lock:
            self._take_new_lines()
            return [one for one in self._requests[after:] if not user or one["user"] == user]

    def acts(self, *, after: int = 0, user: str = "", resource: str = "", name: str = "") -> list[Object]:
        """Those that may have changed something, or read a log."""
        return [
            one
            for one in self.requests(after=after, user=user)
            if (one["verb"] not in ("get", "list", "watch") or one["subresource"] == "log")
            and (not resource or one["resource"] == resource)
            and (not name or one["name"] == name)
        ]

    def from_now_on(self) -> Later:
        """The same log without what is in it already."""
        return Later(self, len(self.requests()))

    def close(self) -> None:
        """Forgets what was read."""
        with self._lock:
            self._requests.clear()

    def _take_new_lines(self) -> None:
        if not self.path.exists():
            return
        with self.path.open("rb") as log:
            log.seek(self._read)
            for line in log:
                if not line.endswith(b"\n"):
                    break
                self._read += len(line)
                event = json.loads(line)
                if self._is_told_already(event):
                    continue
                self._requests.append(_request(event, len(self._requests) + 1))

    def _is_told_already(self, event: Object) -> bool:
        """What lasts is written down twice: a watch counts at its beginning, anything else at its end."""
        if event["stage"] == "ResponseStarted":
            if event["verb"] == "watch":
                self._begun.add(event["auditID"])
                return False
            return True
        told = event["auditID"] in self._begun
        self._begun.discard(event["auditID"])
        return told


class Later:
    """What an audit log has after a certain number."""

    def __init__(self, log: AuditLog, after: int) -> None:
        self._log = log
        self._after = after

    def requests(self, *, after: int = 0, user: str = "") -> list[Object]:
        """As of the log."""
        return self._log.requests(after=max(after, self._after), user=user)

    def acts(self, *, after: int = 0, user: str = "", resource: str = "", name: str = "") -> list[Object]:
        """As of the log."""
        return self._log.acts(after=max(after, self._after), user=user, resource=resource, name=name)


def _request(event: Object, number: int) -> Object:
    about, sent = event.get("objectRef") or {}, event.get("requestObject")
    named = (sent or {}).get("metadata") or {}
    return {
        "number": number,
        "at": datetime.fromisoformat(event["requestReceivedTimestamp"]).timestamp(),
        "user": event["user"]["username"],
        "agent": event.get("userAgent", ""),
        "verb": event["verb"],
        "group": about.get("apiGroup", ""),
        "resource": about.get("resource", ""),
        "subresource": about.get("subresource", ""),
        "namespace": about.get("namespace", ""),
        "name": about.get("name") or named.get("name", ""),
        "uri": event["requestURI"],
        "code": (event.get("responseStatus") or {}).get("code", 0),
        "sent": sent,
    }
