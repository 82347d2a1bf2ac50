from __future__ import annotations

from typing import Any

import pytest

from app.domain.drains import MIRROR_ANNOTATION, PodFate, fate, refusal_key, sort_pods
from tests.building import a_pod, at

MIRROR = {MIRROR_ANNOTATION: "abc"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, PodFate.GOES),
        ({"controller_kind": "Job"}, PodFate.GOES),
        ({"controller_kind": "Aerospike"}, PodFate.GOES),
        ({"empty_dirs": ("cache",)}, PodFate.GOES),
        ({"phase": "Pending"}, PodFate.GOES),
        ({"phase": "Unknown"}, PodFate.GOES),
        ({"annotations": MIRROR, "controller_kind": "Node"}, PodFate.STAYS),
        ({"annotations": MIRROR, "controller_kind": ""}, PodFate.STAYS),
        ({"controller_kind": "DaemonSet"}, PodFate.STAYS),
        ({"controller_kind": "DaemonSet", "empty_dirs": ("tmp",)}, PodFate.STAYS),
        ({"controller_kind": "DaemonSet", "deleted_at": at(1)}, PodFate.STAYS),
        ({"phase": "Succeeded", "controller_kind": "Job"}, PodFate.STAYS),
        ({"phase": "Failed", "controller_kind": ""}, PodFate.STAYS),
        ({"phase": "Succeeded", "deleted_at": at(1)}, PodFate.STAYS),
        ({"deleted_at": at(1)}, PodFate.LEAVING),
        ({"deleted_at": at(1), "controller_kind": ""}, PodFate.LEAVING),
        ({"controller_kind": ""}, PodFate.ASKED_FOR),
        ({"controller_kind": "", "empty_dirs": ("home",)}, PodFate.ASKED_FOR),
    ],
)
def test_each_kind_of_pod_has_its_fate(fields: dict[str, Any], expected: PodFate) -> None:
    assert fate(a_pod(**fields)) is expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"controller_kind": ""}, PodFate.GOES),
        ({}, PodFate.GOES),
        ({"controller_kind": "", "annotations": MIRROR}, PodFate.STAYS),
        ({"controller_kind": "DaemonSet"}, PodFate.STAYS),
    ],
)
def test_an_approval_lets_a_bare_pod_go_and_nothing_else(fields: dict[str, Any], expected: PodFate) -> None:
    assert fate(a_pod(**fields), approved=True) is expected


def test_pods_are_sorted_in_the_order_of_the_list() -> None:
    pods = (
        a_pod("b"),
        a_pod("ds", controller_kind="DaemonSet"),
        a_pod("a"),
        a_pod("leaving", deleted_at=at(1)),
        a_pod("bare", controller_kind=""),
    )
    view = sort_pods(pods)
    assert [pod.name for pod in view.go] == ["b", "a"]
    assert [pod.name for pod in view.stay] == ["ds"]
    assert [pod.name for pod in view.leaving] == ["leaving"]
    assert [pod.name for pod in view.asked_for] == ["bare"]
    assert not view.empty


@pytest.mark.parametrize(
    ("pods", "empty"),
    [
        ((), True),
        ((a_pod(controller_kind="DaemonSet"),), True),
        ((a_pod(),), False),
        ((a_pod(deleted_at=at(1)),), False),
        ((a_pod(controller_kind=""),), False),
    ],
)
def test_a_node_is_empty_when_all_that_had_to_go_is_gone(pods: tuple[Any, ...], empty: bool) -> None:
    assert sort_pods(pods).empty is empty


def test_a_refusal_is_remembered_per_pod_and_not_per_name() -> None:
    assert refusal_key("uid-1") != refusal_key("uid-2")
    assert a_pod("train-0").full_name == "ml/train-0"


def test_only_the_bare_pods_that_were_approved_go() -> None:
    one, other = a_pod("one", controller_kind=""), a_pod("other", controller_kind="")
    view = sort_pods((one, other), approved={one.uid})
    assert (view.go, view.asked_for) == ((one,), (other,))
