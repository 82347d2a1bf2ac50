"""The HTTP server: sockets, keep-alive, chunked streams, and a stop that leaves no thread behind.

The standard library's server is used rather than a web framework: half of the traffic are watches, which need the
socket, and a request costs less than half as much.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from simulator.api.routes import Answer, Beside, Request, Routes
from simulator.api.statuses import Refused
from simulator.api.store import encode

_PHRASES = {code: phrases[0] for code, phrases in BaseHTTPRequestHandler.responses.items()}
BODY_LIMIT = 3 * 1024 * 1024  # as the real server's


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Listener

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except OSError:  # The client has gone, or the server stops.
            self.close_connection = True

    def answer(self) -> None:
        """Reads the request, asks the routes and sends what they say."""
        path, query = urlsplit(self.path)[2:4]
        length = int(self.headers.get("Content-Length") or 0)
        if length > BODY_LIMIT:
            self.close_connection = True
            self._send(Answer(code=413, body=encode(Refused(413, "RequestEntityTooLarge", "limit is 3145728").body)))
            return
        request = Request(
            method=self.command,
            path=path,
            query=dict(parse_qsl(query, keep_blank_values=True)) if query else {},
            content_type=self.headers.get("Content-Type") or "",
            token=(self.headers.get("Authorization") or "").removeprefix("Bearer "),
            agent=self.headers.get("User-Agent") or "",
            headers=self.headers,
            body=self.rfile.read(length) if length else b"",
            client=self.connection,
        )
        self._send(self.server.routes.answer(request))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815 - the names that the base class calls

    def _send(self, answer: Answer) -> None:
        head = [f"HTTP/1.1 {answer.code} {_PHRASES.get(answer.code, '')}", f"Content-Type: {answer.content_type}"]
        head += [f"{name}: {value}" for name, value in answer.headers.items()]
        if answer.stream is None:
            head.append(f"Content-Length: {len(answer.body)}\r\n\r\n")
            self.wfile.write("\r\n".join(head).encode() + answer.body)
            return
        head.append("Transfer-Encoding: chunked\r\n\r\n")
        self.wfile.write("\r\n".join(head).encode())
        for part in answer.stream:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the base class
        """Requests are in the audit; a line for each would drown a demo."""


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], routes: Routes | Beside) -> None:
        self.routes = routes
        self._open: dict[socket.socket, threading.Thread] = {}
        self._lock = threading.Lock()
        super().__init__(address, _Connection)

    def process_request(self, request: Any, client_address: Any) -> None:
        thread = threading.Thread(
            target=self._serve, args=(request, client_address), name="api-connection", daemon=True
        )
        with self._lock:
            self._open[request] = thread
        thread.start()

    def _serve(self, request: socket.socket, client_address: Any) -> None:
        try:
            self.process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._open.pop(request, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error; anything else is shown by the base class."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def end_connections(self) -> None:
        """Shuts every open connection and waits for its thread."""
        with self._lock:
            connections = dict(self._open)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in connections.values():
            thread.join(timeout=5)


class ApiServer:
    """Serves `routes` on 127.0.0.1 from a thread of its own; port 0 takes a free one."""

    def __init__(self, routes: Routes | Beside, port: int = 0) -> None:
        self.routes = routes
        self._listener = _Listener(("127.0.0.1", port), routes)
        self.port = int(self._listener.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(
            target=self._listener.serve_forever, kwargs={"poll_interval": 0.05}, name="api-server", daemon=True
        )

    def start(self) -> None:
        """Begins to serve."""
        self._thread.start()

    def stop(self) -> None:
        """Ends watches and connections and frees the port."""
        self._listener.shutdown()
        self._thread.join(timeout=5)
        self.routes.close()
        self._listener.end_connections()
        self._listener.server_close()
