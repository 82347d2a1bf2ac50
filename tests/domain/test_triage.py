from __future__ import annotations

import pytest

from app.domain.alerts import Alert, read_alert
from app.domain.faults import Gpu
from app.domain.policies import AlertNames, ClusterName, Policy
from app.domain.triage import Decision, Triage, read_gpu, triage
from app.domain.xids import XidClass
from tests.building import OPENED, a_case, a_policy, a_pool, an_alert, rungs, xids


def judged(alert: Alert, policy: Policy | None = None) -> Triage:
    return triage(alert, policy or a_policy(), xids())


def test_an_xid_that_policy_has_a_ladder_for_is_repaired() -> None:
    told = judged(an_alert())
    assert (told.decision, told.code, told.xid, told.class_) == (Decision.REPAIR, "xid-79", 79, XidClass.REBOOT)
    assert told.ladder == rungs("reboot")
    assert told.gpu == Gpu(uuid="GPU-0103", index=3)
    assert told.evidence == "Xid 79, GPU has fallen off the bus on GPU 3"


@pytest.mark.parametrize(
    ("labels", "decision", "reason"),
    [
        ({"err_code": "31"}, Decision.NOTE, "class application, which the policy only notes"),
        ({"err_code": "999"}, Decision.NOTE, "class unknown, which the policy only notes"),
        ({"err_code": ""}, Decision.NOTE, "no label names an Xid, and none is guessed from text or value"),
        ({"err_code": "0"}, Decision.NOTE, "no label names an Xid"),
        ({"err_code": "27.69"}, Decision.NOTE, "its Xid label holds '27.69', which is no Xid"),
        ({"err_code": "79", "xid": "48"}, Decision.NOTE, "its Xid label holds '79 and 48', which is no Xid"),
        ({"alertname": "DiskFull"}, Decision.IGNORE, "alerts named 'DiskFull' are not in the policy's list"),
        ({"alertname": ""}, Decision.IGNORE, "alerts named '' are not in the policy's list"),
    ],
)
def test_doubt_notes_or_ignores_and_says_why(labels: dict[str, str], decision: Decision, reason: str) -> None:
    told = judged(an_alert(labels))
    assert told.decision is decision
    assert reason in told.reason
    assert told.ladder == ()


def test_a_resolved_alert_releases_nothing_and_orders_nothing() -> None:
    told = judged(an_alert(status="resolved"))
    assert (told.decision, told.ladder, told.code) == (Decision.NOTE, (), "xid-79")
    assert "is resolved, which proves no repair and releases nothing" in told.reason


def test_the_catalogues_reason_follows_where_it_has_one() -> None:
    told = judged(an_alert({"err_code": "999"}))
    assert told.reason.startswith(
        "Xid 999: class unknown, which the policy only notes. Xid 999 is not in the catalogue"
    )
    assert judged(an_alert()).reason == "Xid 79, GPU has fallen off the bus: class reboot"


def test_an_alert_that_names_no_card_still_tells_its_fault() -> None:
    told = judged(an_alert({"gpu": "", "UUID": ""}))
    assert told.gpu is None
    assert told.evidence == "Xid 79, GPU has fallen off the bus"


@pytest.mark.parametrize(
    ("labels", "decision", "reason"),
    [
        ({"cluster": "main"}, Decision.REPAIR, "class reboot"),
        ({"cluster": "other"}, Decision.IGNORE, "it is about the cluster 'other', this is 'main'"),
        ({"cluster": "MAIN"}, Decision.IGNORE, "it is about the cluster 'MAIN', this is 'main'"),
        ({}, Decision.REFUSE, "it lacks the label 'cluster', which must name the cluster 'main'"),
        ({"alertname": "Watchdog", "cluster": "other"}, Decision.IGNORE, "it is about the cluster 'other'"),
    ],
)
def test_only_this_clusters_alerts_count_once_policy_names_the_label(
    labels: dict[str, str], decision: Decision, reason: str
) -> None:
    told = judged(an_alert(labels), a_policy(cluster=ClusterName(name="main", label="cluster")))
    assert told.decision is decision
    assert reason in told.reason
    assert not told.watchdog


@pytest.mark.parametrize(("status", "heard"), [("firing", True), ("resolved", False)])
def test_the_watchdog_is_heard_while_it_fires_and_is_never_an_incident(status: str, heard: bool) -> None:
    told = judged(an_alert({"alertname": "Watchdog"}, status=status))
    assert (told.decision, told.watchdog, told.code) == (Decision.NOTE, heard, None)


