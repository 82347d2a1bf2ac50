"""Objects as real API servers send them, with what they leave out and what clients turned into null."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.domain.drains import PodFate, fate
from app.domain.effects import NodeJob
from app.domain.facts import NodeJobView, NodeView, PodView
from tests.contract.server import Told, telling
from workers.adapters.kubernetes.job_views import JobPod, with_pod
from workers.adapters.kubernetes.manifests import manifest
from workers.adapters.kubernetes.node_jobs import KubernetesNodeJobs
from workers.adapters.kubernetes.nodes import Node
from workers.adapters.kubernetes.pods import KubernetesPods, Pod


def test_a_node_that_tells_nothing_is_not_ready_and_has_no_gpus() -> None:
    for status in (None, {}, {"addresses": None, "conditions": None, "nodeInfo": None, "capacity": None}):
        node = msgspec.convert({"metadata": {"name": "a", "uid": "u", "labels": None}, "status": status}, Node)

        assert node.view() == NodeView(name="a", uid="u", resource_version="", ready=False)


@pytest.mark.parametrize(("told", "count"), [("8", 8), (4, 4), ("", 0), ("7500m", 0), ("-1", 0)])
def test_only_whole_gpus_are_counted(told: str | int, count: int) -> None:
    node = {"metadata": {"name": "a", "uid": "u"}, "status": {"allocatable": {"nvidia.com/gpu": told}}}

    assert msgspec.convert(node, Node).view().gpu_allocatable == count


@pytest.mark.parametrize("word", ["False", "Unknown"])
def test_a_node_is_ready_only_when_it_says_so(word: str) -> None:
    status = {"conditions": [{"type": "DiskPressure", "status": "True"}, {"type": "Ready", "status": word}]}

    assert not msgspec.convert({"metadata": {"name": "a", "uid": "u"}, "status": status}, Node).view().ready


def pod(*, metadata: dict[str, Any] | None = None, spec: Any = None, status: Any = None) -> PodView:
    whole = {
        "metadata": {"name": "p", "namespace": "n", "uid": "u", **(metadata or {})},
        "spec": spec,
        "status": status,
    }
    return msgspec.json.decode(msgspec.json.encode(whole), type=Pod).view()


def owner(kind: str, **fields: Any) -> dict[str, Any]:
    return {
        "ownerReferences": [{"kind": "Other", "name": "o"}, {"kind": kind, "name": "c", "controller": True, **fields}]
    }


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (pod(metadata={"annotations": {"kubernetes.io/config.mirror": "abc"}}), PodFate.STAYS),
        (pod(metadata=owner("DaemonSet"), spec={"volumes": [{"name": "v", "emptyDir": {}}]}), PodFate.STAYS),
        (pod(metadata={"ownerReferences": []}), PodFate.ASKED_FOR),
        (pod(metadata={"ownerReferences": None, "labels": None}, spec={"volumes": None}), PodFate.ASKED_FOR),
        (pod(metadata=owner("ReplicaSet"), spec={"volumes": [{"name": "v", "emptyDir": {}}]}), PodFate.HOLDS_DATA),
        (pod(metadata=owner("Job"), spec={"volumes": [{"name": "v", "emptyDir": {"medium": "Memory"}}]}), PodFate.GOES),
        (pod(metadata=owner("Job"), spec={"volumes": [{"name": "v", "hostPath": {"path": "/scratch"}}]}), PodFate.GOES),
        (pod(metadata=owner("Job"), status={"phase": "Succeeded"}), PodFate.STAYS),
        (pod(metadata=owner("Aerospike", apiVersion="x/v1")), PodFate.GOES),
        (pod(metadata={"ownerReferences": [{"kind": "DaemonSet", "name": "d"}]}), PodFate.ASKED_FOR),
        (pod(metadata={**owner("Job"), "deletionTimestamp": "2026-09-20T10:01:00Z"}), PodFate.LEAVING),
    ],
)
def test_a_drain_sorts_pods_as_they_come_from_the_server(given: PodView, what: PodFate) -> None:
    assert fate(given) is what


def test_a_pod_keeps_what_is_known_of_its_end() -> None:
    view = pod(
        metadata={"deletionTimestamp": "2026-09-20T10:01:00Z", "deletionGracePeriodSeconds": 3600},
        spec={
            "nodeName": "gpu-a01",
            "terminationGracePeriodSeconds": 30,
            "volumes": [{"name": "scratch", "emptyDir": {}}, {"name": "code", "configMap": {"name": "c"}}],
        },
    )

    assert view.deleted_at == datetime(2026, 9, 20, 10, 1, tzinfo=UTC)
    assert (view.grace, view.empty_dirs, view.phase) == (3600, ("scratch",), "Unknown")


def test_a_pods_claims_finalizers_and_controller_are_read() -> None:
    view = pod(
        metadata={"finalizers": ["example.com/flush"], **owner("Job", uid="job-1")},
        spec={"resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": "four"}]},
    )

    assert (view.claims, view.finalizers, view.controller_uid) == (("gpus",), ("example.com/flush",), "job-1")


def test_a_list_of_null_is_empty(tmp_path: Path) -> None:
    with telling(tmp_path, Told(200, {"metadata": {}, "items": None})) as (client, server):
        assert KubernetesPods(client, lambda: datetime.now(UTC)).on_node("gpu a&b") == ()

    assert "fieldSelector=spec.nodeName%3Dgpu+a%26b" in server.asked[0].path


def job_view(**fields: Any) -> NodeJobView:
    return NodeJobView(name="j", uid="u", step="diagnose", node="gpu-a01", **{"active": True, **fields})


FAILED = {"active": False, "failed": True, "reason": "BackoffLimitExceeded"}
LATE = {"active": False, "failed": True, "reason": "DeadlineExceeded"}


@pytest.mark.parametrize(
    ("view", "status", "started", "exit_code", "reason"),
    [
        (job_view(), None, False, None, ""),
        (job_view(), {"containerStatuses": None}, False, None, ""),
        (job_view(), {"containerStatuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}}]}, False, None, ""),
        (
            job_view(),
            {"containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off x."}}}]},
            False,
            None,
            "ImagePullBackOff: Back-off x",
        ),
        (job_view(), {"containerStatuses": [{"state": {"running": {}}}]}, True, None, ""),
        (
            job_view(**FAILED),
            {"containerStatuses": [{"state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]},
            True,
            137,
            "OOMKilled",
        ),
        (
            job_view(**FAILED),
            {"containerStatuses": [{"state": {"terminated": {"exitCode": 128, "reason": "StartError"}}}]},
            False,
            128,
            "StartError",
        ),
        (
            job_view(**FAILED),
            {"reason": "UnexpectedAdmissionError", "message": "Allocate failed"},
            False,
            None,
            "UnexpectedAdmissionError: Allocate failed",
        ),
        (job_view(**FAILED), {}, False, None, "BackoffLimitExceeded"),
        (job_view(**LATE), {"containerStatuses": [{"state": {"running": {}}}]}, True, None, "DeadlineExceeded"),
        (
            job_view(active=False, succeeded=True),
            {"containerStatuses": [{"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}]},
            True,
            0,
            "",
        ),
    ],
)
def test_the_pod_tells_why_a_node_job_waits_or_how_it_ended(
    view: NodeJobView, status: Any, started: bool, exit_code: int | None, reason: str
) -> None:
    pod = msgspec.convert({"metadata": {"name": "p"}, "status": status}, JobPod)

    seen = with_pod(view, pod)

    assert (seen.started, seen.exit_code, seen.reason) == (started, exit_code, reason)


@pytest.mark.parametrize(
    ("view", "started", "reason"),
    [
        (job_view(), False, "the cluster has made no pod for it"),
        (job_view(**FAILED), True, "pod was deleted"),
        (job_view(**LATE), True, "DeadlineExceeded"),
        (job_view(active=False, succeeded=True), True, ""),
    ],
)
def test_a_node_job_without_its_pod_may_have_run(view: NodeJobView, started: bool, reason: str) -> None:
    seen = with_pod(view, None)

    assert (seen.started, seen.reason) == (started, reason)


JOB = {"metadata": {"name": "j", "uid": "u"}, "status": {"conditions": [{"type": "Complete", "status": "True"}]}}
PODS = {"metadata": {}, "items": [{"metadata": {"name": "j-x"}}]}


def test_while_the_log_cannot_be_read_the_node_job_counts_as_active(tmp_path: Path) -> None:
    no_log = Told(500, b"Get https://10.0.0.1:10250/containerLogs: dial tcp: i/o timeout")
    with telling(tmp_path, Told(200, JOB), Told(200, PODS), no_log) as (client, _):
        view = KubernetesNodeJobs(client).get("j")

    assert view is not None
    assert (view.active, view.ended) == (True, False)
    assert "its log cannot be read yet" in view.reason


@pytest.mark.parametrize("code", [400, 404])
def test_an_ended_node_job_whose_log_is_gone_has_no_output(tmp_path: Path, code: int) -> None:
    with telling(tmp_path, Told(200, JOB), Told(200, PODS), Told(code, b"gone")) as (client, server):
        view = KubernetesNodeJobs(client).get("j")

    assert view is not None
    assert (view.succeeded, view.output) == (True, None)
    assert "limitBytes=4194304" in server.asked[-1].path


def test_a_node_job_on_its_way_out_is_gone(tmp_path: Path) -> None:
    leaving = {**JOB, "metadata": {"name": "j", "uid": "u", "deletionTimestamp": "2026-09-20T10:01:00Z"}}
    with telling(tmp_path, Told(200, leaving)) as (client, _):
        assert KubernetesNodeJobs(client).get("j") is None


def node_job(**fields: Any) -> dict[str, Any]:
    job = NodeJob(
        name="op-1-reboot",
        operation="op-1",
        step="reboot",
        node="gpu-a01",
        image="registry.example/tool@sha256:0",
        argv=("chroot", "/host", "systemctl", "reboot"),
        deadline=timedelta(minutes=15),
        **fields,
    )
    return manifest(job, "sickbay-node-jobs")


def test_a_node_job_runs_once_on_its_node_whatever_taints_it_has() -> None:
    built = node_job(host=True)

    spec = built["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert built["spec"]["backoffLimit"] == 0
    assert built["spec"]["activeDeadlineSeconds"] == 900
    assert built["spec"]["ttlSecondsAfterFinished"] == 3600
    assert spec["nodeName"] == "gpu-a01"
    assert spec["tolerations"] == [{"operator": "Exists"}]
    assert spec["restartPolicy"] == "Never"
    assert spec["automountServiceAccountToken"] is False
    assert "resources" not in container
    assert container["command"] == ["chroot", "/host", "systemctl", "reboot"]


def test_only_a_node_job_of_the_host_enters_it() -> None:
    host = node_job(host=True)["spec"]["template"]["spec"]
    (inside,) = host["containers"]
    gpus = node_job(runtime_class="nvidia")["spec"]["template"]["spec"]
    plain = node_job()["spec"]["template"]["spec"]

    assert (host["hostPID"], host["volumes"]) == (True, [{"name": "host", "hostPath": {"path": "/"}}])
    assert inside["volumeMounts"] == [{"name": "host", "mountPath": "/host", "mountPropagation": "HostToContainer"}]
    assert inside["env"] == [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]
    assert "runtimeClassName" not in host
    assert gpus["runtimeClassName"] == "nvidia"
    assert {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"} in gpus["containers"][0]["env"]
    assert gpus["volumes"] == [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}]
    assert "hostPID" not in gpus
    assert not {"hostPID", "runtimeClassName", "volumes"} & set(plain)
    assert "securityContext" not in plain["containers"][0]


def test_a_node_job_runs_without_rights_and_is_pulled_by_the_secrets_of_the_policy() -> None:
    job = NodeJob(
        name="op-1-diagnose",
        operation="op-1",
        step="diagnose",
        node="gpu-a01",
        image="registry.example/dcgm@sha256:0",
        argv=("true",),
        deadline=timedelta(minutes=15),
    )

    spec = manifest(job, "sickbay-node-jobs", ("registry-a", "registry-b"))["spec"]["template"]["spec"]

    assert (spec["serviceAccountName"], spec["automountServiceAccountToken"]) == ("node-job", False)
    assert spec["imagePullSecrets"] == [{"name": "registry-a"}, {"name": "registry-b"}]
    assert "imagePullSecrets" not in node_job()["spec"]["template"]["spec"]
