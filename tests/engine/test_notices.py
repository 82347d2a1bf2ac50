"""What people see on a node with kubectl while its operation goes on, and that nothing hangs on it."""

from __future__ import annotations

from dataclasses import replace

from app.domain.marks import STATE_LABEL, read_mark
from app.store import Store
from tests.engine.driving import NODE, Story
from tests.fakes import FakeCluster


def told(store: Store) -> tuple[Story, FakeCluster]:
    story = Story(store)
    story.ports = replace(story.ports, notices=story.cluster.notices)
    return story, story.cluster


def shown(cluster: FakeCluster) -> tuple[str | None, str]:
    node = cluster.nodes.get(NODE)
    assert node is not None
    mark = read_mark(node)
    return node.labels.get(STATE_LABEL), mark.step if mark else ""


def test_the_events_of_a_node_are_its_operations_timeline(store: Store) -> None:
    story, cluster = told(store)
    cluster.add_pod(NODE, "llama-ft-0", grace=600, ends_after=90)
    story.open()
    assert story.run().result == "released", story.timeline()

    said = cluster.notices.sentences[NODE]
    by_workers = [entry.text for entry in story.entries() if entry.actor == "sickbay"]
    assert set(by_workers) <= set(said)
    assert shown(cluster) == (None, "")
    steps = [notice.step for notice in cluster.notices.told]
    assert list(dict.fromkeys(steps))[:3] == ["cordon", "evidence", "drain"]


def test_the_label_follows_the_state_of_the_operation_and_the_annotation_its_step(store: Store) -> None:
    story, cluster = told(store)
    cluster.add_pod(NODE, "notebook", controller_kind="", ends_after=5)
    story.open()
    assert story.run().asks == "bare-pods"
    assert shown(cluster) == ("needs-human", "drain")

    story.store.pause.set("ann", "power work", story.now)
    story.order("approve")
    story.worker().advance(f"op-{NODE}")
    assert shown(cluster) == ("held", "drain")

    story.store.standing.lift(story.store.standing.read())
    story.worker().advance(f"op-{NODE}")
    assert shown(cluster) == ("waiting", "drain")
    assert story.run().result == "released", story.timeline()
    assert shown(cluster) == (None, "")
