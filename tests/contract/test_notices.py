"""What people see on a node: on any cluster behind the port `Notices`, and what no failure of it may do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.domain.effects import PatchNode
from app.domain.facts import NodeView
from app.domain.marks import STATE_LABEL, cordon_patch, read_mark, release_patch
from app.domain.notices import Notice
from app.domain.operations import NodeRef, State
from tests.contract.clusters import NODE, ClusterUnderTest, Served
from tests.contract.server import Told, telling
from workers.adapters.kubernetes import notices
from workers.adapters.kubernetes.notices import KubernetesNotices
from workers.ports import NodeChangedError

AT = datetime(2026, 9, 20, 10, 0, tzinfo=UTC)
SENTENCE = "gpu-a01 was cordoned by somebody before Sickbay: nothing is evicted before a person approves."


def seen(cluster: ClusterUnderTest) -> NodeView:
    node = cluster.nodes.get(NODE)
    assert node is not None
    return node


def a_notice(cluster: ClusterUnderTest, *sentences: str, operation: str = "op-1", state: State = State.HELD) -> Notice:
    node = NodeRef(name=NODE, uid=seen(cluster).uid)
    told = tuple((AT, sentence) for sentence in sentences)
    return Notice(operation=operation, kind="repair", node=node, state=state, step="drain", sentences=told)


def patch(cluster: ClusterUnderTest, body_of: Callable[[NodeView], Mapping[str, object]]) -> None:
    """Sickbay's patch, tried again while controllers change the node."""

    def went_well() -> bool:
        node = seen(cluster)
        version, body = node.resource_version, body_of(node)
        try:
            cluster.nodes.patch(PatchNode(key="k", node=NODE, uid=node.uid, resource_version=version, body=body))
        except NodeChangedError:
            return False
        return True

    cluster.until(went_well)


def release(node: NodeView) -> Mapping[str, object]:
    mark = read_mark(node)
    assert mark is not None
    return release_patch(node, mark)


def test_a_held_node_tells_where_its_operation_stands(cluster: ClusterUnderTest) -> None:
    patch(cluster, lambda node: cordon_patch(node, "op-1"))
    before = read_mark(seen(cluster))
    assert before is not None
    assert seen(cluster).labels[STATE_LABEL] == "running"

    cluster.notices.tell(a_notice(cluster, SENTENCE, state=State.NEEDS_HUMAN))

    cluster.until(lambda: seen(cluster).labels[STATE_LABEL] == "needs-human" and cluster.sentences() == [SENTENCE])
    assert read_mark(seen(cluster)) == replace(before, step="drain")


def test_one_sentence_is_told_once_however_often_it_comes(cluster: ClusterUnderTest) -> None:
    for _ in range(3):
        cluster.notices.tell(a_notice(cluster, SENTENCE))
    cluster.notices.tell(a_notice(cluster, "The end."))

    cluster.until(lambda: "The end." in cluster.sentences())
    assert sorted(cluster.sentences()) == ["The end.", SENTENCE]


def test_a_node_that_another_operation_holds_or_that_was_given_back_is_not_marked(cluster: ClusterUnderTest) -> None:
    patch(cluster, lambda node: cordon_patch(node, "op-1"))
    cluster.notices.tell(a_notice(cluster, "Another.", operation="op-2"))
    cluster.until(lambda: "Another." in cluster.sentences())
    assert seen(cluster).labels[STATE_LABEL] == "running"

    patch(cluster, release)
    cluster.notices.tell(a_notice(cluster, "Late.", state=State.WITH_VENDOR))
    cluster.until(lambda: "Late." in cluster.sentences())
    assert STATE_LABEL not in seen(cluster).labels


def test_an_event_names_node_and_time_and_how_urgent_it_is(served: Served) -> None:
    served.notices.tell(a_notice(served, SENTENCE, state=State.NEEDS_HUMAN))
    served.notices.tell(a_notice(served, "Evicts 3 pods. " * 200, state=State.RUNNING))

    served.until(lambda: len(served.events()) == 2)

    urgent, ordinary = sorted(served.events(), key=lambda event: str(event["reason"]))
    assert (urgent["reason"], urgent["type"], urgent["action"]) == ("NeedsHuman", "Warning", "Repair")
    assert urgent["regarding"]["uid"] == seen(served).uid
    assert datetime.fromisoformat(urgent["eventTime"]) == AT
    assert (ordinary["reason"], ordinary["type"]) == ("Running", "Normal")
    assert len(ordinary["note"]) == 1024


@pytest.mark.parametrize("code", [403, 422])
def test_what_is_not_allowed_is_not_asked_for_again_and_harms_nothing(
    tmp_path: Path, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "COLLECTS_S", 0.0)
    with telling(tmp_path, Told(code, {"kind": "Status", "message": "no"})) as (client, server):
        come = threading.Event()
        server.after(1, come.set)
        told = KubernetesNotices(client)
        for number in range(20):
            told.tell(_running(f"Sentence {number}."))
        assert come.wait(5)
        told.close()

        assert len(server.asked) == 1


def test_a_server_that_fails_costs_its_notices_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "COLLECTS_S", 0.0)
    failing = [Told(500, {}), Told(hang_up=True), Told(409, {}), Told(201, {})]
    with telling(tmp_path, *failing) as (client, server):
        come = threading.Event()
        server.after(4, come.set)
        told = KubernetesNotices(client)
        for number in range(4):
            told.tell(_running(f"Sentence {number}."))
        assert come.wait(5)
        told.close()

        assert [asked.body["note"] for asked in server.asked] == [f"Sentence {number}." for number in range(4)]


def test_telling_returns_at_once_and_in_a_flood_the_oldest_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "WAITING", 3)
    monkeypatch.setattr(notices, "COLLECTS_S", 0.5)
    with telling(tmp_path, Told(201, {})) as (client, server):
        come = threading.Event()
        server.after(3, come.set)
        told = KubernetesNotices(client)
        for number in range(500):
            told.tell(_running(f"Sentence {number}."))
        assert come.wait(5)
        told.close()

        assert [asked.body["note"] for asked in server.asked] == [f"Sentence {number}." for number in (497, 498, 499)]


def _running(sentence: str) -> Notice:
    node = NodeRef(name=NODE, uid="u")
    told = ((AT, sentence),)
    return Notice(operation="op-1", kind="repair", node=node, state=State.RUNNING, step="drain", sentences=told)
