"""What becomes of an alert: opened, joined, put off, noted, ignored, refused; and what is stored of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from app.domain.facts import NodeView
from app.domain.operations import Result, finish
from app.domain.placement import Inventory, KnownNode
from app.domain.policies import ClusterName
from app.domain.xids import XidClass
from app.store import Change, Committed
from tests.web.conftest import GPU_LABELS, POLICY, REBOOT, Web, alert, body, decisions, gpu_node

UUID = "GPU-gpu-a01-3"


def test_a_second_fault_of_a_node_joins_its_operation(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))
    first = web.post(body(alert())).json["alerts"][0]["operation"]

    answer = web.post(body(alert(gpu="5", xid="95")))

    assert decisions(answer) == ["repair"]
    assert answer.json["alerts"][0]["operation"] == first
    assert answer.json["alerts"][0]["reason"].endswith(f"It joins {first}.")
    assert [fault["code"] for fault in web.api(f"operations/{first}")["faults"]] == ["xid-79", "xid-95"]
    assert web.jobs()[-1] == ("urgent", "workers.jobs.advance", [first])


def test_a_new_occurrence_of_a_known_fault_refreshes_and_enqueues_nothing(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))
    operation = web.post(body(alert())).json["alerts"][0]["operation"]
    before = len(web.jobs())

    answer = web.post(body(alert(startsAt="2026-09-20T11:59:50Z")))

    assert decisions(answer) == ["refresh"]
    assert (answer.json["duplicates"], answer.json["alerts"][0]["operation"]) == (1, operation)
    assert len(web.jobs()) == before
    assert len(web.api(f"gpus/{UUID}")["history"]) == 2


def test_a_known_fault_that_now_names_its_serial_completes_the_card(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))
    operation = web.post(body(alert())).json["alerts"][0]["operation"]
    again = alert(startsAt="2026-09-20T11:59:50Z")
    again["labels"]["DCGM_FI_DEV_SERIAL"] = "1650923004471"

    assert decisions(web.post(body(again))) == ["refresh"]
    assert web.api(f"operations/{operation}")["faults"][0]["gpu"] == {
        "serial": "1650923004471",
        "uuid": UUID,
        "index": 3,
    }
    assert len(web.api("gpus/1650923004471")["history"]) == 2


def test_the_same_delivery_again_is_a_duplicate_and_makes_no_second_row(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))
    operation = web.post(body(alert())).json["alerts"][0]["operation"]

    answer = web.post(body(alert()))

    assert decisions(answer) == ["duplicate"]
    assert answer.json["alerts"][0]["operation"] == operation
    assert web.api(f"operations/{operation}")["version"] == 1
    assert len(web.api(f"gpus/{UUID}")["history"]) == 1


def test_the_same_occurrence_after_a_finished_operation_opens_nothing(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))
    operation = web.store.operations.load(web.post(body(alert())).json["alerts"][0]["operation"])
    assert operation is not None
    over, entries = finish(operation, Result.RELEASED, "Released.", now=web.clock.now)
    change = Change(operation=over, expected_version=1, now=web.clock.now, entries=entries)
    assert isinstance(web.store.operations.commit(change), Committed)

    assert decisions(web.post(body(alert()))) == ["duplicate"]
    assert decisions(web.post(body(alert(startsAt="2026-09-20T11:59:59Z")))) == ["repair"]


def test_a_resolved_alert_releases_nothing_and_the_timeline_says_so(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))
    operation = web.post(body(alert())).json["alerts"][0]["operation"]

    answer = web.post(body(alert(status="resolved")))

    assert decisions(answer) == ["note"]
    assert answer.json["alerts"][0]["operation"] == operation
    told = web.api(f"operations/{operation}")
    assert (told["state"], told["result"]) == ("running", None)
    assert told["timeline"][-1]["text"].endswith("is resolved; that releases nothing.")
    assert len(web.api(f"gpus/{UUID}")["history"]) == 1


def test_a_resolved_alert_about_another_fault_leaves_the_timeline_alone(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))
    operation = web.post(body(alert())).json["alerts"][0]["operation"]

    assert decisions(web.post(body(alert(xid="95", status="resolved")))) == ["note"]
    assert len(web.api(f"operations/{operation}")["timeline"]) == 1


def test_the_end_of_a_fault_nobody_knew_makes_no_row(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))

    assert decisions(web.post(body(alert(status="resolved")))) == ["note"]
    assert web.client.get(f"/api/v1/gpus/{UUID}").status_code == 404


def test_what_began_first_opens_the_operation_whatever_the_order_of_the_list(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))
    later, earlier = alert(xid="95"), alert(xid="79", startsAt="2026-09-20T11:00:00Z")

    operation = web.post(body(later, earlier)).json["alerts"][0]["operation"]

    assert [fault["code"] for fault in web.api(f"operations/{operation}")["faults"]] == ["xid-79", "xid-95"]


def test_an_application_fault_makes_a_row_and_touches_no_node(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))

    assert decisions(web.post(body(alert(xid="31")))) == ["note"]
    assert web.api("operations")["operations"] == []
    (row,) = web.api(f"gpus/{UUID}")["history"]
    assert (row["node"], row["code"], row["class"], row["operation"]) == ("gpu-a01", "xid-31", "application", None)


def test_an_application_fault_is_noted_at_once_even_without_an_inventory(web: Web) -> None:
    assert decisions(web.post(body(alert(xid="31")))) == ["note"]
    assert web.api(f"gpus/{UUID}")["history"][0]["node"] is None


@pytest.mark.parametrize("xid", ["999", "0", "", "79.5", "-1", "0x4f"])
def test_an_unknown_or_unreadable_xid_is_only_noted(web: Web, xid: str) -> None:
    web.know(gpu_node("gpu-a01"))

    assert decisions(web.post(body(alert(xid=xid)))) == ["note"]
    assert web.api("operations")["operations"] == []


@pytest.mark.parametrize(
    ("node", "told"),
    [
        (gpu_node("gpu-a01", labels={}), "gpu-a01 is in no pool of the policy, so nothing is done to it."),
        (
            gpu_node("gpu-a01", labels={**GPU_LABELS, "node-role.kubernetes.io/control-plane": ""}),
            "gpu-a01 is a control-plane node, so nothing is done to it.",
        ),
    ],
)
def test_a_node_that_is_not_ours_is_noted(web: Web, node: NodeView, told: str) -> None:
    web.know(node)

    answer = web.post(body(alert()))

    assert decisions(answer) == ["note"]
    assert answer.json["alerts"][0]["reason"].endswith(told)
    assert len(web.api(f"gpus/{UUID}")["history"]) == 1


def test_an_alert_of_another_cluster_is_ignored_and_one_without_a_cluster_refused(
    make_web: Callable[..., Web],
) -> None:
    web = make_web(policy=replace(POLICY, cluster=ClusterName(name="eu1", label="cluster")))
    web.know(gpu_node("gpu-a01"))
    other, ours = alert(), alert()
    other["labels"]["cluster"], ours["labels"]["cluster"] = "us1", "eu1"

    assert decisions(web.post(body(other, alert(), ours))) == ["ignore", "refuse", "repair"]


def test_what_was_refused_counts_once_the_policy_is_mended(make_web: Callable[..., Web]) -> None:
    strict = make_web(policy=replace(POLICY, cluster=ClusterName(name="eu1", label="cluster")))
    strict.know(gpu_node("gpu-a01"))
    assert decisions(strict.post(body(alert()))) == ["refuse"]

    assert decisions(make_web().post(body(alert()))) == ["repair"]


def test_an_alert_that_comes_before_the_first_inventory_waits_and_is_placed_later(web: Web) -> None:
    answer = web.post(body(alert()))
    assert decisions(answer) == ["pending"]
    assert answer.json["alerts"][0]["reason"].startswith("No inventory of the nodes is there yet")
    ((_, function, (pending,)),) = web.jobs()
    assert function == "workers.jobs.place"

    taken = web.parts.intake.place_pending(pending, _inventory("gpu-a01"), web.clock.now)

    assert taken is not None
    assert (taken.decision, taken.urgent) == ("repair", True)
    assert web.store.pending.count() == 0
    assert web.api(f"operations/{taken.operation}")["faults"][0]["code"] == "xid-79"
    assert decisions(web.post(body(alert()))) == ["duplicate"]
    assert web.parts.intake.place_pending(pending, _inventory("gpu-a01"), web.clock.now) is None
    assert len(web.api(f"gpus/{UUID}")["history"]) == 1


def test_a_waiting_alert_delivered_again_is_a_duplicate(web: Web) -> None:
    assert decisions(web.post(body(alert()))) == ["pending"]
    assert decisions(web.post(body(alert()))) == ["duplicate"]
    assert web.store.pending.count() == 1


def test_an_old_inventory_places_nothing_that_is_repaired(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))
    web.clock.forward(POLICY.inventory_max_age + timedelta(seconds=1))

    answer = web.post(body(alert()))

    assert decisions(answer) == ["pending"]
    assert "The inventory of the nodes is from 2026-09-20 12:00:00 UTC" in answer.json["alerts"][0]["reason"]


def test_a_node_that_fresh_reads_do_not_know_either_is_noted(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))
    assert decisions(web.post(body(alert(node="gpu-x")))) == ["pending"]
    ((pending, _),) = web.store.pending.since()

    taken = web.parts.intake.place_pending(pending, _inventory("gpu-a01"), web.clock.now)

    assert taken is not None
    assert taken.decision == "note"
    assert "gpu-x" in taken.reason
    assert web.store.pending.count() == 0
    assert [record["decision"] for record in web.api("alerts")["alerts"]] == ["note", "pending"]


def test_a_waiting_alert_that_the_policy_no_longer_repairs_is_noted(make_web: Callable[..., Web]) -> None:
    web = make_web()
    web.post(body(alert()))
    ((pending, _),) = web.store.pending.since()
    milder = make_web(policy=replace(POLICY, ladders={XidClass.RESET: REBOOT}))

    taken = milder.parts.intake.place_pending(pending, _inventory("gpu-a01"), web.clock.now)

    assert taken is not None
    assert taken.decision == "note"
    assert web.store.pending.count() == 0


def test_labels_that_contradict_each_other_are_noted_at_once(web: Web) -> None:
    web.know(gpu_node("gpu-a01"), gpu_node("gpu-a02"))
    torn = alert()
    torn["labels"]["node"] = "gpu-a02"

    answer = web.post(body(torn))

    assert decisions(answer) == ["note"]
    assert answer.json["alerts"][0]["reason"].startswith("The labels contradict each other")


def test_a_recreated_node_waits_until_the_operation_on_the_earlier_one_has_ended(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))
    web.post(body(alert()))
    web.know(gpu_node("gpu-a01", uid="uid-second"))

    answer = web.post(body(alert(startsAt="2026-09-20T11:59:59Z", gpu="5")))

    assert decisions(answer) == ["pending"]
    ((pending, _),) = web.store.pending.since()
    still = web.parts.intake.place_pending(pending, _inventory("gpu-a01", uid="uid-second"), web.clock.now)
    assert still is not None
    assert (still.decision, still.pending) == ("pending", pending)
    assert web.store.pending.count() == 1


def test_an_exporter_pods_name_places_an_alert_that_names_no_node(web: Web) -> None:
    web.know(gpu_node("gpu-a01"), exporter_pods={"gpu-operator/dcgm-exporter-x": "gpu-a01"})
    labels = {"alertname": "GPUXid", "err_code": "79", "namespace": "gpu-operator", "pod": "dcgm-exporter-x"}

    assert decisions(web.post(body(alert(labels=labels)))) == ["repair"]


def test_the_watchdog_is_heard_and_leaves_no_row(web: Web) -> None:
    message = body(alert(labels={"alertname": "Watchdog"}))

    for _ in range(2):
        assert decisions(web.post(message)) == ["note"]
        assert web.store.watchdog.last() == web.clock.now
        web.clock.forward(timedelta(minutes=5))
    assert web.api("alerts")["alerts"] == []


def test_a_resolved_watchdog_is_not_heard(web: Web) -> None:
    web.post(body(alert(labels={"alertname": "Watchdog"}, status="resolved")))

    assert web.store.watchdog.last() is None


def test_what_was_odd_about_an_alert_stands_in_the_timeline(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))
    operation = web.post(body(alert(startsAt="soon"))).json["alerts"][0]["operation"]

    assert "'soon' is no time" in web.api(f"operations/{operation}")["timeline"][-1]["text"]


def test_ids_are_short_and_fit_for_labels(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))
    operation = web.post(body(alert())).json["alerts"][0]["operation"]

    assert operation.startswith("op-")
    assert len(operation) == 11
    assert set(operation[3:]) <= set("abcdefghijklmnopqrstuvwxyz234567")


def _inventory(name: str, *, uid: str = "") -> Inventory:
    return Inventory(nodes=(KnownNode(name=name, uid=uid or f"uid-{name}", labels=GPU_LABELS),))
