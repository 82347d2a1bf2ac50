"""What the doctor says to what it saw."""

from __future__ import annotations

import pytest

from app.domain.checkup import Finding, Grade, deletes_pods, freest, of_operator, of_others, of_pools, of_rights
from app.domain.drain_rules import Do, DrainRule
from app.domain.policies import Mode
from app.domain.remediators import REMEDIATORS, beside
from app.domain.rights import Component, Need, needs
from tests.building import GPU_LABEL, a_node, a_policy, a_pool

ALL = needs(Component.WORKER, Mode.ACT, node_jobs=True)
EVICT = Need("create", "pods", subresource="eviction")
START = Need("create", "jobs", "batch", on_node_jobs=True)


def graded(findings: list[Finding]) -> list[tuple[Grade, str]]:
    return [(finding.grade, finding.told) for finding in findings]


def test_each_mode_needs_what_those_before_it_need_and_more() -> None:
    by_mode = [set(needs(Component.WORKER, mode, node_jobs=True)) for mode in Mode]

    assert by_mode[0] < by_mode[1] < by_mode[2] == by_mode[3]
    assert set(needs(Component.WORKER, Mode.ACT, node_jobs=False)) < by_mode[3]


def test_watch_follows_node_jobs_only_where_some_may_run() -> None:
    assert needs(Component.WATCH, Mode.CORDON, node_jobs=True) == needs(Component.WATCH, Mode.ACT, node_jobs=False)
    assert Need("watch", "jobs", "batch", on_node_jobs=True) in needs(Component.WATCH, Mode.ACT, node_jobs=True)


def test_a_missing_right_is_bad_and_says_for_which_mode_it_is_needed() -> None:
    allowed = {need: need not in {EVICT, START} for need in ALL}

    assert graded(list(of_rights(Component.WORKER, Mode.ACT, allowed, node_jobs=True))) == [
        (Grade.BAD, "May not create pods/eviction, which mode act needs. Upgrade the chart with mode=act."),
        (
            Grade.BAD,
            "May not create jobs in the namespace of node jobs, which mode act needs. Upgrade the chart with mode=act.",
        ),
    ]


def test_the_right_to_delete_pods_is_needed_only_where_a_rule_of_a_drain_deletes_them() -> None:
    deleting = a_policy(a_pool(drain={"stubborn": DrainRule(do=Do.DELETE)}))
    assert (deletes_pods(deleting), deletes_pods(a_policy())) == (True, False)
    allowed = dict.fromkeys(ALL, True) | {Need("delete", "pods"): False}

    (missing,) = of_rights(Component.WORKER, Mode.ACT, allowed, node_jobs=True, deletes=True)
    assert missing.told.startswith("May not delete pods, which mode act needs.")
    assert missing.told.endswith("Upgrade the chart with mode=act and deletePods=true.")
    (fine,) = of_rights(Component.WORKER, Mode.ACT, allowed, node_jobs=True)
    assert fine.grade is Grade.GOOD


def test_a_right_that_the_mode_does_not_need_is_remarked_upon() -> None:
    wanted = needs(Component.WORKER, Mode.CORDON, node_jobs=True)
    allowed = {need: need in wanted or need == START for need in ALL}

    assert graded(list(of_rights(Component.WORKER, Mode.CORDON, allowed, node_jobs=True))) == [
        (Grade.GOOD, "Has every right that worker needs in mode cordon."),
        (Grade.REMARK, "May also create jobs in the namespace of node jobs, which mode cordon does not need."),
    ]


def test_the_rights_of_the_mode_and_no_other_are_good() -> None:
    allowed = dict.fromkeys(ALL, True)

    (finding,) = of_rights(Component.WORKER, Mode.ACT, allowed, node_jobs=True)
    assert finding.grade is Grade.GOOD


def test_a_pool_without_nodes_is_remarked_upon() -> None:
    policy = a_policy(a_pool(), a_pool(name="spare", selector={"rack": "9"}, mode=Mode.OBSERVE))

    assert graded(list(of_pools(policy, [a_node()]))) == [
        (Grade.GOOD, "Pool gpu, mode act: 1 node."),
        (Grade.REMARK, "Pool spare, mode observe: 0 nodes. Nothing carries the labels of its selector."),
    ]


