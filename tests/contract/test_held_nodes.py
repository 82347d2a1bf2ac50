"""A node that Sickbay holds while others change it, on the simulated and on a real API server."""

from __future__ import annotations

from typing import Any

import pytest

from app.domain.facts import NodeView
from app.domain.faults import Fault, Gpu
from app.domain.folding import open_repair
from app.domain.marks import ANNOTATION, HELD_ANNOTATIONS, HELD_LABELS, STATE_LABEL
from app.domain.operations import NodeRef, Operation
from app.domain.people import give
from app.domain.policies import Rung
from app.domain.uncordons import UPGRADE_STATE
from app.store import Change, Committed, Store
from simulator.actors.client import ApiClient
from tests.contract.clusters import NODE, Served
from tests.engine.policies import story_policy
from workers.engine import Engine
from workers.ports import Ports
from workers.steps import STEPS
from workers.wiring import utc_now

ID = "op-held"
KEYS = {ANNOTATION, STATE_LABEL, *HELD_ANNOTATIONS, *HELD_LABELS}


class Held:
    """An operation that has cordoned the node and waits for a pod that its budget keeps."""

    def __init__(self, served: Served, store: Store) -> None:
        self.served, self.store = served, store
        served.until(self.was_upgraded_in_an_earlier_second)
        labels = {"app": "kept"}
        served.add_pod("kept-0", labels=labels)
        served.set_budget("kept", labels, needed=1, healthy=1)
        self.before = self.node()
        ports = Ports(
            nodes=served.nodes,
            pods=served.pods,
            node_jobs=served.node_jobs,
            places=served.places,
            baselines=store.baselines,
            history=store.history,
            gpu_counts=store.gpu_counts,
        )
        self.engine = Engine(
            store=store, ports=ports, policy=story_policy(), steps=STEPS, owner="worker", clock=utc_now
        )
        now = utc_now()
        nodes = served.nodes.all()
        store.inventory.write(nodes, {node.name: "gpu" for node in nodes}, {}, frozenset(), at=now)
        gpu = Gpu(uuid="GPU-1", index=3)
        opened, entries = open_repair(
            Fault(code="xid-79", node=NODE, gpu=gpu, at=now, source="alert GpuXid", evidence="Xid 79 on GPU 3"),
            id=ID,
            node=NodeRef(name=NODE, uid=self.before.uid),
            pool="gpu",
            ladder=(Rung(rung="reboot"),),
            now=now,
        )
        change = Change(operation=opened, expected_version=0, entries=entries, now=now)
        assert isinstance(store.operations.commit(change), Committed)
        self.until("waiting")
        assert self.node().unschedulable

    def was_upgraded_in_an_earlier_second(self) -> bool:
        """Whether the upgrade state was set in one: of a write the API server keeps no more than its second."""
        this_second = utc_now().replace(microsecond=0)
        return all(write.at < this_second for write in self.node().writes if write.upgrade_state)

    @property
    def person(self) -> ApiClient:
        return self.served.cluster.person

    def node(self) -> NodeView:
        node = self.served.nodes.get(NODE)
        assert node is not None
        return node

    def operation(self) -> Operation:
        found = self.store.operations.load(ID)
        assert found is not None
        return found

    def until(self, state: str) -> Operation:
        """Looks until the operation is in that state: controllers may change the node between a look and an act."""

        def there() -> bool:
            self.engine.advance(ID)
            return self.operation().state == state

        self.served.until(there)
        return self.operation()

    def patch(self, **parts: Any) -> None:
        """Somebody else changes the node."""
        self.person.patch("nodes", "", NODE, parts)

    def said(self) -> list[str]:
        return [entry.text for entry in self.store.timeline.read(ID)]

    def ours(self) -> set[str]:
        node = self.node()
        return KEYS & {*node.annotations, *node.labels}


@pytest.fixture
def held(served: Served, store: Store) -> Held:
    return Held(served, store)


def test_a_node_is_given_back_with_what_was_there_before_and_nothing_of_ours(served: Served, store: Store) -> None:
    theirs = {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "false"}
    served.cluster.person.patch("nodes", "", NODE, {"metadata": {"annotations": theirs}})
    held = Held(served, store)
    assert held.ours() == KEYS

    ordered, entries = give(held.operation(), "cancel", actor="ann", reason="enough", now=utc_now())
    change = Change(operation=ordered, expected_version=held.operation().version, entries=entries, now=utc_now())
    assert isinstance(store.operations.commit(change), Committed)
    held.until("finished")

    after = held.node()
    assert not after.unschedulable
    assert (after.labels, after.annotations) == (held.before.labels, held.before.annotations)
    assert after.annotations.items() >= theirs.items()


def test_a_persons_uncordon_ends_it_and_takes_our_marks_away(held: Held) -> None:
    held.patch(spec={"unschedulable": None})

    assert held.until("finished").result == "cancelled"
    assert "uncordoned by a person" in " ".join(held.said())
    assert held.ours() == set()
    assert not held.node().unschedulable


@pytest.mark.parametrize("state", ["uncordon-required", "upgrade-done"])
def test_the_gpu_operators_uncordon_is_put_right_and_told(held: Held, state: str) -> None:
    held.patch(metadata={"labels": {UPGRADE_STATE: "validation-required"}})
    held.patch(spec={"unschedulable": None})
    held.patch(metadata={"labels": {UPGRADE_STATE: state}})

    # A controller may write on the node between a look and the cordon, which then fails: it is tried at the next look.
    held.served.until(lambda: held.until("waiting").result is None and held.node().unschedulable)
    assert f"{NODE} was uncordoned by the GPU Operator, not by a person: Sickbay cordons it again." in held.said()
    assert f"Cordoned {NODE} again." in held.said()


def test_an_annotation_that_is_taken_away_is_brought_before_a_person(held: Held) -> None:
    held.patch(metadata={"annotations": {ANNOTATION: None}})

    asked = held.until("needs-human")
    assert "annotation" in asked.reason
    assert held.node().unschedulable


def test_a_node_that_is_deleted_ends_it_and_another_of_its_name_is_another_node(held: Held) -> None:
    held.person.delete("nodes", "", NODE)

    ended = held.until("finished")
    assert ended.result == "overtaken"
    held.served.cluster.node_keeper.register((NODE,))
    held.served.until(lambda: held.served.nodes.get(NODE) is not None)
    held.engine.advance(ID)
    assert held.node().uid != held.before.uid
    assert held.ours() == set()
    assert not held.node().unschedulable


def test_a_node_that_came_back_before_anybody_looked_is_another_node(held: Held) -> None:
    held.person.delete("nodes", "", NODE)
    held.served.until(lambda: held.served.nodes.get(NODE) is None)
    held.served.cluster.node_keeper.register((NODE,))
    held.served.until(lambda: held.served.nodes.get(NODE) is not None)

    ended = held.until("finished")
    assert (ended.result, ended.reason) == (
        "overtaken",
        f"{NODE} was recreated: the node of that name is another one now.",
    )
    assert held.ours() == set()
