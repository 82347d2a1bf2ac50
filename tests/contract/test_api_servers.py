"""The simulated API server says what the real one says: each sentence here was taken from both."""

from __future__ import annotations

from typing import Any

from simulator import objects
from tests.contract.clusters import MERGE, NODE, OTHER_NODE, Answer, Served
from workers.adapters.kubernetes.answers import Right

NODES = "/api/v1/nodes"
RIGHT = Right("patch", "nodes")
PODS = "/api/v1/namespaces/default/pods"
MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def patch(served: Served, path: str, body: dict[str, Any]) -> Answer:
    return served.ask("PATCH", path, body, MERGE)


def evict(served: Served, name: str, **options: Any) -> Answer:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, "deleteOptions": options}
    return served.ask("POST", f"{PODS}/{name}/eviction", body)


def test_a_patch_of_an_older_version_is_a_conflict(served: Served) -> None:
    version = served.ask("GET", f"{NODES}/{NODE}").body["metadata"]["resourceVersion"]
    patch(served, f"{NODES}/{NODE}", {"metadata": {"labels": {"somebody": "else"}}})

    answer = patch(served, f"{NODES}/{NODE}", {"metadata": {"resourceVersion": version}})

    assert answer.status == (409, "Conflict", f'Operation cannot be fulfilled on nodes "{NODE}": {MODIFIED}')


def test_a_patch_of_another_uid_is_invalid(served: Served) -> None:
    answer = patch(served, f"{NODES}/{NODE}", {"metadata": {"uid": "another"}})

    why = 'Invalid value: "another": field is immutable'
    assert answer.status == (422, "Invalid", f'Node "{NODE}" is invalid: metadata.uid: {why}')
    assert {cause["field"] for cause in answer.body["details"]["causes"]} == {"metadata.uid"}


def test_a_patch_of_a_status_changes_nothing_else_and_no_other_patch_changes_a_status(served: Served) -> None:
    changed = patch(
        served, f"{NODES}/{NODE}", {"status": {"allocatable": {"cpu": "1"}}, "spec": {"unschedulable": True}}
    )
    assert changed.body["status"]["allocatable"]["cpu"] == "192"
    assert changed.body["spec"]["unschedulable"]

    changed = patch(
        served, f"{NODES}/{NODE}/status", {"status": {"allocatable": {"cpu": "1"}}, "spec": {"unschedulable": None}}
    )
    assert changed.body["status"]["allocatable"]["cpu"] == "1"
    assert changed.body["spec"]["unschedulable"]


def test_what_is_not_there_is_not_found(served: Served) -> None:
    assert served.ask("GET", f"{NODES}/gpu-z99").status == (404, "NotFound", 'nodes "gpu-z99" not found')
    assert evict(served, "none").status == (404, "NotFound", 'pods "none" not found')
    path = "/apis/batch/v1/namespaces/default/jobs/none"
    assert served.ask("DELETE", path).status == (404, "NotFound", 'jobs.batch "none" not found')


def test_a_name_is_taken_once(served: Served) -> None:
    served.ask("POST", PODS, objects.pod("web-1", node=NODE))

    answer = served.ask("POST", PODS, objects.pod("web-1", node=OTHER_NODE))

    assert answer.status == (409, "AlreadyExists", 'pods "web-1" already exists')


def test_an_eviction_of_another_uid_is_a_conflict(served: Served) -> None:
    uid = served.add_pod("web-1")

    answer = evict(served, "web-1", preconditions={"uid": "another"})

    why = f"the UID in the precondition (another) does not match the UID in record ({uid})"
    text = f'Operation cannot be fulfilled on Pod "web-1": {why}. The object might have been deleted and then recreated'
    assert answer.status == (409, "Conflict", text)


def test_a_deletion_of_an_older_version_is_a_conflict(served: Served) -> None:
    version = served.ask("GET", f"{NODES}/{NODE}").body["metadata"]["resourceVersion"]
    patch(served, f"{NODES}/{NODE}", {"metadata": {"labels": {"somebody": "else"}}})

    code, reason, message = served.ask(
        "DELETE", f"{NODES}/{NODE}", {"preconditions": {"resourceVersion": version}}
    ).status

    assert (code, reason) == (409, "Conflict")
    assert f"the ResourceVersion in the precondition ({version}) does not match" in message
    assert served.ask("GET", f"{NODES}/{NODE}").code == 200


