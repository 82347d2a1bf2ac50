from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import pytest
from kubernetes import client

from simulator import objects
from tests.simulator.conftest import Kubernetes, untyped_watch


def events(kubernetes: Kubernetes, path: str, count: int, **query: str) -> list[Any]:
    """The first events of a watch, as they come over the line."""
    url = f"{kubernetes.cluster.url}{path}"
    with kubernetes.http.get(url, params={"watch": "1", **query}, stream=True, timeout=10) as answer:
        return [json.loads(line) for line in islice(answer.iter_lines(), count)]


def seen(found: list[Any]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"]["name"]) for event in found]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"field_selector": "spec.nodeName=gpu-a01"}, ["a", "c"]),
        ({"field_selector": "metadata.name=b"}, ["b"]),
        ({"field_selector": "spec.nodeName=gpu-a01,status.phase!=Pending"}, []),
        ({"label_selector": "app=x"}, ["a", "b"]),
        ({"label_selector": "app!=x"}, ["c"]),
        ({"label_selector": "app in (x,y),tier"}, ["b"]),
        ({"label_selector": "!app"}, ["c"]),
        ({"label_selector": "app notin (x)", "resource_version": "0"}, ["c"]),
    ],
)
def test_a_list_takes_what_its_selectors_say(still: Kubernetes, query: dict[str, str], names: list[str]) -> None:
    still.core.create_namespaced_pod("default", objects.pod("a", node="gpu-a01", labels={"app": "x"}))
    still.core.create_namespaced_pod("default", objects.pod("b", node="gpu-a02", labels={"app": "x", "tier": "1"}))
    still.core.create_namespaced_pod("default", objects.pod("c", node="gpu-a01"))
    found = still.core.list_pod_for_all_namespaces(**query).items
    assert [pod.metadata.name for pod in found] == names


def test_pages_of_a_list_hold_everything_once(still: Kubernetes) -> None:
    names, token = [], None
    while token != "":
        page = still.core.list_node(limit=2, _continue=token)
        assert len(page.items) <= 2
        names += [node.metadata.name for node in page.items]
        token = page.metadata._continue or ""
    assert names == ["control-1", "gpu-a01", "gpu-a02", "gpu-a03", "gpu-a04"]


def test_a_version_of_the_future_is_refused(still: Kubernetes) -> None:
    with pytest.raises(client.ApiException, match="504"):
        still.core.list_node(resource_version="999999999")


def test_a_watch_from_a_list_misses_nothing_and_repeats_nothing(still: Kubernetes) -> None:
    version = still.core.list_node().metadata.resource_version
    still.patch("/api/v1/nodes/gpu-a01", '{"metadata":{"labels":{"n":"1"}}}')
    still.patch("/api/v1/nodes/gpu-a02", '{"metadata":{"labels":{"n":"2"}}}')
    stream = untyped_watch.Watch().stream(still.core.list_node, resource_version=version, timeout_seconds=1)
    assert [(one["type"], one["object"].metadata.name) for one in stream] == [
        ("MODIFIED", "gpu-a01"),
        ("MODIFIED", "gpu-a02"),
    ]


def test_a_watch_resumes_after_the_event_it_saw_last(still: Kubernetes) -> None:
    version = still.core.list_node().metadata.resource_version
    for number in range(3):
        still.patch("/api/v1/nodes/gpu-a01", f'{{"metadata":{{"labels":{{"n":"{number}"}}}}}}')
    first = events(still, "/api/v1/nodes", 1, resourceVersion=version)[0]
    rest = events(still, "/api/v1/nodes", 2, resourceVersion=first["object"]["metadata"]["resourceVersion"])
    assert [one["object"]["metadata"]["labels"]["n"] for one in rest] == ["1", "2"]


def test_an_object_that_begins_or_ceases_to_match_is_added_or_deleted_for_the_watch(still: Kubernetes) -> None:
    version = still.core.list_node().metadata.resource_version
    for labels in ('{"sick":"yes"}', '{"sick":"yes","more":"1"}', '{"sick":null}'):
        still.patch("/api/v1/nodes/gpu-a01", f'{{"metadata":{{"labels":{labels}}}}}')
    found = events(still, "/api/v1/nodes", 3, resourceVersion=version, labelSelector="sick=yes")
    assert seen(found) == [("ADDED", "gpu-a01"), ("MODIFIED", "gpu-a01"), ("DELETED", "gpu-a01")]
    assert found[2]["object"]["metadata"]["labels"]["sick"] == "yes"


def test_a_watch_from_before_the_history_is_told_410_in_an_error_event(still: Kubernetes) -> None:
    version = still.core.list_node().metadata.resource_version
    still.patch("/api/v1/nodes/gpu-a01", '{"metadata":{"labels":{"n":"1"}}}')
    still.control("compact")
    error = events(still, "/api/v1/nodes", 1, resourceVersion=version)[0]
    assert error["type"] == "ERROR"
    assert (error["object"]["code"], error["object"]["reason"]) == (410, "Expired")
    with pytest.raises(client.ApiException, match="Expired"):
        list(untyped_watch.Watch().stream(still.core.list_node, resource_version=version, timeout_seconds=1))


def test_a_watch_ends_in_time_with_a_bookmark_of_where_it_stands(still: Kubernetes) -> None:
    version = still.core.list_node().metadata.resource_version
    still.core.create_namespaced_pod("default", objects.pod("elsewhere"))
    query = {"resourceVersion": version, "allowWatchBookmarks": "true", "timeoutSeconds": "1"}
    found = events(still, "/api/v1/nodes", 9, **query)
    assert [event["type"] for event in found] == ["BOOKMARK"]
    assert int(found[0]["object"]["metadata"]["resourceVersion"]) > int(version)


def test_events_are_written_in_either_form_and_read_in_both(still: Kubernetes) -> None:
    about = client.V1ObjectReference(kind="Node", name="gpu-a01", api_version="v1")
    event = client.CoreV1Event(
        metadata=client.V1ObjectMeta(name="seen.1"),
        event_time=datetime(2026, 5, 20, tzinfo=UTC),
        involved_object=about,
        message="seen",
        reason="Seen",
        type="Normal",
    )
    still.core.create_namespaced_event("default", event)
    events_api: Any = client.EventsV1Api(still.api)
    found = events_api.list_namespaced_event("default").items[0]
    assert (found.note, found.regarding.name) == ("seen", "gpu-a01")
