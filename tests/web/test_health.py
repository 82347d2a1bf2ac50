"""/healthz, /readyz, /metrics: what they name, and that the reference page names it too."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.metrics import FleetCollector, WebMetrics
from app.queue import WorkQueues
from app.store import Store
from tests.web.conftest import NOON, POLICY, ROOT, Web, alert, body, gpu_node

REFERENCE = ROOT / "docs" / "reference" / "metrics.md"


def _samples(web: Web) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    families = text_string_to_metric_families(web.client.get("/metrics").text)
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def _of(web: Web, name: str, **labels: str) -> float:
    return _samples(web)[name, tuple(sorted(labels.items()))]


def test_it_lives_as_long_as_it_answers(web: Web) -> None:
    assert web.client.get("/healthz").json == {"alive": True}


def test_what_is_missing_is_named_and_only_what_loses_alerts_is_fatal(web: Web) -> None:
    answer = web.client.get("/readyz")

    assert answer.status_code == 200
    assert answer.json is not None
    assert {one["what"]: one["fatal"] for one in answer.json["missing"]} == {
        "inventory": False,
        "workers": False,
        "watch": False,
    }


def test_nothing_is_missing_while_all_are_well(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))
    for component in ("worker", "watch"):
        web.store.heartbeats.beat(component, "one", web.clock.now)

    assert web.client.get("/readyz").json == {"ready": True, "missing": []}


def test_an_old_inventory_is_named_with_its_age(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))
    web.clock.forward(timedelta(minutes=7))

    assert "The nodes were read 7 min ago, more than 5 min" in web.client.get("/readyz").text


def test_without_a_readable_token_file_it_is_not_ready(web: Web) -> None:
    web.tokens.unlink()

    answer = web.client.get("/readyz")

    assert answer.status_code == 503
    assert answer.json is not None
    assert answer.json["missing"][0]["what"] == "webhook token"


def test_a_scrape_tells_the_fleet(web: Web) -> None:
    web.know(gpu_node("gpu-a01"), replace(gpu_node("gpu-a02"), ready=False))
    web.post(body(alert(), alert(node="gpu-x"), alert(xid="31", gpu="1")))
    web.post(body(alert(labels={"alertname": "Watchdog"})))
    web.store.heartbeats.beat("worker", "one", web.clock.now)
    web.store.pause.set("ana", "shelf", web.clock.now)
    web.clock.forward(timedelta(seconds=30))

    assert _of(web, "sickbay_store_up") == 1
    assert _of(web, "sickbay_operations", kind="repair", state="running") == 1
    assert _of(web, "sickbay_operations", kind="repair", state="held") == 0
    assert _of(web, "sickbay_steps", step="cordon", state="pending") == 1
    assert _of(web, "sickbay_budget_used_nodes", budget="disruptions", pool="") == 1
    assert _of(web, "sickbay_budget_limit_nodes", budget="disruptions", pool="") == POLICY.budgets.disruptions
    assert _of(web, "sickbay_queue_jobs", queue="urgent") == 2
    assert _of(web, "sickbay_workers_alive") == 1
    assert _of(web, "sickbay_watches_alive") == 0
    assert _of(web, "sickbay_watchdog_age_seconds") == 30
    assert _of(web, "sickbay_inventory_age_seconds") == 30
    assert _of(web, "sickbay_pending_alerts") == 1
    assert _of(web, "sickbay_paused") == 1
    assert _of(web, "sickbay_alerts_total", decision="note") == 2
    assert _of(web, "sickbay_webhook_bodies_total", status="202") == 2
    assert _of(web, "sickbay_webhook_duration_seconds_count") == 2
    assert _of(web, "sickbay_alert_delay_seconds_sum") == 30


def test_what_was_never_heard_is_infinitely_old(web: Web) -> None:
    assert _of(web, "sickbay_watchdog_age_seconds") == math.inf
    assert _of(web, "sickbay_inventory_age_seconds") == math.inf


def test_a_pools_budget_has_the_pools_name(make_web: Callable[..., Web]) -> None:
    (pool,) = POLICY.pools
    web = make_web(policy=replace(POLICY, pools=(replace(pool, disruptions=2),)))

    assert _of(web, "sickbay_budget_limit_nodes", budget="disruptions", pool="gpu") == 2


def test_no_label_holds_a_node_or_an_id(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))
    operation = web.post(body(alert())).json["alerts"][0]["operation"]

    text = web.client.get("/metrics").text

    assert "gpu-a01" not in text
    assert operation not in text


def test_two_applications_of_one_process_do_not_share_counters(make_web: Callable[..., Web]) -> None:
    one, other = make_web(), make_web()
    one.post(body())

    assert _of(other, "sickbay_webhook_bodies_total", status="202") == 0


def _names(store: Store, queues: WorkQueues) -> set[str]:
    metrics = WebMetrics()
    metrics.registry.register(FleetCollector(store, queues, POLICY, lambda: NOON))
    return {family.name + ("_total" if family.type == "counter" else "") for family in metrics.registry.collect()}


def test_every_metric_is_documented_and_nothing_else(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))
    rows = re.findall(r"^\| `(sickbay_[a-z_]+)` \|", REFERENCE.read_text(encoding="utf-8"), re.MULTILINE)

    assert sorted(rows) == sorted(_names(web.store, web.parts.queues))


@pytest.mark.parametrize("name", ["inventory", "workers", "watch"])
def test_a_remark_is_a_sentence(web: Web, name: str) -> None:
    answer = web.client.get("/readyz")
    assert answer.json is not None
    (reason,) = (one["reason"] for one in answer.json["missing"] if one["what"] == name)

    assert reason.endswith(".")
