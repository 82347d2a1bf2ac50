"""The machines' management controllers behind one HTTP endpoint: power-cycling a server from outside.

A made-up interface of the kind that sites put before Redfish or IPMI: a signed POST and a GET. It knows machines, not
Kubernetes, and answers for those that are down.

POST /simulator/bmc/<node>/power-cycle   202; header X-Sickbay-Signature: sha256=<HMAC-SHA256 of the body, in hex>
GET  /simulator/bmc/<node>               {"power": "on" | "off", "boots": n}

The same Idempotency-Key cycles a machine once, however often it is sent.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path

from simulator.api.routes import Answer, Request
from simulator.api.statuses import Refused, method_not_allowed, no_such_path
from simulator.api.store import encode
from simulator.hardware import Machine

PREFIX = "/simulator/bmc/"
KEPT = 1000
"""How many idempotency keys are remembered."""


class Bmc:
    """Answers below `PREFIX`. `secret_file` holds the shared secret of the signatures."""

    def __init__(self, machines: Mapping[str, Machine], power_cycle: Callable[[str], None], directory: Path) -> None:
        self._machines = machines
        self._power_cycle = power_cycle
        self._seen: deque[str] = deque(maxlen=KEPT)
        self._lock = threading.Lock()
        self.secret_file = directory / "bmc-secret"
        self.secret_file.write_text(secrets.token_urlsafe(24) + "\n")
        self.secret_file.chmod(0o600)

    def answer(self, request: Request) -> Answer:
        """The state of a machine's power, or 202 for a cycle of it."""
        name, _, act = request.path.removeprefix(PREFIX).strip("/").partition("/")
        machine = self._machines.get(name)
        if machine is None or act not in ("", "power-cycle"):
            raise no_such_path()
        if not act:
            if request.method != "GET":
                raise method_not_allowed()
            return Answer(body=encode({"power": "on" if machine.powered else "off", "boots": machine.boots}))
        if request.method != "POST":
            raise method_not_allowed()
        if not self._is_signed(request):
            raise Refused(401, "Unauthorized", "the signature is missing or wrong")
        if self._is_new(request.headers.get("Idempotency-Key") or ""):
            self._power_cycle(name)
        return Answer(code=202, body=encode({"accepted": True}))

    def _is_signed(self, request: Request) -> bool:
        secret = self.secret_file.read_text().strip().encode()
        wanted = "sha256=" + hmac.new(secret, request.body, hashlib.sha256).hexdigest()
        return hmac.compare_digest(wanted.encode(), (request.headers.get("X-Sickbay-Signature") or "").encode())

    def _is_new(self, key: str) -> bool:
        with self._lock:
            if key and key in self._seen:
                return False
            self._seen.append(key)
            return True
