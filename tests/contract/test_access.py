"""What `sickbay doctor` asks an API server, and what it makes of the answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.rights import Need
from app.errors import TemporaryPortError
from tests.contract.server import Told, telling
from tests.contract.test_node_jobs import node_job
from workers.adapters.kubernetes.access import KubernetesAccess

EVICT = Need("create", "pods", subresource="eviction")
START = Need("create", "jobs", "batch", on_node_jobs=True)


@pytest.mark.parametrize("allowed", [True, False])
def test_a_right_is_reviewed_where_it_is_needed(tmp_path: Path, allowed: bool) -> None:
    with telling(tmp_path, Told(201, {"status": {"allowed": allowed}})) as (client, server):
        access = KubernetesAccess(client, "gpu-jobs")
        assert [access.allowed(need) for need in (EVICT, START)] == [allowed, allowed]

    first, second = (asked.body["spec"]["resourceAttributes"] for asked in server.asked)
    assert (first["verb"], first["resource"], first["subresource"], first["namespace"]) == (
        "create",
        "pods",
        "eviction",
        "",
    )
    assert (second["group"], second["resource"], second["namespace"]) == ("batch", "jobs", "gpu-jobs")


def test_the_groups_of_the_api_are_told(tmp_path: Path) -> None:
    body = {"kind": "APIGroupList", "groups": [{"name": "apps"}, {"name": "nvidia.com"}]}
    with telling(tmp_path, Told(200, body)) as (client, _):
        assert KubernetesAccess(client, "gpu-jobs").groups() == {"apps", "nvidia.com"}


def test_pods_by_label_tell_their_nodes(tmp_path: Path) -> None:
    pods = [
        {"metadata": {"name": name, "namespace": "n", "uid": name}, "spec": {"nodeName": node} if node else {}}
        for name, node in (("a", "gpu-a01"), ("b", "gpu-a02"), ("pending", ""))
    ]
    with telling(tmp_path, Told(200, {"metadata": {}, "items": pods})) as (client, server):
        assert KubernetesAccess(client, "gpu-jobs").nodes_of_pods("name", "kured") == {"gpu-a01", "gpu-a02"}
    assert "labelSelector=name%3Dkured" in server.asked[0].path


@pytest.mark.parametrize(
    ("answer", "refusal"),
    [
        (Told(201, {}), None),
        (Told(409, {"reason": "AlreadyExists"}), None),
        (Told(404, {"message": 'namespaces "gpu-jobs" not found'}), 'namespaces "gpu-jobs" not found'),
        (
            Told(422, {"message": "No node job of Sickbay runs x with this command."}),
            "No node job of Sickbay runs x with this command",
        ),
        (Told(500, {}), "the API server answers with 500"),
    ],
)
def test_a_node_job_is_tried_without_being_made(tmp_path: Path, answer: Told, refusal: str | None) -> None:
    with telling(tmp_path, answer) as (client, server):
        assert KubernetesAccess(client, "gpu-jobs").refusal_of(node_job()) == refusal

    assert server.asked[0].path == "/apis/batch/v1/namespaces/gpu-jobs/jobs?dryRun=All"


def test_an_api_server_that_fails_is_no_missing_right(tmp_path: Path) -> None:
    with telling(tmp_path, Told(503, {"message": "etcd is away"})) as (client, _), pytest.raises(TemporaryPortError):
        KubernetesAccess(client, "gpu-jobs").allowed(EVICT)
