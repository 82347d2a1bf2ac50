"""What the simulated hooks ask of a call before they do anything: a signature, and a key that they have not seen."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from collections import deque
from pathlib import Path

from simulator.api.routes import Request
from simulator.api.statuses import Refused

KEPT = 1000
"""How many idempotency keys are remembered."""


class SignedCalls:
    """`secret_file` (made here) holds the shared secret of the signatures."""

    def __init__(self, secret_file: Path) -> None:
        self._seen: deque[str] = deque(maxlen=KEPT)
        self._lock = threading.Lock()
        self.secret_file = secret_file
        self.secret_file.write_text(secrets.token_urlsafe(24) + "\n")
        self.secret_file.chmod(0o600)

    def is_new(self, request: Request) -> bool:
        """Whether this is to be done now: not when the same Idempotency-Key came before.

        Raises:
            Refused: 401, the signature is missing or wrong.
        """
        if not self._is_signed(request):
            raise Refused(401, "Unauthorized", "the signature is missing or wrong")
        key = request.headers.get("Idempotency-Key") or ""
        with self._lock:
            if key and key in self._seen:
                return False
            self._seen.append(key)
            return True

    def _is_signed(self, request: Request) -> bool:
        secret = self.secret_file.read_text().strip().encode()
        wanted = "sha256=" + hmac.new(secret, request.body, hashlib.sha256).hexdigest()
        return hmac.compare_digest(wanted.encode(), (request.headers.get("X-Sickbay-Signature") or "").encode())
