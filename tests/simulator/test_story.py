"""What happens on a node from the Xid to the proof, each step over the API as a remediation would take it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kubernetes import client

from simulator import objects
from tests.simulator.conftest import Kubernetes, eventually

NODE_JOBS = "sickbay-node-jobs"


def run_on(kubernetes: Kubernetes, node: str, name: str, argv: list[str], **spec: Any) -> tuple[str, int, str]:
    """Runs a node job to its end: the condition it ends with, the exit code and the log."""
    kubernetes.batch.create_namespaced_job(NODE_JOBS, objects.node_job(name, NODE_JOBS, node, argv, **spec))

    def ended() -> Any:
        return kubernetes.batch.read_namespaced_job(name, NODE_JOBS).status.conditions

    condition = eventually(ended)[-1].type
    found = kubernetes.core.list_namespaced_pod(NODE_JOBS, label_selector=f"job-name={name}").items
    if not found:
        return condition, -1, ""
    log = kubernetes.core.read_namespaced_pod_log(found[0].metadata.name, NODE_JOBS, _preload_content=False).data
    return condition, found[0].status.container_statuses[0].state.terminated.exit_code, log.decode()


def ready(kubernetes: Kubernetes, node: str) -> str:
    conditions = kubernetes.core.read_node(node).status.conditions
    return str(next(one.status for one in conditions if one.type == "Ready"))


def healed(kubernetes: Kubernetes, node: str) -> None:
    """The machine as new, for the test that comes next."""
    kubernetes.control("behaviours", node=node, reboot="new-boot", diagnosis="pass", bandwidth="ok", gpu=0)


def test_a_cordon_is_tainted_and_keeps_new_pods_away(moving: Kubernetes) -> None:
    moving.control("cordon", node="gpu-a04", unschedulable=True)

    def taints() -> Any:
        return moving.core.read_node("gpu-a04").spec.taints

    assert eventually(taints)[0].key == "node.kubernetes.io/unschedulable"
    moving.core.create_namespaced_pod(
        "default", objects.pod("picky", nodeSelector={"kubernetes.io/hostname": "gpu-a04"})
    )

    def refused() -> Any:
        return moving.core.read_namespaced_pod("picky", "default").status.conditions

    assert "1 node(s) were unschedulable" in eventually(refused)[0].message
    moving.control("cordon", node="gpu-a04", unschedulable=False)
    eventually(lambda: moving.core.read_namespaced_pod("picky", "default").spec.node_name == "gpu-a04")
    moving.core.delete_namespaced_pod("picky", "default")


def test_the_training_pod_saves_a_checkpoint_within_its_grace_and_goes_on_elsewhere(moving: Kubernetes) -> None:
    before = moving.core.read_namespaced_pod("llama-ft-0", "train")
    moving.control("cordon", node=before.spec.node_name, unschedulable=True)
    moving.evict("train", "llama-ft-0", before.metadata.uid)
    going = moving.core.read_namespaced_pod("llama-ft-0", "train")
    assert (going.metadata.uid, going.metadata.deletion_grace_period_seconds) == (before.metadata.uid, 600)

    def moved() -> Any:
        found = moving.core.list_namespaced_pod("train").items
        return next((one for one in found if one.metadata.uid != before.metadata.uid and _is_running(one)), None)

    after = eventually(moved)
    assert after.spec.node_name != before.spec.node_name
    step = moving.cluster.kubelet.storage.checkpoints["train/llama-ft-0"]
    log = moving.core.read_namespaced_pod_log("llama-ft-0", "train")
    assert log.startswith(f"resumed from checkpoint at step {step}\n")
    moving.control("cordon", node=before.spec.node_name, unschedulable=False)


def test_a_grace_that_is_too_short_for_the_checkpoint_loses_it(moving: Kubernetes) -> None:
    labels = {"app": "llama-ft"}
    pod = objects.pod("hasty", node="gpu-a04", labels=labels, terminationGracePeriodSeconds=30)
    moving.core.create_namespaced_pod("default", pod)
    eventually(lambda: _is_running(moving.core.read_namespaced_pod("hasty", "default")))
    moving.core.delete_namespaced_pod("hasty", "default")
    eventually(lambda: not moving.core.list_namespaced_pod("default", field_selector="metadata.name=hasty").items)
    assert "default/hasty" not in moving.cluster.kubelet.storage.checkpoints


def _is_running(pod: Any) -> bool:
    return bool(pod.status.phase == "Running")


def test_the_inference_budget_blocks_an_eviction_and_then_frees_it(moving: Kubernetes) -> None:
    replicas = moving.core.list_namespaced_pod("serve").items
    kept = replicas[0]

    def allowed() -> int:
        return int(moving.policy.read_namespaced_pod_disruption_budget("vllm-chat", "serve").status.disruptions_allowed)

    eventually(lambda: allowed() == 1)
    moving.control("budget", blocked=True, node=kept.spec.node_name)
    eventually(lambda: allowed() == 0)
    with pytest.raises(client.ApiException, match="429"):
        moving.evict("serve", kept.metadata.name, kept.metadata.uid)
    moving.control("budget", blocked=False)
    eventually(lambda: allowed() == 1)
    moving.evict("serve", kept.metadata.name, kept.metadata.uid)
    eventually(lambda: allowed() == 1 and len(moving.core.list_namespaced_pod("serve").items) == 2)


def test_a_grave_xid_lowers_allocatable_until_the_plugin_restarts(moving: Kubernetes) -> None:
    def allocatable() -> str:
        return str(moving.core.read_node("gpu-a04").status.allocatable["nvidia.com/gpu"])

    moving.control("faults", node="gpu-a04", gpu=6, xid=48)
    eventually(lambda: allocatable() == "7")
    found = moving.core.list_namespaced_pod(
        "gpu-operator", label_selector="app=nvidia-device-plugin-daemonset", field_selector="spec.nodeName=gpu-a04"
    )
    moving.core.delete_namespaced_pod(found.items[0].metadata.name, "gpu-operator")
    eventually(lambda: allocatable() == "8")


def test_an_application_xid_lowers_nothing(moving: Kubernetes) -> None:
    moving.control("faults", node="gpu-a04", gpu=5, xid=31)
    assert moving.cluster.machines["gpu-a04"].allocatable() == 8


def test_a_reboot_is_seen_as_not_ready_and_proven_by_a_new_boot_id(moving: Kubernetes) -> None:
    moving.control("cordon", node="gpu-a04", unschedulable=True)
    before = moving.core.read_node("gpu-a04").status.node_info.boot_id
    run_on(moving, "gpu-a04", "reboot", ["chroot", "/host", "systemctl", "reboot"])
    eventually(lambda: ready(moving, "gpu-a04") != "True")
    eventually(lambda: ready(moving, "gpu-a04") == "True")
    assert moving.core.read_node("gpu-a04").status.node_info.boot_id not in ("", before)
    assert moving.cluster.machines["gpu-a04"].gpus[6].xid == 0
    moving.control("cordon", node="gpu-a04", unschedulable=False)


def test_a_machine_that_answers_with_the_same_boot_id_has_not_rebooted(moving: Kubernetes) -> None:
    before = moving.core.read_node("gpu-a04").status.node_info.boot_id
    moving.control("behaviours", node="gpu-a04", reboot="same-boot")
    moving.control("reboot", node="gpu-a04")
    eventually(lambda: ready(moving, "gpu-a04") != "True")
    eventually(lambda: ready(moving, "gpu-a04") == "True")
    assert moving.core.read_node("gpu-a04").status.node_info.boot_id == before
    healed(moving, "gpu-a04")


@pytest.mark.parametrize(
    ("diagnosis", "code", "status"),
    [("pass", 0, "Pass"), ("fail", 205, "Fail"), ("skip", 0, "Skip")],
)
def test_the_diagnosis_prints_what_the_machine_would(
    moving: Kubernetes, diagnosis: str, code: int, status: str
) -> None:
    moving.control("behaviours", node="gpu-a04", diagnosis=diagnosis, gpu=3)
    argv = ["sh", "-c", "dcgmi diag -r 3 -j"]
    condition, exit_code, log = run_on(moving, "gpu-a04", f"diag-{diagnosis}", argv)
    assert (condition, exit_code) == ("Complete" if code == 0 else "Failed", code)
    report = json.loads(log)
    hardware = report["DCGM Diagnostic"]["test_categories"][2]["tests"][0]
    assert (hardware["name"], hardware["test_summary"]["status"]) == ("memory", status)
    serials = [one["serial_num"] for one in report["entity_groups"][0]["entities"]]
    assert serials == [card.serial for card in moving.cluster.machines["gpu-a04"].gpus]
    healed(moving, "gpu-a04")


def test_a_diagnosis_that_did_not_run_is_no_json(moving: Kubernetes) -> None:
    moving.control("behaviours", node="gpu-a04", diagnosis="garbage")
    _, _, log = run_on(moving, "gpu-a04", "diag-garbage", ["dcgmi", "diag", "-r", "3", "-j"])
    assert "symbol lookup error" in log
    with pytest.raises(json.JSONDecodeError):
        json.loads(log)
    healed(moving, "gpu-a04")


def test_a_diagnosis_may_vanish_with_its_job_and_its_pod(moving: Kubernetes) -> None:
    moving.control("behaviours", node="gpu-a04", diagnosis="vanish")
    argv = ["dcgmi", "diag", "-r", "3", "-j"]
    moving.batch.create_namespaced_job(NODE_JOBS, objects.node_job("diag-vanish", NODE_JOBS, "gpu-a04", argv))

    def left() -> list[Any]:
        jobs = [one for one in moving.batch.list_namespaced_job(NODE_JOBS).items if one.metadata.name == "diag-vanish"]
        return [*jobs, *moving.core.list_namespaced_pod(NODE_JOBS, label_selector="job-name=diag-vanish").items]

    eventually(lambda: len(left()) == 2)
    eventually(lambda: not left())
    healed(moving, "gpu-a04")


def test_a_diagnosis_that_hangs_ends_by_the_deadline_of_its_job(moving: Kubernetes) -> None:
    moving.control("behaviours", node="gpu-a04", diagnosis="hang")
    argv = ["dcgmi", "diag", "-r", "3", "-j"]
    condition, _, _ = _run_until(moving, "diag-hang", argv, deadline_s=240)
    assert condition == "Failed"
    reason = moving.batch.read_namespaced_job("diag-hang", NODE_JOBS).status.conditions[-1].reason
    assert reason == "DeadlineExceeded"
    healed(moving, "gpu-a04")


def _run_until(kubernetes: Kubernetes, name: str, argv: list[str], deadline_s: int) -> tuple[str, int, str]:
    job = objects.node_job(name, NODE_JOBS, "gpu-a04", argv, activeDeadlineSeconds=deadline_s)
    kubernetes.batch.create_namespaced_job(NODE_JOBS, job)

    def ended() -> Any:
        return kubernetes.batch.read_namespaced_job(name, NODE_JOBS).status.conditions

    return eventually(ended)[-1].type, -1, ""


@pytest.mark.parametrize(
    ("bandwidth", "code", "words"),
    [("ok", 0, "# Out of bounds values : 0 OK"), ("wrong", 7, "# Out of bounds values : 3 FAILED")],
)
def test_the_benchmark_prints_a_table_and_ends_by_its_content(
    moving: Kubernetes, bandwidth: str, code: int, words: str
) -> None:
    moving.control("behaviours", node="gpu-a04", bandwidth=bandwidth)
    argv = ["all_reduce_perf", "-b", "512M", "-e", "8G", "-f", "2", "-g", "8"]
    _, exit_code, log = run_on(moving, "gpu-a04", f"nccl-{bandwidth}", argv)
    assert exit_code == code
    assert words in log
    healed(moving, "gpu-a04")


def test_a_job_leaves_with_its_pod_when_its_time_after_the_end_is_over(moving: Kubernetes) -> None:
    run_on(moving, "gpu-a04", "brief", ["true"], ttlSecondsAfterFinished=60)
    eventually(lambda: "brief" not in [one.metadata.name for one in moving.batch.list_namespaced_job(NODE_JOBS).items])
    eventually(lambda: not moving.core.list_namespaced_pod(NODE_JOBS, label_selector="job-name=brief").items)


def test_a_pod_put_on_a_node_that_lacks_the_gpus_is_refused_by_the_kubelet(moving: Kubernetes) -> None:
    moving.core.create_namespaced_pod("default", objects.pod("greedy", node="gpu-a04", gpus=9))
    eventually(lambda: moving.core.read_namespaced_pod("greedy", "default").status.phase == "Failed")
    status = moving.core.read_namespaced_pod("greedy", "default").status
    assert status.reason == "UnexpectedAdmissionError"


def test_a_machine_that_never_comes_back_is_unknown_and_its_pods_logs_are_gone(moving: Kubernetes) -> None:
    moving.control("behaviours", node="gpu-a02", reboot="never-ready")
    moving.control("reboot", node="gpu-a02")
    eventually(lambda: ready(moving, "gpu-a02") == "Unknown")
    keys = {one.key for one in eventually(lambda: moving.core.read_node("gpu-a02").spec.taints)}
    assert keys <= {"node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"}
    assert moving.cluster.machines["gpu-a02"].up is False


def test_a_fallen_gpu_kills_the_program_that_uses_it(moving: Kubernetes) -> None:
    moving.core.create_namespaced_pod("default", objects.pod("user", node="gpu-a04", gpus=8))
    eventually(lambda: moving.core.read_namespaced_pod("user", "default").status.phase == "Running")
    moving.control("faults", node="gpu-a04", gpu=2, xid=79)

    def waiting() -> Any:
        return moving.core.read_namespaced_pod("user", "default").status.container_statuses[0].state.waiting

    assert eventually(waiting).reason == "CrashLoopBackOff"
    moving.core.delete_namespaced_pod("user", "default")
    moving.control("reboot", node="gpu-a04")
    eventually(lambda: ready(moving, "gpu-a04") != "True")
    eventually(lambda: ready(moving, "gpu-a04") == "True")


def test_a_gpu_that_is_missing_after_a_boot_is_missing_everywhere(moving: Kubernetes) -> None:
    moving.control("behaviours", node="gpu-a04", reboot="gpu-missing", gpu=2)
    moving.control("reboot", node="gpu-a04")
    eventually(lambda: moving.core.read_node("gpu-a04").status.capacity["nvidia.com/gpu"] == "7")
    eventually(lambda: moving.core.read_node("gpu-a04").metadata.labels["nvidia.com/gpu.count"] == "7")
    events = moving.core.list_namespaced_event("default", field_selector="reason=Rebooted").items
    boot_id = moving.core.read_node("gpu-a04").status.node_info.boot_id
    assert any(boot_id in event.message for event in events)
    healed(moving, "gpu-a04")


def test_a_reset_works_only_while_the_operands_are_paused(moving: Kubernetes) -> None:
    card = moving.cluster.machines["gpu-a01"].gpus[7]
    moving.control("faults", node="gpu-a01", gpu=7, xid=119)
    argv = ["sh", "-c", f"nvidia-smi --gpu-reset -i {card.uuid}"]
    _, code, log = run_on(moving, "gpu-a01", "reset-held", argv)
    assert (code, "In use by another client" in log) == (255, True)
    operands = ("device-plugin", "dcgm-exporter")

    def label(value: str) -> None:
        labels = {f"nvidia.com/gpu.deploy.{operand}": value for operand in operands}
        moving.patch("/api/v1/nodes/gpu-a01", json.dumps({"metadata": {"labels": labels}}))

    def on_node() -> list[Any]:
        pods = moving.core.list_namespaced_pod("gpu-operator", field_selector="spec.nodeName=gpu-a01").items
        return [one for one in pods if one.metadata.labels["app"].removeprefix("nvidia-").startswith(operands)]

    label("paused-for-reset")
    eventually(lambda: not on_node())
    _, code, log = run_on(moving, "gpu-a01", "reset-free", argv)
    assert (code, "successfully reset" in log, card.fault) == (0, True, 0)
    label("true")
    eventually(lambda: moving.core.read_node("gpu-a01").status.allocatable["nvidia.com/gpu"] == "8")
    eventually(lambda: card.xid == 0)


def test_a_node_job_lists_the_cards_of_its_machine(moving: Kubernetes) -> None:
    argv = ["nvidia-smi", "--query-gpu=index,uuid,serial,pci.bus_id", "--format=csv,noheader"]
    _, code, log = run_on(moving, "gpu-a01", "inventory", argv)
    serials = [line.split(", ")[2] for line in log.splitlines()[:8]]
    assert (code, serials) == (0, [card.serial for card in moving.cluster.machines["gpu-a01"].gpus])


def test_a_driver_that_crashes_after_a_boot_leaves_the_node_without_a_gpu_to_give(moving: Kubernetes) -> None:
    moving.control("behaviours", node="gpu-a04", reboot="driver-crash")
    moving.control("reboot", node="gpu-a04")
    before = moving.core.read_node("gpu-a04").status.node_info.boot_id
    eventually(lambda: moving.core.read_node("gpu-a04").status.node_info.boot_id != before)
    eventually(lambda: moving.core.read_node("gpu-a04").status.allocatable["nvidia.com/gpu"] == "0")
    healed(moving, "gpu-a04")
    moving.control("reboot", node="gpu-a04")
    eventually(lambda: moving.core.read_node("gpu-a04").status.allocatable["nvidia.com/gpu"] == "8")


def test_an_operand_leaves_a_node_whose_deploy_label_is_false_and_comes_back(moving: Kubernetes) -> None:
    def exporters() -> list[Any]:
        found = moving.core.list_namespaced_pod("gpu-operator", label_selector="app=nvidia-dcgm-exporter").items
        return [one for one in found if one.spec.node_name == "gpu-a01"]

    label = "nvidia.com/gpu.deploy.dcgm-exporter"
    assert len(exporters()) == 1
    moving.patch("/api/v1/nodes/gpu-a01", json.dumps({"metadata": {"labels": {label: "false"}}}))
    eventually(lambda: not exporters())
    moving.patch("/api/v1/nodes/gpu-a01", json.dumps({"metadata": {"labels": {label: "true"}}}))
    eventually(lambda: exporters() and exporters()[0].status.phase == "Running")


def test_a_node_that_was_deleted_comes_back_as_another(moving: Kubernetes) -> None:
    before = moving.core.read_node("gpu-a02").metadata.uid
    moving.core.delete_node("gpu-a02")
    query = {"field_selector": "spec.nodeName=gpu-a02"}
    eventually(lambda: not moving.core.list_pod_for_all_namespaces(**query).items)
    moving.control("register", node="gpu-a02")
    assert moving.core.read_node("gpu-a02").metadata.uid != before


def test_the_actors_go_on_when_their_watches_end_and_their_history_is_gone(moving: Kubernetes) -> None:
    moving.cluster.store.compact()
    moving.cluster.store.end_watches()
    condition, code, _ = run_on(moving, "gpu-a01", "after-all", ["true"])
    assert (condition, code) == ("Complete", 0)


def test_the_pods_of_a_job_deleted_with_orphan_stay(moving: Kubernetes) -> None:
    run_on(moving, "gpu-a01", "parent", ["true"])
    moving.batch.delete_namespaced_job("parent", NODE_JOBS, propagation_policy="Orphan")
    eventually(lambda: "parent" not in [one.metadata.name for one in moving.batch.list_namespaced_job(NODE_JOBS).items])
    left = moving.core.list_namespaced_pod(NODE_JOBS, label_selector="job-name=parent").items
    assert [one.metadata.owner_references for one in left] == [None]


def test_the_state_page_shows_machines_pods_and_budgets(moving: Kubernetes) -> None:
    state = moving.http.get(f"{moving.cluster.url}/simulator/state", timeout=5).json()
    assert [one["name"] for one in state["nodes"]] == ["gpu-a01", "gpu-a02", "gpu-a03", "gpu-a04", "control-1"]
    trainer = next(one for one in state["pods"] if one["name"] == "llama-ft-0")
    assert trainer["says"].startswith(("step", "resumed", "starting"))
    assert state["budgets"][0]["name"] == "vllm-chat"
