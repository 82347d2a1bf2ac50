"""One body with alerts of many nodes: stored in few round trips, each as if it had come alone."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from tests.web.conftest import Web, alert, body, decisions, gpu_node

NODES = [f"gpu-a{number:02d}" for number in range(1, 41)]


def _reads(web: Web) -> int:
    """How often the store's server has read from a connection."""
    return int(web.parts.queues._redis.info("stats")["total_reads_processed"])


def test_a_body_costs_far_fewer_round_trips_than_it_has_alerts(web: Web) -> None:
    web.know(*(gpu_node(node) for node in NODES))
    before = _reads(web)

    assert decisions(web.post(body(*map(alert, NODES)))) == ["repair"] * len(NODES)

    assert _reads(web) - before < len(NODES)
    operations = web.api("operations?limit=100")["operations"]
    assert sorted(operation["node"]["name"] for operation in operations) == NODES


def test_each_of_its_alerts_gets_its_own_decision(web: Web) -> None:
    web.know(gpu_node("gpu-a01"), gpu_node("gpu-a02"))
    there = web.post(body(alert("gpu-a02"))).json["alerts"][0]["operation"]

    answer = web.post(
        body(
            alert("gpu-a01"),
            alert("gpu-a01", gpu="5"),
            alert("gpu-a02"),
            alert("gpu-a02", gpu="6"),
            alert("gpu-z99"),
            alert("gpu-a01"),
            {"status": "firing"},
        )
    )

    assert decisions(answer) == ["repair", "repair", "duplicate", "repair", "pending", "duplicate", "refuse"]
    opened = answer.json["alerts"][0]["operation"]
    assert [one["operation"] for one in answer.json["alerts"]] == [opened, opened, there, there, None, opened, None]
    assert len(web.api(f"operations/{opened}")["faults"]) == 2


def test_two_bodies_of_the_same_alerts_at_the_same_moment_count_once(web: Web) -> None:
    web.know(*(gpu_node(node) for node in NODES))
    gate = Barrier(2)

    def deliver(_: int) -> list[str]:
        client = web.client.application.test_client()
        other = Web(web.parts, client, web.clock, web.tokens, web.api_tokens)
        gate.wait()
        return list(decisions(other.post(body(*map(alert, NODES)))))

    with ThreadPoolExecutor(2) as threads:
        told = Counter(decision for answer in threads.map(deliver, range(2)) for decision in answer)

    assert told == {"repair": len(NODES), "duplicate": len(NODES)}
    assert len(web.api("operations?limit=100")["operations"]) == len(NODES)
