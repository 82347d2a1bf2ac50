"""The way to Redis: how it is connected, how its scripts are called, and the one place where its errors are caught.

Records ask through a `Link`, so that nobody else needs to know redis-py or its exceptions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import resources
from typing import Any, Final

from redis import Redis
from redis.backoff import EqualJitterBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from app.errors import StoreUnavailable
from app.store.keys import lua_tables

TRIES: Final = 5
"""Retries after the first; with the backoff below, a restart of about two seconds is bridged."""
CONNECT_S: Final = 1.0
ANSWER_S: Final = 3.0
HEALTH_CHECK_S: Final = 15
"""A connection that was idle longer is asked for a PING before it is trusted."""

SCRIPTS: Final = (
    "budgets",
    "claim_due",
    "commit",
    "heartbeat",
    "lift",
    "note",
    "pending_done",
    "pending_put",
    "survey",
    "write_inventory",
)


def connect(url: str, *, decode: bool = True) -> Redis:
    """A client that survives a short absence of the server. Nothing is sent yet.

    Args:
        url: redis://, rediss:// or unix://.
        decode: answers as text, which the store wants; RQ wants bytes.
    """
    return Redis.from_url(
        url,
        decode_responses=decode,
        socket_connect_timeout=CONNECT_S,
        socket_timeout=ANSWER_S,
        health_check_interval=HEALTH_CHECK_S,
        retry=Retry(EqualJitterBackoff(cap=1.0, base=0.1), TRIES),
    )


class Link:
    """Commands, transactions and scripts on one client. Each raises StoreUnavailable when Redis does not do them."""

    def __init__(self, redis: Redis) -> None:
        if not redis.get_encoder().decode_responses:
            raise ValueError("the store needs a client with decode_responses=True, as `app.store.connect` makes it")
        self._redis = redis
        self._scripts = {name: redis.register_script(_source(name)) for name in SCRIPTS}

    def ask(self, *command: str | float) -> Any:
        """The answer to one command, in redis-py's form."""
        with _failures():
            return self._redis.execute_command(*command)  # type: ignore[no-untyped-call]

    def ask_all(self, commands: Sequence[Sequence[str | int | float]], *, at_once: bool = False) -> list[Any]:
        """The answers to several commands in one round trip; `at_once` makes them one transaction."""
        if not commands:
            return []
        with _failures(), self._redis.pipeline(transaction=at_once) as pipeline:
            for command in commands:
                pipeline.execute_command(*command)  # type: ignore[no-untyped-call]
            return list(pipeline.execute())

    def run(self, script: str, request: Mapping[str, Any]) -> list[Any]:
        """The answer of a script, which does all it does or nothing. Members that are None are left out."""
        with _failures():
            return list(self._scripts[script](args=[_told(request)]))

    def run_each(self, script: str, requests: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
        """The answers to several requests in one round trip. Each does all it does or nothing, and none the others'.

        When it raises, any of them may have been done.
        """
        with _failures(), self._redis.pipeline(transaction=False) as pipeline:
            for request in requests:
                self._scripts[script](args=[_told(request)], client=pipeline)
            return [list(answer) for answer in pipeline.execute()]


def _told(request: Mapping[str, Any]) -> str:
    return json.dumps({name: value for name, value in request.items() if value is not None})


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except RedisError as error:
        raise StoreUnavailable(
            f"The store did not answer as asked: {type(error).__name__}: {str(error).rstrip('.')}."
        ) from error


def _source(name: str) -> str:
    """One script with what all of them share before it.

    `#!lua` makes the server refuse a script as a whole when it is out of memory or read-only. Without it the script
    would begin, and stop at its first write that needs memory.
    """
    folder = resources.files("app.store") / "lua"
    return "\n".join(("#!lua", lua_tables(), *(_read(folder / f"{part}.lua") for part in ("shared", name))))


def _read(file: Any) -> str:
    return str(file.read_text(encoding="utf-8"))
