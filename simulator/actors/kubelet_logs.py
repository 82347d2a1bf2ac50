"""The kubelets' own endpoint: /containerLogs/<namespace>/<pod>/<container> on 127.0.0.1, one port for all.

Plain HTTP for the simulated API server, HTTPS for a real one, which asks in no other way.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

Read = Callable[[str, str], tuple[int, str]]


class LogServer:
    """Answers with what `read(namespace, pod)` returns: an HTTP code and text; code 0 is no answer at all.

    `tls` is a certificate and its key.
    """

    def __init__(self, read: Read, port: int = 0, *, tls: tuple[Path, Path] | None = None) -> None:
        class Connection(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path, query = urlsplit(self.path)[2:4]
                parts = path.strip("/").split("/")
                if len(parts) != 4 or parts[0] != "containerLogs":
                    return self._send(404, "not found")
                code, text = read(parts[1], parts[2])
                if code:
                    self._send(code, _cut(text, parse_qs(query)))
                return None

            def _send(self, code: int, text: str) -> None:
                body = text.encode()
                self.send_response(code)
                self.send_header("Content-Type", "text/plain")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the base class
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Connection)
        self._server.daemon_threads = True
        if tls is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            # The handshake is made by the thread of the connection, not by the one that accepts.
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="kubelet-logs", daemon=True
        )

    def start(self) -> None:
        """Begins to serve."""
        self._thread.start()

    def stop(self) -> None:
        """Frees the port."""
        self._server.shutdown()
        self._thread.join(timeout=5)
        self._server.server_close()


def _cut(text: str, query: dict[str, list[str]]) -> str:
    if tail := query.get("tailLines"):
        lines = text.splitlines(keepends=True)
        text = "".join(lines[max(0, len(lines) - int(tail[0])) :])
    if limit := query.get("limitBytes"):
        text = text.encode()[: int(limit[0])].decode(errors="ignore")
    return text
