"""The bare limits that benches measure beside Sickbay: the same server with nothing behind it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
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
        while not _answers(url):
            if time.monotonic() > ends:
                raise RuntimeError(f"the empty Flask route does not answer\n{child.log.read_text()[-1500:]}")
            time.sleep(0.05)
        yield url
    finally:
        child.stop()


def _answers(url: str) -> bool:
    try:
        return requests.post(f"{url}/", data=b"", timeout=1).ok
    except requests.RequestException:
        return False
