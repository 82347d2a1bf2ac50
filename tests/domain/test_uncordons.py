from __future__ import annotations

import pytest

from app.domain.facts import NodeView, Write
from app.domain.uncordons import (
    GPU_OPERATOR,
    UPGRADE_STATE,
    service_that_uncordoned,
    service_that_upgrades,
    who_cordoned,
)
from tests.building import a_node, at

CORDONED_AT, SEEN_AT = at(0, milliseconds=700), at(10)


def uncordoned(state: str | None = None, *writes: Write) -> NodeView:
    labels = {} if state is None else {UPGRADE_STATE: state}
    return a_node(labels=labels, writes=writes)


def moved(minutes: float) -> Write:
    return Write(by="gpu-operator", at=at(minutes), upgrade_state=True)


@pytest.mark.parametrize(
    ("node", "service"),
    [
        # The GPU Operator uncordons first, and says so by the next state.
        (uncordoned("uncordon-required"), GPU_OPERATOR),
        (uncordoned("upgrade-done", moved(9.9)), GPU_OPERATOR),
        (uncordoned("upgrade-done", Write(by="manager", at=at(9), upgrade_state=True)), GPU_OPERATOR),
        (uncordoned("upgrade-done", Write(by="manager", at=at(9))), None),
        # An upgrade that ended before our cordon, or long ago, did not uncordon it now.
        (uncordoned("upgrade-done", moved(-1)), None),
        (uncordoned("upgrade-done", moved(4.9)), None),
        (uncordoned("upgrade-done"), None),
        (uncordoned("drain-required", moved(9.9)), None),
        (uncordoned("upgrade-failed"), None),
        # Others are known by having written in that moment.
        (uncordoned(None, Write(by="cluster-autoscaler", at=at(10, seconds=-10))), "the cluster autoscaler"),
        (uncordoned("upgrade-done", Write(by="karpenter", at=at(10))), "Karpenter"),
        (uncordoned(None, Write(by="cluster-autoscaler", at=at(10, seconds=-11))), None),
        (uncordoned(None, Write(by="cluster-autoscaler", at=at(-1))), None),
        (uncordoned(None, Write(by="kubectl-edit", at=at(10)), Write(by="node-fetcher", at=at(10))), None),
        (uncordoned(), None),
    ],
)
def test_a_service_is_known_by_what_it_wrote_beside_its_uncordon_and_all_else_is_a_persons(
    node: NodeView, service: str | None
) -> None:
    assert service_that_uncordoned(node, since=CORDONED_AT, now=SEEN_AT) == service


def test_a_write_in_the_second_of_our_cordon_counts_since_the_server_keeps_whole_seconds() -> None:
    node = uncordoned(None, Write(by="karpenter", at=at(0)))
    assert service_that_uncordoned(node, since=CORDONED_AT, now=at(0, seconds=2)) == "Karpenter"


@pytest.mark.parametrize(
    ("state", "busy"),
    [
        (None, False),
        ("", False),
        ("upgrade-required", False),
        ("upgrade-done", False),
        ("upgrade-failed", False),
        ("cordon-required", True),
        ("drain-required", True),
        ("post-maintenance-required", True),
    ],
)
def test_a_driver_upgrade_is_under_way_by_the_state_that_the_gpu_operator_tells(state: str | None, busy: bool) -> None:
    told = service_that_upgrades(uncordoned(state))
    assert told == (f"the GPU Operator (driver upgrade: {state})" if busy else None)


@pytest.mark.parametrize(
    ("writes", "who"),
    [
        ((), "somebody"),
        ((Write(by="kubectl-cordon", at=at(0)),), "somebody"),
        ((Write(by="", at=at(0), unschedulable=True),), "somebody"),
        ((Write(by="kubectl-cordon", at=at(0), unschedulable=True),), "somebody with kubectl-cordon"),
        ((Write(by="a", at=at(0)), Write(by="gpu-operator", at=at(0), unschedulable=True)), GPU_OPERATOR),
    ],
)
def test_who_cordoned_is_told_as_far_as_it_is_known(writes: tuple[Write, ...], who: str) -> None:
    assert who_cordoned(a_node(writes=writes)) == who
