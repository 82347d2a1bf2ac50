"""The bare limits that benches measure beside Sickbay: the same server with nothing behind it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import requests
from flask import Flask, request

from simulator.children import Child
from simulator.local_ports import free_port

ROOT = Path(__file__).parents[1]


def empty() -> Flask:
    """A Flask application whose one route reads the body and answers 202."""
    app = Flask(__name__)

    @app.post("/")
    def nothing() -> tuple[dict[str, int], int]:
        return {"bytes": len(request.get_data())}, 202

    return app


@contextmanager
def empty_flask(directory: Path) -> Iterator[str]:
    """That application behind gunicorn with Sickbay's own configuration; yields its URL."""
    port = free_port()
    argv = [sys.executable, "-m", "gunicorn", "--config", str(ROOT / "config" / "gunicorn.conf.py")]
    argv += ["--bind", f"127.0.0.1:{port}", "simulator.bench_limits:empty()"]
    child = Child(argv, log=directory / "empty-flask.log", cwd=ROOT, environ=dict(os.environ))
    url = f"http://127.0.0.1:{port}"
    try:
        ends = time.monotonic() + 20
        while time.monotonic() < ends:
            with suppress(requests.ConnectionError):
                requests.post(f"{url}/", data=b"", timeout=1)
                break
            time.sleep(0.05)
        yield url
    finally:
        child.stop()