def test_a_budgets_refusal_carries_its_cause(served: Served) -> None:
    served.add_pod("web-1", labels={"app": "web"})
    served.set_budget("web", {"app": "web"}, needed=1, healthy=1)

    answer = evict(served, "web-1")

    text = "Cannot evict pod as it would violate the pod's disruption budget."
    assert answer.status == (429, "TooManyRequests", text)
    cause = {
        "reason": "DisruptionBudget",
        "message": "The disruption budget web needs 1 healthy pods and has 1 currently",
    }
    assert answer.body["details"]["causes"] == [cause]


def test_an_eviction_under_two_budgets_is_an_internal_error(served: Served) -> None:
    served.add_pod("web-1", labels={"app": "web"})
    for name in ("one", "other"):
        served.set_budget(name, {"app": "web"}, needed=0, healthy=1)

    answer = evict(served, "web-1")

    text = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
    assert answer.status == (500, "", text)


def test_a_pod_of_an_unknown_runtime_class_is_not_admitted(served: Served) -> None:
    answer = served.ask("POST", PODS, objects.pod("web-1", node=NODE, runtimeClassName="unknown"))

    text = 'pods "web-1" is forbidden: pod rejected: RuntimeClass "unknown" not found'
    assert answer.status == (403, "Forbidden", text)


def test_a_pod_of_an_unknown_account_is_not_admitted(served: Served) -> None:
    answer = served.ask("POST", PODS, objects.pod("web-1", node=NODE, serviceAccountName="nobody"))

    why = 'error looking up service account default/nobody: serviceaccount "nobody" not found'
    assert answer.status == (403, "Forbidden", f'pods "web-1" is forbidden: {why}')


def test_a_list_is_told_in_pages(served: Served) -> None:
    first = served.ask("GET", f"{NODES}?limit=2").body
    assert len(first["items"]) == 2
    assert first["metadata"]["remainingItemCount"] == 1

    last = served.ask("GET", f"{NODES}?limit=2&continue={first['metadata']['continue']}").body
    assert len(last["items"]) == 1
    assert "continue" not in last["metadata"] or not last["metadata"]["continue"]
    names = [one["metadata"]["name"] for one in (*first["items"], *last["items"])]
    assert names == sorted(names)


def test_a_cordon_is_tainted_by_the_node_controller(served: Served) -> None:
    def taints() -> list[str]:
        spec = served.ask("GET", f"{NODES}/{NODE}").body["spec"]
        return [f"{one['key']}:{one['effect']}" for one in spec.get("taints") or []]

    patch(served, f"{NODES}/{NODE}", {"spec": {"unschedulable": True}})
    served.until(lambda: taints() == ["node.kubernetes.io/unschedulable:NoSchedule"])

    patch(served, f"{NODES}/{NODE}", {"spec": {"unschedulable": None}})
    served.until(lambda: taints() == [])


def test_managed_fields_name_who_cordoned_a_node_and_who_gave_it_back(served: Served) -> None:
    def cordoned_by() -> list[str]:
        entries = served.ask("GET", f"{NODES}/{NODE}").body["metadata"].get("managedFields") or []
        return [one["manager"] for one in entries if "f:unschedulable" in (one["fieldsV1"].get("f:spec") or {})]

    person = served.cluster.person
    person.patch("nodes", "", NODE, {"spec": {"unschedulable": True}})
    assert cordoned_by() == ["kubectl"]

    served.client.ask("PATCH", f"{NODES}/{NODE}", RIGHT, body={"spec": {"unschedulable": False}}, content_type=MERGE)
    served.client.ask("PATCH", f"{NODES}/{NODE}", RIGHT, body={"spec": {"unschedulable": True}}, content_type=MERGE)
    assert cordoned_by() == ["sickbay"]