def test_an_operator_may_order_rungs_for_one_code_or_take_them_away() -> None:
    policy = a_policy(faults={"xid-43": (), "xid-79": None})
    drained = judged(an_alert({"err_code": "43"}), policy)
    assert (drained.decision, drained.ladder) == (Decision.REPAIR, ())
    assert judged(an_alert(), policy).decision is Decision.NOTE


@pytest.mark.parametrize(
    ("labels", "gpu"),
    [
        ({"UUID": "GPU-1", "gpu": "3"}, Gpu(uuid="GPU-1", index=3)),
        ({"uuid": "GPU-1"}, Gpu(uuid="GPU-1")),
        ({"gpu_uuid": "GPU-1"}, Gpu(uuid="GPU-1")),
        ({"UUID": "MIG-1", "uuid": "GPU-1"}, Gpu(uuid="GPU-1")),
        ({"DCGM_FI_DEV_SERIAL": "0321000000335", "gpu": "0"}, Gpu(serial="0321000000335", index=0)),
        ({"DCGM_FI_DEV_SERIAL": "[N/A]", "serial": "99"}, Gpu(serial="99")),
        ({"gpu": "٣"}, None),
        ({"gpu": "-1"}, None),
        ({"gpu": "nvidia3"}, None),
        ({"gpu": "9" * 5000}, None),
        ({"UUID": "0103"}, None),
        ({}, None),
    ],
)
def test_the_card_is_what_the_labels_name_by_serial_uuid_or_index(labels: dict[str, str], gpu: Gpu | None) -> None:
    assert read_gpu(labels) == gpu


def test_a_fault_is_made_of_the_alert_and_its_judgement() -> None:
    alert = an_alert()
    fault = judged(alert).fault(alert, "gpu-a01")
    assert (fault.code, fault.node, fault.at, fault.source) == ("xid-79", "gpu-a01", OPENED, "alert GpuXid")
    assert fault.evidence == "Xid 79, GPU has fallen off the bus on GPU 3"


def test_an_alert_that_names_no_fault_makes_none() -> None:
    alert = an_alert({"err_code": ""})
    with pytest.raises(ValueError, match="this alert names no fault"):
        judged(alert).fault(alert, "gpu-a01")


# Failures of others


def test_the_number_in_a_text_is_not_the_xid() -> None:
    case = a_case("value_is_not_the_xid")
    alerts = [read_alert(one, received_at=OPENED) for one in case["payload"]["alerts"]]
    told = [judged(alert) for alert in alerts]
    assert [one.xid for one in told] == case["want_xids"]
    assert {one.decision for one in told} == {Decision.NOTE}


def test_of_one_fault_and_its_tail_only_what_needs_a_repair_is_one() -> None:
    case = a_case("many_xids")
    told = [judged(read_alert(one, received_at=OPENED)) for one in case["payload"]["alerts"]]
    decisions = {str(one.xid): one.decision for one in told}
    assert case["want"].items() <= decisions.items()
    assert {one.gpu.index for one in told if one.gpu and one.xid == 79} == {3}


def test_errors_of_programs_are_noted_with_their_card_and_never_repaired() -> None:
    for one in a_case("application_xids")["cases"]:
        told = judged(read_alert(one["alert"], received_at=OPENED))
        assert (told.decision, told.xid, told.ladder) == (Decision.NOTE, one["xid"], ())
        assert told.code is not None
        assert told.gpu is not None


def test_a_health_alert_that_relays_an_xid_in_its_text_is_not_judged_by_that_text() -> None:
    policy = a_policy(alerts=AlertNames(xid=("GpuXid*", "DCGMHealth*")))
    relayed = an_alert(
        {"alertname": "DCGMHealthMemFail", "err_code": ""}, annotations={"message": "detected XID 79 for GPU 3"}
    )
    assert judged(relayed, policy).decision is Decision.NOTE


def test_the_pool_of_its_node_may_order_other_rungs_for_a_fault() -> None:
    pool = a_pool(faults={"xid-79": rungs("ticket")})
    told = triage(an_alert(), a_policy(pool), xids(), pool)
    assert (told.decision, told.ladder) == (Decision.REPAIR, rungs("ticket"))
    assert triage(an_alert(), a_policy(pool), xids()).ladder == rungs("reboot")
