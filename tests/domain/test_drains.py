from __future__ import annotations

from typing import Any

import pytest

from app.domain.drain_rules import DRAIN_LABEL, SAFE_TO_EVICT, SAFE_VOLUMES, Do, DrainRule, Loss
from app.domain.drains import (
    BARE_PODS,
    LOCAL_DATA,
    MIRROR_ANNOTATION,
    UNFINISHED_WORK,
    PodFate,
    fate,
    is_overdue,
    sort_pods,
)
from tests.building import a_pod, at

MIRROR = {MIRROR_ANNOTATION: "abc"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, PodFate.GOES),
        ({"controller_kind": "Job"}, PodFate.GOES),
        ({"controller_kind": "Aerospike"}, PodFate.GOES),
        ({"empty_dirs": ("cache",)}, PodFate.HOLDS_DATA),
        ({"empty_dirs": ("cache",), "annotations": {SAFE_TO_EVICT: "true"}}, PodFate.GOES),
        ({"empty_dirs": ("cache", "tmp"), "annotations": {SAFE_VOLUMES: "tmp, cache"}}, PodFate.GOES),
        ({"empty_dirs": ("cache", "tmp"), "annotations": {SAFE_VOLUMES: "tmp"}}, PodFate.HOLDS_DATA),
        ({"claims": ("gpus",)}, PodFate.GOES),
        ({"annotations": {SAFE_TO_EVICT: "false"}}, PodFate.WAITED_FOR),
        ({"annotations": {"karpenter.sh/do-not-disrupt": "true"}}, PodFate.WAITED_FOR),
        ({"annotations": {"karpenter.sh/do-not-disrupt": "false"}}, PodFate.GOES),
        ({"labels": {DRAIN_LABEL: "wait"}}, PodFate.WAITED_FOR),
        ({"labels": {DRAIN_LABEL: "wait"}, "controller_kind": ""}, PodFate.WAITED_FOR),
        ({"labels": {DRAIN_LABEL: "wait"}, "empty_dirs": ("cache",)}, PodFate.WAITED_FOR),
        ({"labels": {DRAIN_LABEL: "wait"}, "deleted_at": at(1)}, PodFate.LEAVING),
        ({"labels": {DRAIN_LABEL: "wait"}, "phase": "Succeeded"}, PodFate.STAYS),
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


MARKED = {SAFE_TO_EVICT: "false"}


@pytest.mark.parametrize(
    ("approved", "fields", "expected"),
    [
        (BARE_PODS, {"controller_kind": ""}, PodFate.GOES),
        (BARE_PODS, {"controller_kind": "", "empty_dirs": ("home",)}, PodFate.GOES),
        (BARE_PODS, {}, PodFate.GOES),
        (BARE_PODS, {"empty_dirs": ("home",)}, PodFate.HOLDS_DATA),
        (BARE_PODS, {"annotations": MARKED}, PodFate.WAITED_FOR),
        (BARE_PODS, {"controller_kind": "", "annotations": MIRROR}, PodFate.STAYS),
        (BARE_PODS, {"controller_kind": "DaemonSet"}, PodFate.STAYS),
        (LOCAL_DATA, {"empty_dirs": ("home",)}, PodFate.GOES),
        (LOCAL_DATA, {"controller_kind": "", "empty_dirs": ("home",)}, PodFate.ASKED_FOR),
        (UNFINISHED_WORK, {"annotations": MARKED}, PodFate.GOES),
        (UNFINISHED_WORK, {"annotations": MARKED, "empty_dirs": ("home",)}, PodFate.HOLDS_DATA),
    ],
)
def test_an_approval_lets_its_own_pods_go_and_nothing_else(
    approved: str, fields: dict[str, Any], expected: PodFate
) -> None:
    assert fate(a_pod(**fields), approved=(approved,)) is expected


