"""The main story and its bad turns over HTTP only: webhook in, API and cluster out, with the real processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chart.release import Release
from tests.control_plane.emptying import emptied
from tests.story.house import POLICY, House, a_house, an_alert, eventually


@pytest.fixture(scope="module", params=["simulated", "real"])
def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """One house for all of these; each test has nodes of its own. On the real control plane by the chart's accounts."""
    directory = Path(tmp_path_factory.mktemp("house"))
    if request.param == "simulated":
        with a_house(directory, nodes=9) as whole:
            yield whole
        return
    plane = request.getfixturevalue("control_plane")
    release = Release(plane, request.getfixturevalue("helm"), POLICY)
    with emptied(plane) as real:
        release.clear()
        release.put("install", "act", "--set", "nodeJobs.allowTags=true")
        with a_house(directory, nodes=9, real=real, kubeconfigs=release.kubeconfigs()) as whole:
            yield whole
        release.take_away()


def test_a_gpu_off_the_bus_is_repaired_and_proven_while_the_training_goes_on_elsewhere(house: House) -> None:
    node, boot_id = "gpu-a03", house.node("gpu-a03")["status"]["nodeInfo"]["bootID"]
    house.until_at_work(node, "llama-ft", "vllm-chat")
    house.strike("budget", blocked=True, node=node)
    house.strike("faults", node=node, gpu=6, xid=79)
    blocked = house.until(node, state="waiting", words="serve/vllm-chat")
    assert [step["step"] for step in blocked["plan"] if step["state"] == "done"] == ["cordon", "evidence"]
    assert house.node(node)["spec"]["unschedulable"]
    house.strike("budget", blocked=False)
    operation = house.until(node, state="finished")
    assert operation["result"] == "released"
    assert [(step["step"], step["state"]) for step in operation["plan"]] == [
        (step, "done") for step in ("cordon", "evidence", "drain", "reboot", "diagnose", "benchmark", "release")
    ]
    first, *_ = house.writes()
    assert (first["verb"], first["resource"], first["name"]) == ("patch", "nodes", node)
    after = house.node(node)
    assert after["status"]["nodeInfo"]["bootID"] != boot_id
    assert not after["spec"].get("unschedulable")
    assert not [key for key in (*after["metadata"]["annotations"], *after["metadata"]["labels"]) if "sickbay/" in key]
    evictions = [act for act in house.writes() if act["subresource"] == "eviction"]
    evicted = [act["name"] for act in evictions]
    assert len(set(evicted)) == len(evicted), "a pod was evicted twice"
    assert {name.partition("-")[0] for name in evicted} == {"llama", "vllm"}
    state = house.cluster_state()
    assert state["checkpoints"], "the training run was not given the time to save a checkpoint"
    training = next(pod for pod in state["pods"] if pod["name"].startswith("llama-ft"))
    assert training["node"] != node
    gpu = operation["faults"][0]["gpu"]
    assert house.get(f"gpus/{gpu['serial']}")["history"][0]["code"] == "xid-79"


UNPROVEN = {
    "gpu-a04": ({"diagnosis": "fail"}, "memory"),
    "gpu-a05": ({"diagnosis": "skip"}, "inconclusive"),
    "gpu-a06": ({"diagnosis": "garbage"}, "inconclusive"),
    "gpu-a07": ({"bandwidth": "slow"}, "GB/s"),
    "gpu-a08": ({"reboot": "same-boot"}, "no new boot id"),
    "gpu-a09": ({"reboot": "gpu-missing"}, "7 of 8 GPUs"),
}


SLOW = {"gpu-a08", "gpu-a09"}
"""Sickbay waits long for these to come back, and so does the test."""


@pytest.fixture(scope="module")
def unproven(house: House) -> House:
    """All of them fall ill at once, each with hardware that fails its proof in its own way."""
    for node, (behaviours, _) in UNPROVEN.items():
        house.strike("behaviours", node=node, gpu=2, **behaviours)
        house.strike("faults", node=node, gpu=2, xid=79)
    return house


