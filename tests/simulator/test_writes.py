from __future__ import annotations

import pytest
from kubernetes import client

from simulator import objects
from tests.simulator.conftest import Kubernetes

NODE = "/api/v1/nodes/gpu-a01"


def test_a_merge_patch_changes_what_it_names_and_leaves_the_rest(still: Kubernetes) -> None:
    before = still.core.read_node("gpu-a01")
    answer = still.patch(NODE, '{"metadata":{"annotations":{"a":"1"}},"spec":{"unschedulable":true}}')
    after = still.core.read_node("gpu-a01")
    assert answer.status_code == 200
    assert after.spec.unschedulable is True
    assert after.metadata.annotations == {"a": "1"}
    assert after.metadata.labels == before.metadata.labels
    assert int(after.metadata.resource_version) > int(before.metadata.resource_version)


def test_null_in_a_merge_patch_takes_the_field_away(still: Kubernetes) -> None:
    still.patch(NODE, '{"spec":{"unschedulable":true}}')
    assert "unschedulable" not in still.patch(NODE, '{"spec":{"unschedulable":null}}').json()["spec"]


def test_a_patch_that_changes_nothing_writes_nothing(still: Kubernetes) -> None:
    first = still.patch(NODE, '{"spec":{"unschedulable":true}}').json()
    second = still.patch(NODE, '{"spec":{"unschedulable":true}}').json()
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_a_stale_version_in_a_patch_is_a_conflict(still: Kubernetes) -> None:
    before = still.core.read_node("gpu-a01").metadata.resource_version
    answer = still.patch(NODE, '{"metadata":{"resourceVersion":"1"},"spec":{"unschedulable":true}}')
    assert (answer.status_code, answer.json()["reason"]) == (409, "Conflict")
    words = "the object has been modified; please apply your changes to the latest version"
    assert words in answer.json()["message"]
    assert answer.json()["details"] == {"name": "gpu-a01", "kind": "nodes"}
    assert still.core.read_node("gpu-a01").metadata.resource_version == before


@pytest.mark.parametrize(
    "content_type",
    ["application/json-patch+json", "application/strategic-merge-patch+json", "application/apply-patch+yaml"],
)
def test_any_other_kind_of_patch_is_415_with_a_status(still: Kubernetes, content_type: str) -> None:
    answer = still.patch(NODE, "[]", content_type)
    assert answer.status_code == 415
    assert (answer.json()["kind"], answer.json()["reason"]) == ("Status", "UnsupportedMediaType")


def test_a_patch_of_the_status_that_changes_nothing_writes_nothing(still: Kubernetes) -> None:
    first = still.patch(f"{NODE}/status", '{"status":{"phase":"x"}}').json()
    second = still.patch(f"{NODE}/status", '{"status":{"phase":"x"}}').json()
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_a_plain_patch_cannot_change_the_status(still: Kubernetes) -> None:
    still.patch(NODE, '{"status":{"nodeInfo":{"bootID":"forged"}}}')
    assert still.core.read_node("gpu-a01").status.node_info.boot_id != "forged"


def test_a_patch_of_the_status_cannot_change_the_spec(still: Kubernetes) -> None:
    still.patch(f"{NODE}/status", '{"spec":{"unschedulable":true},"status":{"phase":"x"}}')
    node = still.core.read_node("gpu-a01")
    assert (node.spec.unschedulable, node.status.phase) == (None, "x")


def test_managed_fields_name_who_cordoned_a_node(still: Kubernetes) -> None:
    still.control("cordon", node="gpu-a01", unschedulable=True)
    entries = still.core.read_node("gpu-a01").metadata.managed_fields
    owners = [entry.manager for entry in entries if "f:unschedulable" in entry.fields_v1["f:spec"]]
    assert owners == ["kubectl"]


def test_a_job_is_created_with_the_defaults_and_counts_changes_of_its_spec(still: Kubernetes) -> None:
    job = objects.node_job("look", "default", "gpu-a01", ["true"])
    made = still.batch.create_namespaced_job("default", job)
    assert made.spec.template.metadata.labels["batch.kubernetes.io/job-name"] == "look"
    assert (made.metadata.generation, made.spec.parallelism, made.spec.backoff_limit) == (1, 1, 0)
    changed = still.patch("/apis/batch/v1/namespaces/default/jobs/look", '{"spec":{"suspend":true}}').json()
    assert changed["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("namespace", "name", "code", "reason"),
    [
        ("default", "taken", 409, "AlreadyExists"),
        ("nowhere", "new", 404, "NotFound"),
        ("default", "Not A Name", 422, "Invalid"),
    ],
)
def test_a_create_is_refused_as_by_the_real_server(
    still: Kubernetes, namespace: str, name: str, code: int, reason: str
) -> None:
    still.core.create_namespaced_pod("default", objects.pod("taken"))
    with pytest.raises(client.ApiException) as refused:
        still.core.create_namespaced_pod(namespace, objects.pod(name, namespace))
    assert refused.value.status == code
    assert f'"reason":"{reason}"' in str(refused.value.body)