@pytest.mark.parametrize(
    ("rule", "fields", "expected"),
    [
        (DrainRule(do=Do.EVICT), {"annotations": MARKED}, PodFate.GOES),
        (DrainRule(do=Do.WAIT), {}, PodFate.WAITED_FOR),
        (DrainRule(do=Do.LEAVE), {}, PodFate.STAYS),
        (DrainRule(do=Do.LEAVE), {"deleted_at": at(1)}, PodFate.STAYS),
        (DrainRule(do=Do.DELETE), {"annotations": MARKED}, PodFate.GOES),
        (DrainRule(accepts=(Loss.BARE_PODS,)), {"controller_kind": ""}, PodFate.GOES),
        (DrainRule(accepts=(Loss.BARE_PODS,)), {"controller_kind": "", "empty_dirs": ("a",)}, PodFate.HOLDS_DATA),
        (DrainRule(accepts=(Loss.LOCAL_DATA,)), {"empty_dirs": ("a",)}, PodFate.GOES),
        (DrainRule(accepts=(Loss.LOCAL_DATA,)), {"empty_dirs": ("a",), "annotations": MARKED}, PodFate.WAITED_FOR),
        (DrainRule(do=Do.EVICT), {"controller_kind": "DaemonSet"}, PodFate.STAYS),
    ],
)
def test_a_rule_of_the_policy_counts_before_what_the_pod_says_of_itself(
    rule: DrainRule, fields: dict[str, Any], expected: PodFate
) -> None:
    assert fate(a_pod(**fields), rule=rule) is expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, PodFate.ASKED_FOR),
        ({"phase": "Failed"}, PodFate.STAYS),
        ({"deleted_at": at(1)}, PodFate.LEAVING),
    ],
)
def test_a_pod_whose_daemon_set_was_deleted_is_a_bare_pod(fields: dict[str, Any], expected: PodFate) -> None:
    pod = a_pod(controller_kind="DaemonSet", **fields)
    assert fate(pod, orphaned=True) is expected
    assert sort_pods([pod], orphans={pod.uid}).stay == ((pod,) if expected is PodFate.STAYS else ())


def test_the_first_rule_that_matches_a_pod_counts() -> None:
    rules = {
        "notebooks": DrainRule(namespaces=("notebook-*", "scratch"), do=Do.WAIT),
        "canary": DrainRule(labels={"track": "canary"}, do=Do.LEAVE),
        "rest": DrainRule(accepts=(Loss.LOCAL_DATA,)),
    }
    in_notebooks = a_pod("a", namespace="notebook-ana", labels={"track": "canary"})
    canary = a_pod("b", labels={"track": "canary", "app": "x"})
    stable = a_pod("c", labels={"track": "stable"}, empty_dirs=("cache",))

    view = sort_pods([in_notebooks, canary, stable], rules=rules)

    assert (view.waited_for, view.stay, view.go) == ((in_notebooks,), (canary,), (stable,))


def test_a_pod_is_overdue_a_little_after_its_grace_has_ended() -> None:
    assert not is_overdue(a_pod(), at(9))
    assert not is_overdue(a_pod(deleted_at=at(9)), at(9, seconds=30))
    assert is_overdue(a_pod(deleted_at=at(9)), at(9, seconds=31))


def test_pods_are_sorted_in_the_order_of_the_list() -> None:
    pods = (
        a_pod("b"),
        a_pod("ds", controller_kind="DaemonSet"),
        a_pod("a"),
        a_pod("leaving", deleted_at=at(1)),
        a_pod("bare", controller_kind=""),
        a_pod("data", empty_dirs=("home",)),
        a_pod("job", annotations=MARKED),
    )
    view = sort_pods(pods)
    assert [pod.name for pod in view.go] == ["b", "a"]
    assert [pod.name for pod in view.stay] == ["ds"]
    assert [pod.name for pod in view.leaving] == ["leaving"]
    assert [pod.name for pod in view.asked_for] == ["bare"]
    assert [pod.name for pod in view.hold_data] == ["data"]
    assert [pod.name for pod in view.waited_for] == ["job"]
    assert {pod.name for pod in view.left_alone} == {"bare", "data", "job"}
    assert not view.empty


@pytest.mark.parametrize(
    ("pods", "empty"),
    [
        ((), True),
        ((a_pod(controller_kind="DaemonSet"),), True),
        ((a_pod(),), False),
        ((a_pod(deleted_at=at(1)),), False),
        ((a_pod(controller_kind=""),), False),
        ((a_pod(empty_dirs=("home",)),), False),
        ((a_pod(annotations=MARKED),), False),
    ],
)
def test_a_node_is_empty_when_all_that_had_to_go_is_gone(pods: tuple[Any, ...], empty: bool) -> None:
    assert sort_pods(pods).empty is empty


def test_only_the_pods_that_were_approved_go_and_only_for_what_was_asked() -> None:
    one, other = a_pod("one", controller_kind=""), a_pod("other", controller_kind="")
    view = sort_pods((one, other), approved={BARE_PODS: {one.uid}, LOCAL_DATA: {other.uid}})
    assert (view.go, view.asked_for) == ((one,), (other,))