@pytest.mark.parametrize(
    "node", [pytest.param(node, marks=pytest.mark.thorough if node in SLOW else ()) for node in UNPROVEN]
)
def test_what_is_not_proven_is_not_released(unproven: House, node: str) -> None:
    operation = unproven.until(node, state="needs-human")
    assert UNPROVEN[node][1] in operation["reason"]
    assert unproven.node(node)["spec"]["unschedulable"]


def test_a_resolved_alert_releases_nothing_and_a_persons_cancel_gives_the_node_back(unproven: House) -> None:
    node = "gpu-a04"
    operation = unproven.until(node, state="needs-human")
    alert = an_alert(node, gpu=2) | {"status": "resolved"}
    assert unproven.post(alert)["noted"] == 1
    after = unproven.until(node)
    assert after["state"] == "needs-human"
    assert "resolved; that releases nothing" in str(after["timeline"])
    assert unproven.node(node)["spec"]["unschedulable"]
    unproven.order(operation["id"], "cancel", "the hardware team has it")
    assert unproven.until(node, state="finished")["result"] == "cancelled"
    assert not unproven.node(node)["spec"].get("unschedulable")


def test_a_persons_uncordon_stops_everything_at_once(house: House) -> None:
    node = "gpu-a01"
    house.strike("budget", blocked=True, node=node)
    house.strike("faults", node=node, gpu=1, xid=79)
    house.until(node, state="waiting")
    house.strike("cordon", node=node, unschedulable=False)
    operation = house.until(node, state="finished")
    house.strike("budget", blocked=False)
    assert operation["result"] == "cancelled"
    assert "uncordoned by a person" in str(operation["timeline"])
    metadata = house.node(node)["metadata"]
    assert not [key for key in (*metadata.get("annotations", {}), *metadata["labels"]) if "sickbay/" in key]
    assert not [act for act in house.writes() if "reboot" in act["name"] and node in str(act)]


def test_doubt_touches_nothing(house: House) -> None:
    before = len(house.writes())
    answer = house.post(
        an_alert("gpu-a02", xid=31),
        an_alert("gpu-a02", xid=999),
        an_alert("gpu-z99", xid=79),
        an_alert("gpu-a02", cluster="other"),
        an_alert("gpu-a02", cluster=""),
        {"labels": "no object"},
    )
    decisions = [alert["decision"] for alert in answer["alerts"]]
    assert decisions == ["note", "note", "pending", "ignore", "refuse", "refuse"]
    eventually(
        lambda: any(one["decision"] == "note" and "gpu-z99" in one["reason"] for one in house.get("alerts")["alerts"]),
        lambda: f"the unknown node was not noted: {house.get('alerts')}",
    )
    assert len(house.writes()) == before
    assert house.operation("gpu-a02") is None


def test_the_same_alert_from_two_alertmanagers_counts_once(house: House) -> None:
    alert = an_alert("gpu-a02", xid=79)
    first, second = house.post(alert), house.post(alert)
    assert (first["accepted"], second["duplicates"]) == (1, 1)
    operation = house.until("gpu-a02", state="finished")
    assert operation["result"] == "released"
    assert len([act for act in house.writes(node="gpu-a02") if act["verb"] == "patch"]) == 2


def test_a_persons_cancel_ends_a_diagnosis_that_hangs(house: House) -> None:
    node = "gpu-a02"

    def diagnoses() -> list[Any]:
        jobs = house.cluster.api.list("jobs")["items"]
        ours = [job for job in jobs if job["spec"]["template"]["spec"].get("nodeName") == node]
        return [job for job in ours if (job.get("status") or {}).get("active")]

    house.strike("behaviours", node=node, diagnosis="hang")
    house.strike("faults", node=node, gpu=5, xid=79)
    eventually(lambda: any("diagnose" in job["metadata"]["name"] for job in diagnoses()), lambda: "none was started")
    operation = house.operation(node)
    assert operation is not None

    house.order(operation["id"], "cancel", "it takes too long")

    assert house.until(node, state="finished")["result"] == "cancelled"
    assert not house.node(node)["spec"].get("unschedulable")
    eventually(lambda: diagnoses() == [], lambda: "the diagnosis still runs")