def test_the_node_of_a_pod_cannot_be_patched(still: Kubernetes) -> None:
    still.core.create_namespaced_pod("default", objects.pod("one", node="gpu-a01"))
    answer = still.patch("/api/v1/namespaces/default/pods/one", '{"spec":{"nodeName":"gpu-a02"}}')
    assert (answer.status_code, answer.json()["reason"]) == (422, "Invalid")


def test_a_bound_pod_keeps_its_grace_until_the_kubelet_lets_it_go(still: Kubernetes) -> None:
    still.core.create_namespaced_pod("default", objects.pod("one", node="gpu-a01", terminationGracePeriodSeconds=600))
    going = still.core.delete_namespaced_pod("one", "default")
    assert going.metadata.deletion_grace_period_seconds == 600
    again = still.core.delete_namespaced_pod("one", "default")
    assert again.metadata.resource_version == going.metadata.resource_version
    still.core.delete_namespaced_pod("one", "default", grace_period_seconds=0)
    with pytest.raises(client.ApiException, match="404"):
        still.core.read_namespaced_pod("one", "default")


def test_a_delete_with_another_uid_is_a_conflict(still: Kubernetes) -> None:
    still.core.create_namespaced_pod("default", objects.pod("one"))
    options = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid="another"))
    with pytest.raises(client.ApiException, match="409"):
        still.core.delete_namespaced_pod("one", "default", body=options)


def test_the_audit_says_who_did_what(still: Kubernetes) -> None:
    still.patch(NODE, '{"spec":{"unschedulable":true}}')
    still.control("cordon", node="gpu-a01", unschedulable=False)
    acts = still.http.get(f"{still.cluster.url}/simulator/audit?resource=nodes&name=gpu-a01", timeout=5).json()["acts"]
    shown = [(act["user"], act["verb"], act["code"]) for act in acts if act["verb"] == "patch"]
    assert shown == [("system:serviceaccount:sickbay:sickbay", "patch", 200), ("alice", "patch", 200)]


def test_a_wrong_token_is_401(still: Kubernetes) -> None:
    still.http.headers["Authorization"] = "Bearer wrong"
    answer = still.patch(NODE, "{}")
    assert (answer.status_code, answer.json()["reason"]) == (401, "Unauthorized")


def test_a_replacement_needs_the_current_version_when_it_names_one(still: Kubernetes) -> None:
    node = still.http.get(still.cluster.url + NODE, timeout=5).json()
    node["spec"]["unschedulable"] = True
    assert still.http.put(still.cluster.url + NODE, json=node, timeout=5).json()["spec"]["unschedulable"] is True
    assert still.http.put(still.cluster.url + NODE, json=node, timeout=5).status_code == 409


def test_an_object_with_a_finalizer_stays_until_the_finalizer_is_taken_away(still: Kubernetes) -> None:
    job = objects.node_job("look", "default", "gpu-a01", ["true"])
    job["metadata"]["finalizers"] = ["example.org/wait"]
    still.batch.create_namespaced_job("default", job)
    still.batch.delete_namespaced_job("look", "default")
    path = "/apis/batch/v1/namespaces/default/jobs/look"
    assert still.http.get(still.cluster.url + path, timeout=5).json()["metadata"]["deletionTimestamp"]
    still.patch(path, '{"metadata":{"finalizers":null}}')
    assert still.http.get(still.cluster.url + path, timeout=5).status_code == 404


def test_a_log_of_a_kubelet_that_does_not_answer_is_500(still: Kubernetes) -> None:
    still.patch(f"{NODE}/status", '{"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":1}}}}')
    still.core.create_namespaced_pod("default", objects.pod("one", node="gpu-a01"))
    with pytest.raises(client.ApiException) as refused:
        still.core.read_namespaced_pod_log("one", "default")
    assert refused.value.status == 500


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/api/v1/secrets", 404),
        ("GET", "/apis/example.org/v1/things", 404),
        ("GET", "/api/v1/pods/one", 404),
        ("POST", "/api/v1/nodes/gpu-a01", 405),
        ("POST", "/api/v1/nodes/gpu-a01/eviction", 405),
        ("GET", "/simulator/nothing", 404),
        ("GET", "/simulator/faults", 405),
    ],
)
def test_what_is_not_served_is_said_in_a_status(still: Kubernetes, method: str, path: str, code: int) -> None:
    answer = still.http.request(method, still.cluster.url + path, json={}, timeout=5)
    assert (answer.status_code, answer.json()["kind"], answer.json()["code"]) == (code, "Status", code)


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("faults", {"node": "nowhere"}),
        ("faults", {"node": "gpu-a01", "gpu": 8}),
        ("behaviours", {"node": "gpu-a01", "diagnosis": "perhaps"}),
    ],
)
def test_the_control_api_refuses_what_it_cannot_do(still: Kubernetes, what: str, body: dict[str, object]) -> None:
    answer = still.http.post(f"{still.cluster.url}/simulator/{what}", json=body, timeout=5)
    assert answer.status_code in (400, 404)
    assert answer.json()["status"] == "Failure"
