"""Bodies as Alertmanager sends them, and the inputs that broke receivers like this one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.domain.facts import NodeView
from tests.web.conftest import SAMPLES, Web, case, decisions, gpu_node

FLEET = tuple(gpu_node(f"gpu-a0{number}") for number in range(1, 8))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("firing_single_0_34", ["repair"]),
        ("firing_single_pre_0_32", ["repair"]),
        ("mixed_firing_and_resolved", ["repair", "note"]),
        ("resolved", ["note"]),
        ("truncated_max_alerts_2_of_8", ["repair", "repair"]),
    ],
)
def test_a_body_of_alertmanager_is_understood(web: Web, name: str, expected: list[str]) -> None:
    web.know(gpu_node("gpu-node-1"))

    assert decisions(web.post(_sample(name))) == expected


def test_no_sample_is_left_out() -> None:
    parameters = test_a_body_of_alertmanager_is_understood.pytestmark[0].args[1]  # type: ignore[attr-defined]

    assert {name for name, _ in parameters} == {path.stem for path in (SAMPLES / "alertmanager").glob("*.json")}


def test_times_in_any_spelling_are_understood(web: Web) -> None:
    web.know(*FLEET)

    answer = web.post(case("A02-times")["payload"])

    assert decisions(answer) == ["repair"] * 5
    began = [web.api(f"operations/{one['operation']}")["faults"][0]["at"] for one in answer.json["alerts"]]
    assert began == [
        "2026-09-20T10:00:17.160954Z",
        "2026-09-20T10:00:17.113904Z",
        "2026-09-20T10:00:20.000000Z",
        "2026-09-20T12:00:00.000000Z",  # In the future: the time of receipt.
        "2026-09-20T12:00:00.000000Z",  # No time at all.
    ]


def test_two_peers_deliver_one_notification_and_it_counts_once(web: Web) -> None:
    web.know(*FLEET)
    first, second = (step["post"] for step in case("A03-ha-duplicates")["steps"][:2])

    assert decisions(web.post(first)) == ["repair"]
    assert decisions(web.post(second)) == ["duplicate"]
    assert len(web.jobs()) == 1
    assert len(web.api("gpus/GPU-00000000-0000-4000-8000-000000000103")["history"]) == 1


def test_what_is_there_of_a_truncated_group_is_taken(web: Web) -> None:
    web.know(*(gpu_node(f"gpu-b00{number}") for number in range(1, 6)))

    assert decisions(web.post(case("A05-truncated-group"))) == ["repair"] * 5
    assert "sickbay_alerts_truncated_total 9995.0" in web.client.get("/metrics").text


def test_a_watchdog_a_test_alert_and_a_drill_repair_nothing(web: Web) -> None:
    web.know(*FLEET)
    bodies = case("A06-watchdog-and-tests")

    assert [list(decisions(web.post(one))) for one in bodies] == [["note"], ["ignore"], ["pending"], []]
    assert web.store.watchdog.last() == web.clock.now
    ((pending, _),) = web.store.pending.since()
    inventory = web.store.inventory.read()
    assert inventory is not None
    drill = web.parts.intake.place_pending(pending, inventory[0], web.clock.now)
    assert drill is not None
    assert drill.decision == "note"
    assert web.api("operations")["operations"] == []


def _name_forms() -> list[tuple[dict[str, str], str | None]]:
    return [(labels, wanted) for labels, wanted in case("A09-node-name-forms")["labels_to_resolve"]]


@pytest.mark.parametrize(("labels", "wanted"), _name_forms())
def test_a_node_is_found_under_every_name_it_has_and_never_guessed(
    web: Web, labels: dict[str, str], wanted: str | None
) -> None:
    web.know(*(_node_of(node) for node in case("A09-node-name-forms")["nodes"]))
    told = {"status": "firing", "labels": {"alertname": "GPUXid", "err_code": "79", **labels}}

    answer = web.post({"version": "4", "alerts": [told]})

    nodes = [one["node"]["name"] for one in web.api("operations")["operations"]]
    doubtful = wanted is None or "no action" in wanted
    assert nodes == ([] if doubtful else [wanted])
    assert decisions(answer) == (["repair"] if not doubtful else ["pending" if wanted is None else "note"])


def test_a_number_in_the_text_is_no_xid(web: Web) -> None:
    web.know(*FLEET)

    assert decisions(web.post(case("A11-value-is-not-the-xid")["payload"])) == ["note", "note", "note"]
    assert web.api("operations")["operations"] == []
    codes = [row["code"] for row in web.api("gpus/GPU-00000000-0000-4000-8000-000000000303")["history"]]
    assert codes == ["xid-31"]


def test_many_codes_of_one_fault_make_one_operation(web: Web) -> None:
    web.know(*FLEET)

    answer = web.post(case("A14-many-xids-one-node"))

    (operation,) = web.api("operations")["operations"]
    assert operation["faults"][0]["code"] == "xid-79"
    by_code = dict(zip(("45", "79", "45 of GPU 0", "74", "154"), decisions(answer), strict=True))
    assert (by_code["45"], by_code["79"], by_code["45 of GPU 0"]) == ("note", "repair", "note")
    assert operation["faults"][0]["gpu"]["index"] == 3


@pytest.mark.parametrize("one", case("B01-app-xids")["cases"], ids=lambda one: f"xid {one['xid']}")
def test_an_applications_fault_costs_no_node(web: Web, one: dict[str, Any]) -> None:
    web.know(*FLEET)

    assert decisions(web.post(one["payload"])) == ["note"]
    assert web.api("operations")["operations"] == []
    (row,) = web.api("gpus/GPU-00000000-0000-4000-8000-000000000103")["history"]
    assert (row["code"], row["class"], row["node"]) == (f"xid-{one['xid']}", "application", "gpu-a01")


def _sample(name: str) -> Any:
    return json.loads((SAMPLES / "alertmanager" / f"{name}.json").read_text(encoding="utf-8"))


def _node_of(told: dict[str, Any]) -> NodeView:
    return gpu_node(told["metadata"]["name"], *(one["address"] for one in told["status"]["addresses"]))
