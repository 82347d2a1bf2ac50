"""What any cluster behind the ports `Pods` and `Places` does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.facts import PodView
from simulator import objects
from tests.contract.clusters import MERGE, NODE, OTHER_NODE, ClusterUnderTest, Served, pod_named

WEB = {"app": "web"}


def test_a_pod_is_read_with_what_a_drain_needs(cluster: ClusterUnderTest) -> None:
    uid = cluster.add_pod("web-1", labels=WEB, grace=600)

    pod = pod_named(cluster, "web-1")

    assert pod is not None
    assert (pod.full_name, pod.uid, pod.node, pod.phase) == ("default/web-1", uid, NODE, "Running")
    assert pod.labels["app"] == "web"
    assert pod.controller_kind
    assert pod.deleted_at is None
    assert pod.grace == 600


def test_a_node_that_is_not_there_has_no_pods(cluster: ClusterUnderTest) -> None:
    assert cluster.pods.on_node("gpu-z99") == ()


def test_an_evicted_pod_ends_within_its_grace_and_is_then_gone(cluster: ClusterUnderTest) -> None:
    uid = cluster.add_pod("web-1", grace=600)

    assert cluster.pods.evict("default", "web-1", uid) is None

    pod = pod_named(cluster, "web-1")
    assert pod is not None, "an accepted eviction is not a gone pod"
    assert pod.deleted_at is not None
    cluster.until(lambda: pod_named(cluster, "web-1") is None)


def test_evicting_a_pod_that_is_ending_already_is_accepted(cluster: ClusterUnderTest) -> None:
    uid = cluster.add_pod("web-1", grace=600)
    cluster.pods.evict("default", "web-1", uid)

    assert cluster.pods.evict("default", "web-1", uid) is None


def test_evicting_a_pod_that_is_gone_counts_as_done(cluster: ClusterUnderTest) -> None:
    assert cluster.pods.evict("default", "web-1", "no-such-uid") is None


def test_another_pod_of_the_same_name_is_left_alone(cluster: ClusterUnderTest) -> None:
    cluster.add_pod("web-1")

    assert cluster.pods.evict("default", "web-1", "the-one-before-it") is None

    pod = pod_named(cluster, "web-1")
    assert pod is not None
    assert pod.deleted_at is None


def test_a_budget_refuses_with_its_name_until_it_is_free(cluster: ClusterUnderTest) -> None:
    uid = cluster.add_pod("web-1", labels=WEB)
    cluster.set_budget("web", WEB, needed=1, healthy=1)

    refusal = cluster.pods.evict("default", "web-1", uid)

    assert refusal is not None
    assert refusal.reason == (
        "Budget default/web does not allow the eviction of default/web-1 now: "
        "it needs 1 healthy pod and has 1 currently."
    )
    pod = pod_named(cluster, "web-1")
    assert pod is not None
    assert pod.deleted_at is None

    cluster.set_budget("web", WEB, needed=0, healthy=1)
    assert cluster.pods.evict("default", "web-1", uid) is None


def test_two_evictions_cannot_both_take_the_last_place_of_a_budget(cluster: ClusterUnderTest) -> None:
    first = cluster.add_pod("web-1", labels=WEB, grace=600)
    second = cluster.add_pod("web-2", labels=WEB, grace=600)
    cluster.set_budget("web", WEB, needed=1, healthy=2)

    assert cluster.pods.evict("default", "web-1", first) is None
    assert cluster.pods.evict("default", "web-2", second) is not None


def test_a_pod_under_two_budgets_can_never_be_evicted(served: Served) -> None:
    uid = served.add_pod("web-1", labels=WEB)
    for budget in ("one", "other"):
        served.set_budget(budget, WEB, needed=0, healthy=1)

    refusal = served.pods.evict("default", "web-1", uid)

    assert refusal is not None
    assert refusal.never
    assert "default/web-1 is under more than one" in refusal.reason


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ({"maxUnavailable": 0}, "by `maxUnavailable: 0`"),
        ({"maxUnavailable": "0%"}, "by `maxUnavailable: 0%`"),
        ({"minAvailable": "100%"}, "by `minAvailable: 100%`"),
    ],
)
def test_a_budget_that_can_never_allow_an_eviction_is_told_at_once(
    served: Served, limit: dict[str, int | str], words: str
) -> None:
    uid = served.add_pod("web-1", labels=WEB)
    served.cluster.api.create("poddisruptionbudgets", "default", objects.budget("web", "default", WEB, **limit))
    served.until(lambda: (refusal := served.pods.evict("default", "web-1", uid)) is not None and refusal.never)

    refusal = served.pods.evict("default", "web-1", uid)

    assert refusal is not None
    assert "Budget default/web does not allow the eviction of default/web-1 now" in refusal.reason
    assert words in refusal.reason


def test_a_pod_can_be_deleted_past_its_budget_within_its_grace(cluster: ClusterUnderTest) -> None:
    uid = cluster.add_pod("web-1", labels=WEB, grace=600)
    cluster.set_budget("web", WEB, needed=1, healthy=1)

    cluster.pods.delete("default", "web-1", uid)

    pod = pod_named(cluster, "web-1")
    assert pod is not None
    assert pod.deleted_at is not None
    cluster.until(lambda: pod_named(cluster, "web-1") is None)
    cluster.pods.delete("default", "web-1", uid)  # gone: done


def test_another_pod_of_the_same_name_is_not_deleted(cluster: ClusterUnderTest) -> None:
    cluster.add_pod("web-1")

    cluster.pods.delete("default", "web-1", "the-one-before-it")

    pod = pod_named(cluster, "web-1")
    assert pod is not None
    assert pod.deleted_at is None


def test_only_a_pod_whose_daemon_set_is_gone_is_an_orphan(served: Served) -> None:
    pods = served.pods.on_node(NODE)
    daemons = [pod for pod in pods if pod.controller_kind == "DaemonSet"]
    assert daemons
    assert served.pods.orphans(pods) == frozenset()

    left = [replace(daemons[0], uid="left", controller_uid="deleted"), replace(daemons[0], uid="kept")]
    assert served.pods.orphans(left) == {"left"}


def test_the_inventory_knows_nodes_by_all_their_names_and_where_exporters_run(cluster: ClusterUnderTest) -> None:
    inventory = cluster.places.inventory()

    node = next(node for node in inventory.nodes if node.name == NODE)
    assert node.uid
    assert NODE in node.addresses
    assert NODE in inventory.exporter_pods.values()
    assert all(name.startswith("gpu-operator/nvidia-dcgm-exporter-") for name in inventory.exporter_pods)


def test_a_pod_with_a_finalizer_has_ended_and_stays_until_somebody_takes_it_away(served: Served) -> None:
    uid = served.add_pod("web-1")
    path = "/api/v1/namespaces/default/pods/web-1"
    finalizers = {"metadata": {"finalizers": ["example.com/flush"]}}
    assert served.ask("PATCH", path, finalizers, MERGE).code == 200

    served.pods.evict("default", "web-1", uid)

    # The kubelet is done with it, which a real API server shows by a grace of nothing.
    served.until(lambda: served.ask("GET", path).body["metadata"].get("deletionGracePeriodSeconds") == 0)
    pod = pod_named(served, "web-1")
    assert pod is not None
    assert pod.deleted_at is not None
    assert served.ask("PATCH", path, {"metadata": {"finalizers": None}}, MERGE).code == 200
    served.until(lambda: pod_named(served, "web-1") is None)


def test_a_pod_that_comes_back_under_its_name_is_another_pod(served: Served) -> None:
    template = {"metadata": {"labels": WEB}, "spec": objects.pod("web")["spec"]}
    body = {"serviceName": "web", "replicas": 1, "selector": {"matchLabels": WEB}, "template": template}
    served.cluster.api.create("statefulsets", "default", {"metadata": {"name": "web"}, "spec": body})

    def found() -> dict[str, PodView]:
        nodes = (NODE, OTHER_NODE)
        return {pod.uid: pod for node in nodes for pod in served.pods.on_node(node) if pod.name == "web-0"}

    served.until(lambda: any(pod.phase == "Running" for pod in found().values()))
    (first,) = found().values()

    served.pods.evict("default", "web-0", first.uid)

    served.until(lambda: bool(found()) and first.uid not in found())
    assert served.pods.evict("default", "web-0", first.uid) is None
    (second,) = found().values()
    assert second.deleted_at is None
