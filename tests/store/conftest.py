"""A real Valkey for the whole session, emptied for each test, and the people and things that the tests speak of."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from redis import Redis

from app.store import Store, connect
from simulator import valkey


@pytest.fixture(scope="session")
def server() -> Iterator[valkey.EmbeddedValkey]:
    with valkey.start(appendonly=False) as running:
        yield running


@pytest.fixture
def redis(server: valkey.EmbeddedValkey) -> Iterator[Redis]:
    with connect(server.url) as client:
        client.flushall()
        yield client


@pytest.fixture
def store(redis: Redis) -> Store:
    return Store(redis)
