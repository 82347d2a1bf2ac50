"""GET /api/v1/…: shapes, filters and refusals."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.store.things import measure
from tests.web.conftest import Web, alert, body, gpu_node


def _open(web: Web, *nodes: str) -> list[str]:
    web.know(*(gpu_node(node) for node in nodes))
    return [web.post(body(alert(node=node))).json["alerts"][0]["operation"] for node in nodes]


def test_an_operation_has_exactly_the_shape_that_scripts_rely_on(web: Web) -> None:
    (operation,) = _open(web, "gpu-a01")

    assert web.api(f"operations/{operation}") == {
        "id": operation,
        "kind": "repair",
        "node": {"name": "gpu-a01", "uid": "uid-gpu-a01", "stage": "repair"},
        "state": "running",
        "result": None,
        "reason": "Xid 79, GPU has fallen off the bus on GPU 3.",
        "asks": None,
        "orders": {"cancel": "xid-79", "release": "xid-79 at cordon"},
        "opened_at": "2026-09-20T12:00:00.000000Z",
        "finished_at": None,
        "next_check_at": "2026-09-20T12:00:05.000000Z",
        "version": 1,
        "plan": [
            {
                "step": step,
                "rung": "reboot" if step in {"reboot", "diagnose", "benchmark"} else None,
                "state": "pending",
                "attempt": 0,
                "started_at": None,
                "finished_at": None,
                "reason": "",
            }
            for step in ("cordon", "evidence", "drain", "reboot", "diagnose", "benchmark", "release")
        ],
        "faults": [
            {
                "code": "xid-79",
                "gpu": {"serial": None, "uuid": "GPU-gpu-a01-3", "index": 3},
                "at": "2026-09-20T11:59:30.000000Z",
                "source": "alert GPUXidError",
                "evidence": "Xid 79, GPU has fallen off the bus on GPU 3",
            }
        ],
        "ticket": None,
        "timeline": [
            {
                "at": "2026-09-20T12:00:00.000000Z",
                "actor": "alert",
                "text": web.store.timeline.read(operation)[0].text,
            }
        ],
    }


def test_operations_come_in_pages_last_opened_first(web: Web) -> None:
    opened = _open(web, "gpu-a01", "gpu-a02", "gpu-a03")
    first = web.api("operations?limit=2")
    second = web.api(f"operations?limit=2&cursor={first['next']}")

    assert sorted(one["id"] for one in first["operations"] + second["operations"]) == sorted(opened)
    assert second["next"] is None
    assert "timeline" not in first["operations"][0]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("state=running", 2),
        ("state=held,running", 2),
        ("state=held&state=running", 2),
        ("state=finished", 0),
        ("kind=repair", 2),
        ("node=gpu-a02", 1),
        ("node=gpu-x", 0),
        ("state=&kind=&node=&cursor=&limit=", 2),
    ],
)
def test_operations_are_filtered(web: Web, query: str, found: int) -> None:
    _open(web, "gpu-a01", "gpu-a02")

    assert len(web.api(f"operations?{query}")["operations"]) == found


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("operations?state=broken", 400, "'broken' is no state. Use one of: running"),
        ("operations?kind=cure", 400, "'cure' is no kind. Use one of: repair"),
        ("operations?limit=0", 400, "limit must be a whole number from 1 to 500, not '0'."),
        ("operations?limit=501", 400, "limit must be"),
        ("operations?limit=-1", 400, "limit must be"),
        ("operations?limit=²", 400, "limit must be"),
        ("operations?cursor=x", 400, "'x' is no cursor"),
        ("operations/op-nix", 404, "No operation 'op-nix' is on record."),
        ("nodes/gpu-x", 404, "No node 'gpu-x' is in the last inventory."),
        ("gpus/123", 404, "No fault of a card '123' is on record."),
        ("alerts?limit=many", 400, "limit must be a whole number from 1 to 1000"),
        ("nothing", 404, "Nothing is at /api/v1/nothing."),
    ],
)
def test_a_wrong_question_is_answered_with_a_sentence(web: Web, path: str, status: int, told: str) -> None:
    answer = web.client.get(f"/api/v1/{path}")

    assert answer.status_code == status
    assert answer.content_type == "application/problem+json"
    assert answer.json is not None
    assert told in answer.json["detail"]
    assert answer.json["status"] == status
    assert answer.json["instance"].startswith("/api/v1/")


def test_nodes_tell_what_they_are_at(web: Web) -> None:
    (operation,) = _open(web, "gpu-a01")

    told = web.api("nodes")
    assert told["read_at"] == "2026-09-20T12:00:00.000000Z"
    assert told["nodes"] == [
        {
            "name": "gpu-a01",
            "uid": "uid-gpu-a01",
            "pool": "gpu",
            "ready": True,
            "unschedulable": False,
            "marked_by_us": False,
            "gpus": {"capacity": 8, "allocatable": 8, "product": ""},
            "driver_version": "",
            "rack": "",
            "zone": "",
            "boot_id": "boot-1",
            "operation": operation,
        }
    ]
    one = web.api("nodes/gpu-a01")
    assert (one["operation"], [known["id"] for known in one["operations"]]) == (operation, [operation])


def test_baselines_are_listed(web: Web) -> None:
    measure(web.store, "h100", "gpu-a01", 478.5, web.clock.now)

    assert web.api("baselines")["baselines"] == [
        {"key": "h100", "node": "gpu-a01", "bus_bandwidth_gb_s": 478.5, "at": "2026-09-20T12:00:00.000000Z"}
    ]


def test_reading_needs_no_token(make_web: Callable[..., Web]) -> None:
    assert make_web(api_tokens=None).api("operations") == {"operations": [], "next": None}


def test_a_defect_is_told_without_its_insides(make_web: Callable[..., Web]) -> None:
    web = make_web(now=lambda: 1 / 0)
    web.client.application.testing = False

    answer = web.client.get("/readyz")

    assert answer.status_code == 500
    assert answer.json is not None
    assert answer.json["detail"] == "This is a defect of Sickbay; its log holds the details."
