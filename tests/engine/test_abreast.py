"""Evictions side by side: as many at once as may be, each asked once; an error of one hides no answer of another."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from app.domain.effects import Effect, EvictPod, PatchNode
from app.domain.facts import PodView
from app.domain.refusals import last_refusal
from app.errors import TemporaryPortError
from tests.building import at
from tests.fakes import FakeCluster, FakePods
from workers.abreast import groups, perform_together
from workers.ports import Ports, Refusal

NODE = "gpu-a01"
LIMIT_S = 10.0


class Meeting(FakePods):
    """Evictions begin only when as many are under way as are expected, so that one after the other would never end."""

    def __init__(self, pods: FakePods, together: int) -> None:
        self.__dict__.update(pods.__dict__)
        self._met = threading.Barrier(together, timeout=LIMIT_S)
        self._one = threading.Lock()

    def evict(self, namespace: str, name: str, uid: str) -> Refusal | None:
        self._met.wait()
        with self._one:
            return super().evict(namespace, name, uid)


def eviction(pod: PodView) -> EvictPod:
    return EvictPod(key=f"op-1/evict/{pod.uid}", namespace=pod.namespace, name=pod.name, uid=pod.uid)


def a_patch(key: str) -> PatchNode:
    return PatchNode(key=key, node=NODE, uid="u", resource_version="1", body={})


def meeting(cluster: FakeCluster, together: int) -> Ports:
    return replace(cluster.ports, pods=Meeting(cluster.pods, together))


def test_evictions_are_under_way_together_and_each_is_asked_once() -> None:
    cluster = FakeCluster(nodes=1)
    pods = [cluster.add_pod(NODE, f"web-{number}") for number in range(4)]

    answers = perform_together(tuple(eviction(pod) for pod in pods), meeting(cluster, 4), at())

    assert [answer() for answer in answers] == [{}] * 4
    assert cluster.evictions == {pod.uid: 1 for pod in pods}


def test_an_error_of_one_hides_no_answer_of_another() -> None:
    cluster = FakeCluster(nodes=1)
    kept = cluster.add_pod(NODE, "kept", labels={"app": "kept"})
    other = cluster.add_pod(NODE, "other")
    cluster.set_budget("default/kept", {"app": "kept"}, allowed=0)
    both = (eviction(kept), eviction(other))

    refused, accepted = (answer() for answer in perform_together(both, meeting(cluster, 2), at()))
    told = last_refusal(refused, kept.uid)
    assert (told is not None, accepted) == (True, {})

    cluster.fail_next("evict", TemporaryPortError("The API server asks for patience."))
    answers = perform_together(both, meeting(cluster, 2), at())
    failed = 0
    for answer in answers:
        try:
            answer()
        except TemporaryPortError:
            failed += 1
    assert failed == 1


@pytest.mark.parametrize(
    ("most", "sizes"),
    [(1, [1] * 7), (2, [1, 2, 2, 1, 1]), (8, [1, 4, 1, 1]), (3, [1, 3, 1, 1, 1])],
)
def test_only_evictions_that_follow_one_another_are_grouped_and_the_order_stays(most: int, sizes: list[int]) -> None:
    pods = [eviction(PodView(namespace="ml", name=f"p{number}", uid=f"u{number}")) for number in range(5)]
    effects: list[Effect] = [a_patch("first"), *pods[:4], a_patch("between"), pods[4]]

    found = list(groups(effects, most))

    assert [len(group) for group in found] == sizes
    assert [effect for group in found for effect in group] == effects
