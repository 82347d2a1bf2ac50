"""A tiny HTTP server that answers as it is told: for what no simulated cluster does, such as failing."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from simulator.cluster import write_kubeconfig
from workers.adapters.kubernetes.client import Client, connect

DRIP_S = 0.02


@dataclass
class Told:
    """One answer. With `hang_up` the connection is closed instead; a `dripping` one comes byte by byte, without end."""

    code: int = 200
    body: object = None
    headers: dict[str, str] = field(default_factory=dict)
    hang_up: bool = False
    dripping: bool = False


@dataclass
class Asked:
    """One request as it came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


class TellingServer:
    """Gives `answers` in order, the last one again and again; keeps what was asked."""

    def __init__(self, *answers: Told) -> None:
        self.answers = list(answers)
        self.asked: list[Asked] = []
        self.closing = threading.Event()
        self._then: tuple[int, Callable[[], object]] = (0, lambda: None)

    def after(self, number: int, then: Callable[[], object]) -> None:
        """Calls `then` when so many requests have come."""
        self._then = (number, then)

    def note(self, asked: Asked) -> None:
        """Keeps a request."""
        self.asked.append(asked)
        if len(self.asked) == self._then[0]:
            self._then[1]()

    def next(self) -> Told:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def telling(tmp_path: Path, *answers: Told) -> Iterator[tuple[Client, TellingServer]]:
    """A client whose API server answers with these."""
    told = TellingServer(*answers)

    class Connection(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 5

        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            raw = self.rfile.read(length)
            headers = {name.lower(): value for name, value in self.headers.items()}
            told.note(Asked(self.command, self.path, headers, json.loads(raw) if raw else None))
            answer = told.next()
            if answer.hang_up:
                self.close_connection = True
                return
            body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            self.send_response(answer.code)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(1024**2 if answer.dripping else len(body)))
            self.end_headers()
            if answer.dripping:
                self.close_connection = True
                with suppress(OSError):  # the client has had enough
                    while not told.closing.wait(DRIP_S):
                        self.wfile.write(b" ")
                return
            self.wfile.write(body)

        do_GET = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815 - the names that the base class calls

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as in the base class
            """Nothing is logged."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Connection)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    client = connect(write_kubeconfig(tmp_path / "kubeconfig", url, "a-token"))
    try:
        yield client, told
    finally:
        client.close()
        told.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
