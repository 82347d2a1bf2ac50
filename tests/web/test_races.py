"""Deliveries at the same moment, and a store that goes away: nothing counts twice and nothing is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from app.queue import WorkQueues
from app.store import Store, connect
from app.store.keys import KEYS
from simulator import valkey
from tests.web.conftest import Web, alert, body, decisions, gpu_node


def _at_once(web: Web, bodies: list[Any]) -> list[str]:
    gate = Barrier(len(bodies))

    def deliver(message: Any) -> str:
        # A test client keeps cookies and context, so each thread has its own, as each connection has.
        client = web.client.application.test_client()
        gate.wait()
        other = Web(web.parts, client, web.clock, web.tokens, web.api_tokens)
        return decisions(other.post(message))[0]

    with ThreadPoolExecutor(len(bodies)) as threads:
        return list(threads.map(deliver, bodies))


@pytest.mark.parametrize("attempt", range(5))
def test_one_occurrence_delivered_by_eight_at_the_same_moment_counts_once(web: Web, attempt: int) -> None:
    web.know(gpu_node("gpu-a01"))

    told = Counter(_at_once(web, [body(alert())] * 8))

    assert told == {"repair": 1, "duplicate": 7}
    (operation,) = web.api("operations")["operations"]
    assert (operation["version"], len(operation["faults"])) == (1, 1)
    assert len(web.api("gpus/GPU-gpu-a01-3")["history"]) == 1
    assert len(web.jobs()) == 1


def test_eight_faults_of_one_node_at_the_same_moment_make_one_operation(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))

    told = _at_once(web, [body(alert(gpu=str(index))) for index in range(8)])

    assert told == ["repair"] * 8
    (operation,) = web.api("operations")["operations"]
    assert sorted(fault["gpu"]["index"] for fault in operation["faults"]) == list(range(8))


def test_an_alert_that_waits_is_put_once_by_eight_at_the_same_moment(web: Web) -> None:
    assert Counter(_at_once(web, [body(alert())] * 8)) == {"pending": 1, "duplicate": 7}
    assert web.store.pending.count() == 1


def test_a_body_that_was_stored_in_part_counts_each_alert_once_when_it_comes_again(web: Web) -> None:
    web.know(gpu_node("gpu-a01"), gpu_node("gpu-a02"))
    newer = web.post(body(alert(node="gpu-a02"))).json["alerts"][0]["operation"]
    redis = web.store._link._redis
    kept: Any = redis.hgetall(KEYS["operation"] + newer)
    redis.hset(KEYS["operation"] + newer, mapping={"document": '{"v":99}', "schema": "99"})
    message = body(
        alert(startsAt="2026-09-20T11:00:00Z"), alert(node="gpu-a02", gpu="7", startsAt="2026-09-20T11:30:00Z")
    )

    assert web.post(message).status_code == 503
    assert len(web.jobs()) == 2  # What was stored is on its way all the same.

    redis.hset(KEYS["operation"] + newer, mapping=kept)
    assert decisions(web.post(message)) == ["duplicate", "repair"]
    assert len(web.api("gpus/GPU-gpu-a01-3")["history"]) == 1


@pytest.mark.thorough
def test_while_the_store_is_down_alertmanager_is_asked_to_come_again_and_then_it_counts_once(
    make_web: Callable[..., Web],
) -> None:
    with valkey.start() as server:
        store_redis, queue_redis = connect(server.url), connect(server.url, decode=False)
        web = make_web(store=Store(store_redis), queues=WorkQueues(queue_redis))
        web.know(gpu_node("gpu-a01"))
        server.kill()

        answer = web.post(body(alert()))

        assert answer.status_code == 503
        assert answer.headers["Retry-After"]
        assert answer.json["title"] == "Service Unavailable"
        _the_rest_says_so_too(web)
        server.restart()
        assert [decisions(web.post(body(alert())))[0] for _ in range(2)] == ["repair", "duplicate"]
        assert len(web.api("gpus/GPU-gpu-a01-3")["history"]) == 1
        store_redis.close()
        queue_redis.close()


def _the_rest_says_so_too(web: Web) -> None:
    ready = web.client.get("/readyz")
    assert (ready.status_code, ready.json["missing"][0]["what"]) == (503, "store")  # type: ignore[index]
    assert web.client.get("/healthz").status_code == 200
    scrape = web.client.get("/metrics")
    assert scrape.status_code == 200
    assert "sickbay_store_up 0.0" in scrape.text
    assert 'sickbay_webhook_bodies_total{status="503"} 1.0' in scrape.text
    page = web.client.get("/")
    assert page.status_code == 503
    assert "Not available now" in page.text


def test_a_lost_enqueue_is_counted_and_the_alert_stays_accepted(make_web: Callable[..., Web]) -> None:
    with valkey.start() as server:
        queue_redis = connect(server.url, decode=False)
        web = make_web(queues=WorkQueues(queue_redis))
        web.know(gpu_node("gpu-a01"))
        server.kill()

        assert decisions(web.post(body(alert()))) == ["repair"]
        assert web.parts.metrics.not_enqueued._value.get() == 1
        assert web.store.operations.due(web.clock.now.replace(hour=13)) != []
        queue_redis.close()
