"""The pure rules of the actors, as tables."""

from __future__ import annotations

from typing import Any

import pytest

from simulator import objects
from simulator.actors.disruption import _desired
from simulator.actors.scheduling import score, tolerates, why_not
from simulator.api.merge import merged
from simulator.api.selectors import selected

CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
FULL_TOLERATION = [{"operator": "Exists"}]


@pytest.mark.parametrize(
    ("toleration", "taint", "covered"),
    [
        ({"operator": "Exists"}, CORDON, True),
        ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}, CORDON, False),
        ({"key": CORDON["key"], "operator": "Exists", "effect": "NoExecute"}, CORDON, False),
        ({"key": "a", "value": "1"}, {"key": "a", "value": "1", "effect": "NoSchedule"}, True),
        ({"key": "a", "value": "1"}, {"key": "a", "value": "2", "effect": "NoSchedule"}, False),
    ],
)
def test_a_toleration_covers_a_taint_by_key_value_and_effect(toleration: Any, taint: Any, covered: bool) -> None:
    assert tolerates([toleration], taint) is covered


@pytest.mark.parametrize(
    ("spec", "change", "used", "why"),
    [
        ({}, {}, 0, ""),
        ({}, {}, 7, "Insufficient nvidia.com/gpu"),
        ({}, {"unschedulable": True}, 0, "node(s) were unschedulable"),
        ({"tolerations": FULL_TOLERATION}, {"unschedulable": True, "taints": [CORDON]}, 0, ""),
        ({}, {"taints": [{"key": "a", "effect": "NoSchedule"}]}, 0, "node(s) had untolerated taint {a: }"),
        ({}, {"taints": [{"key": "a", "effect": "PreferNoSchedule"}]}, 0, ""),
        ({"nodeSelector": {"nvidia.com/gpu.count": "4"}}, {}, 0, "node(s) didn't match Pod's node affinity/selector"),
    ],
)
def test_a_pod_runs_only_where_it_may(spec: Any, change: Any, used: int, why: str) -> None:
    node = objects.node("gpu-a01", boot_id="b")
    node["spec"] |= change
    assert why_not(objects.pod("one", gpus=2, **spec), node, used) == why


@pytest.mark.parametrize(
    ("operator", "values", "takes"),
    [
        ("In", ["gpu-a01"], True),
        ("In", ["gpu-a02"], False),
        ("NotIn", ["gpu-a02"], True),
        ("Exists", [], True),
        ("DoesNotExist", [], False),
    ],
)
def test_node_affinity_is_by_label(operator: str, values: list[str], takes: bool) -> None:
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": operator, "values": values}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    pod = objects.pod("one", affinity={"nodeAffinity": required})
    assert (why_not(pod, objects.node("gpu-a01", boot_id="b"), 0) == "") is takes


def test_replicas_keep_apart_and_free_gpus_decide_last() -> None:
    pod, node = objects.pod("one", labels={"app": "x"}), objects.node("gpu-a01", boot_id="b")
    alone, with_another = score(pod, node, [], 1), score(pod, node, [pod], 8)
    assert alone > with_another
    assert score(pod, node, [], 8) > alone


@pytest.mark.parametrize(
    ("spec", "expected", "healthy_wanted"),
    [
        ({"minAvailable": 1}, 2, 1),
        ({"minAvailable": "50%"}, 3, 2),
        ({"maxUnavailable": 1}, 4, 3),
        ({"maxUnavailable": "25%"}, 4, 3),
        ({"maxUnavailable": 0}, 2, 2),
        ({}, 2, 1),
    ],
)
def test_a_budget_wants_so_many_healthy_pods(spec: Any, expected: int, healthy_wanted: int) -> None:
    assert _desired(spec, expected) == healthy_wanted


@pytest.mark.parametrize(
    ("selector", "takes"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"app": "x"}}, True),
        ({"matchLabels": {"app": "y"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["x", "z"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["x"]}]}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}, True),
    ],
)
def test_the_selector_of_a_budget_takes_labels(selector: Any, takes: bool) -> None:
    assert selected(selector, {"app": "x"}) is takes


# RFC 7386, appendix A.
@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_merge_patch_is_that_of_the_rfc(target: Any, patch: Any, result: Any) -> None:
    assert merged(target, patch) == result