def test_the_freest_mode_is_that_of_the_pool_that_may_go_furthest() -> None:
    assert freest(a_policy(a_pool(mode=Mode.OBSERVE), a_pool(name="b", mode=Mode.APPROVE))) is Mode.APPROVE


@pytest.mark.parametrize(
    ("mode", "exempt", "grade", "told"),
    [
        (Mode.ACT, (), Grade.BAD, "name kured under the pool's `beside`"),
        (Mode.APPROVE, (), Grade.BAD, "In mode approve the two undo each other's work."),
        (Mode.CORDON, (), Grade.REMARK, "Mode cordon does not disrupt them"),
        (Mode.ACT, ("kured",), Grade.GOOD, "Nobody else is known to repair these nodes"),
        (Mode.ACT, ("gke",), Grade.BAD, "kured repairs nodes of pool gpu too (gpu-a01)"),
    ],
)
def test_acting_beside_another_remediator_is_bad_unless_the_pool_names_it(
    mode: Mode, exempt: tuple[str, ...], grade: Grade, told: str
) -> None:
    policy = a_policy(a_pool(mode=mode, beside=exempt))

    (finding,) = of_others(policy, {"kured": ("gpu-a01", "elsewhere")}, [a_node()])

    assert finding.grade is grade
    assert told in finding.told


def test_many_shared_nodes_are_not_all_listed_and_nodes_of_no_pool_do_not_count() -> None:
    nodes = [a_node(f"n{number}") for number in range(5)] + [a_node("cpu", labels={})]

    (finding,) = of_others(a_policy(a_pool()), {"kured": tuple(node.name for node in nodes)}, nodes)
    assert "(n0, n1, n2, …)" in finding.told
    assert [f.grade for f in of_others(a_policy(a_pool()), {"kured": ("cpu",)}, nodes)] == [Grade.GOOD]


def test_a_reset_without_the_gpu_operator_is_remarked_upon() -> None:
    with_reset, without = a_policy(a_pool()), a_policy(a_pool(capabilities=("reboot",)))

    assert [finding.grade for finding in of_operator(with_reset, {"nvidia.com"})] == [Grade.GOOD]
    assert [finding.grade for finding in of_operator(with_reset, {"apps"})] == [Grade.REMARK]
    assert list(of_operator(without, {"apps"})) == []


@pytest.mark.parametrize(
    ("labels", "groups", "pods", "found"),
    [
        ({}, set(), {}, {}),
        ({}, {"janitor.dgxc.nvidia.com"}, {}, {"nvsentinel": ("a",)}),
        ({"k8saas.nvidia.com/ManagedByNVSentinel": "false"}, {"janitor.dgxc.nvidia.com"}, {}, {}),
        ({"k8saas.nvidia.com/ManagedByNVSentinel": "true"}, {"janitor.dgxc.nvidia.com"}, {}, {"nvsentinel": ("a",)}),
        ({}, {"remediation.medik8s.io"}, {}, {"node-health-check": ("a",)}),
        ({}, set(), {"kured": {"a", "b"}}, {"kured": ("a",)}),
        ({}, set(), {"kured": {"b"}}, {}),
        ({"cloud.google.com/gke-nodepool": "gpus"}, set(), {}, {"gke": ("a",)}),
        ({"eks.amazonaws.com/compute-type": "auto"}, set(), {}, {"eks": ("a",)}),
        ({"eks.amazonaws.com/compute-type": "ec2"}, set(), {}, {}),
        ({"sagemaker.amazonaws.com/node-health-status": "Schedulable"}, set(), {}, {"hyperpod": ("a",)}),
    ],
)
def test_another_remediator_is_known_by_its_signs(
    labels: dict[str, str], groups: set[str], pods: dict[str, set[str]], found: dict[str, tuple[str, ...]]
) -> None:
    assert beside({"a": {**GPU_LABEL, **labels}}, groups, pods) == found


def test_every_remediator_has_a_sign() -> None:
    assert [word for word, other in REMEDIATORS.items() if not (other.groups or other.pods or other.nodes)] == []
