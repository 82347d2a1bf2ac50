"""A ticket system behind real HTTP, as naive as one may be: each POST that opens a ticket opens one.

It keeps the contract of docs/reference/tickets.md but for the idempotency that the contract asks of it, so that what
the tests count is Sickbay's own doing. A test may let it lag, lose its answers, or refuse.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from app.domain import policies

SECRET = b"a secret of the tests"


@dataclass
class Receiver:
    """What came in, and how it behaves. `opened` counts tickets by key: one each, or P9 is broken."""

    url: str = ""
    opened: Counter[str] = field(default_factory=Counter)
    comments: dict[str, list[str]] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    """Every POST that was taken, in order."""
    headers: list[dict[str, str]] = field(default_factory=list)
    closed: Callable[[str], bool] = lambda _key: False
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    lag: timedelta = timedelta(0)
    """How long after it was opened a ticket is not shown: a search whose index is behind."""
    lost_answers: int = 0
    """How many POSTs are taken and then answered by a closed connection."""
    refusals: list[int] = field(default_factory=list)
    """Codes of the next POSTs, which do nothing."""
    _opened_at: dict[str, datetime] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def settings(self, directory: Path) -> policies.Tickets:
        """The policy that leads here; the secret's file is made in that directory."""
        secret = directory / "secret"
        secret.write_bytes(SECRET)
        return policies.Tickets(system="webhook", url=self.url, secret_file=str(secret))

    def take(self, event: dict[str, Any], headers: dict[str, str]) -> int:
        """The code of the answer, 0 for none."""
        with self._lock:
            if self.refusals:
                return self.refusals.pop(0)
            self.events.append(event)
            self.headers.append(headers)
            key = event["subject"]
            if event["type"] == "sickbay.ticket.open.v1":
                self.opened[key] += 1
                self._opened_at[key] = self.clock()
            else:
                self.comments.setdefault(key, []).append(event["data"]["text"])
            if self.lost_answers:
                self.lost_answers -= 1
                return 0
            return 201

    def told(self, key: str) -> dict[str, str] | None:
        """The ticket, None when there is none or it does not show yet."""
        with self._lock:
            if not self.opened[key] or self.clock() < self._opened_at[key] + self.lag:
                return None
            state = "closed" if self.closed(key) else "open"
            return {"key": key, "url": f"https://tickets.example/{len(self.opened)}", "state": state}


@contextmanager
def running() -> Iterator[Receiver]:
    """A receiver on a free port of this machine."""
    receiver = Receiver()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(receiver))
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}/tickets"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler_of(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if not self._signed(body):
                self._answer(401, {"error": "signature"})
                return
            code = receiver.take(json.loads(body), dict(self.headers.items()))
            if code:
                self._answer(code, {"error": "as the test wants it"} if code >= 300 else {})
            self.close_connection = True

        def do_GET(self) -> None:
            key = unquote(self.path.removeprefix("/tickets/"))
            if not self._signed(key.encode()):
                self._answer(401, {"error": "signature"})
                return
            told = receiver.told(key)
            self._answer(404 if told is None else 200, told or {})

        def _signed(self, text: bytes) -> bool:
            expected = "sha256=" + hmac.new(SECRET, text, hashlib.sha256).hexdigest()
            return hmac.compare_digest(self.headers.get("X-Sickbay-Signature", ""), expected)

        def _answer(self, code: int, content: dict[str, str]) -> None:
            body = json.dumps(content).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Tests are quiet."""

    return Handler
