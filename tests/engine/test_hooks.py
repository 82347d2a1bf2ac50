"""The signed call of the power and provider hooks, against a real HTTP server."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from app.errors import PermanentPortError, TemporaryPortError
from workers.adapters.power.http_hook import HttpPower
from workers.adapters.provider.http_hook import HttpProvider
from workers.signed_hook import SignedHook

SECRET = b"a secret of the site"


class Site:
    """What the site's script sees, and how it answers."""

    def __init__(self) -> None:
        self.status = 202
        self.headers: dict[str, str] = {}
        self.asked: list[tuple[str, dict[str, str], bytes]] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                site.asked.append((self.path, dict(self.headers.items()), body))
                self.send_response(site.status)
                for name, value in site.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None: ...

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"


@pytest.fixture
def site() -> Iterator[Site]:
    there = Site()
    thread = threading.Thread(target=there.server.serve_forever)
    thread.start()
    yield there
    there.server.shutdown()
    thread.join()
    there.server.server_close()


@pytest.fixture
def hook(site: Site, tmp_path: Path) -> SignedHook:
    secret = tmp_path / "secret"
    secret.write_bytes(SECRET + b"\n")
    return SignedHook(site.url, secret)


def test_the_call_names_node_and_key_and_is_signed(site: Site, hook: SignedHook) -> None:
    HttpPower(hook).cycle("gpu-a01", "op-1-3-power-cycle-1")
    HttpProvider(hook).replace("gpu-a01", "op-1-4-replace-1")
    (path, headers, body), (other, _, _) = site.asked
    assert (path, other) == ("/hook/gpu-a01/power-cycle", "/hook/gpu-a01/replace")
    assert json.loads(body) == {"act": "power-cycle", "key": "op-1-3-power-cycle-1", "node": "gpu-a01"}
    assert headers["Idempotency-Key"] == "op-1-3-power-cycle-1"
    assert headers["X-Sickbay-Signature"] == f"sha256={hmac.new(SECRET, body, hashlib.sha256).hexdigest()}"


def test_a_name_cannot_leave_its_place_in_the_path(site: Site, hook: SignedHook) -> None:
    hook.call("power-cycle", "../other?x=1#", "key")
    assert site.asked[0][0] == "/hook/..%2Fother%3Fx%3D1%23/power-cycle"


@pytest.mark.parametrize(
    ("status", "error"),
    [(503, TemporaryPortError), (429, TemporaryPortError), (403, PermanentPortError), (302, PermanentPortError)],
)
def test_answers_are_told_apart(site: Site, hook: SignedHook, status: int, error: type[Exception]) -> None:
    site.status = status
    with pytest.raises(error, match=f"power-cycle of gpu-a01 at .* was answered with {status}"):
        hook.call("power-cycle", "gpu-a01", "key")


def test_a_busy_site_says_when_to_come_back(site: Site, hook: SignedHook) -> None:
    site.status, site.headers = 429, {"Retry-After": "7"}
    with pytest.raises(TemporaryPortError) as busy:
        hook.call("power-cycle", "gpu-a01", "key")
    assert busy.value.retry_after == timedelta(seconds=7)


def test_a_site_that_is_away_is_asked_again_later(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(SECRET)
    with pytest.raises(TemporaryPortError, match="was not answered"):
        SignedHook("http://127.0.0.1:1/hook", secret).call("power-cycle", "gpu-a01", "key")


def test_without_its_secret_nothing_is_sent(site: Site, tmp_path: Path) -> None:
    with pytest.raises(PermanentPortError, match="cannot be read"):
        SignedHook(site.url, tmp_path / "absent").call("power-cycle", "gpu-a01", "key")
    assert not site.asked
