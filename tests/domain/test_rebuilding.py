from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.facts import NodeView
from app.domain.interruptions import Interruption, interruption
from app.domain.marks import ANNOTATION, noted_mark, read_mark, shown_patch
from app.domain.operations import State
from app.domain.people import give
from app.domain.rebuilding import rebuilt
from tests.building import a_node, a_policy, a_pool, at, cordoned, patched


def at_step(node: NodeView, step: str) -> NodeView:
    body = shown_patch(node, "op-1", State.WAITING, step)
    assert body is not None
    return patched(node, body)


HELD = at_step(cordoned(), "reboot")


def test_a_lost_record_is_opened_anew_before_a_person_and_repeats_nothing() -> None:
    found = rebuilt(HELD, pool="gpu", now=at(90))
    assert found is not None
    operation, (told,) = found
    assert (operation.id, operation.state, operation.current, operation.asks) == ("op-1", State.NEEDS_HUMAN, None, "")
    assert operation.holds_node
    assert (
        told.text
        == operation.reason
        == (
            "gpu-a01 carries the mark of op-1, at step reboot, which the store does not know: its record was lost. "
            "The node has not booted since its cordon. Nothing is repeated and nothing released: look at it, then "
            "cancel or release this operation."
        )
    )


def test_it_says_whether_the_machine_went_down_meanwhile() -> None:
    found = rebuilt(replace(HELD, boot_id="b-222"), pool="gpu", now=at(90))
    assert found is not None
    assert "has booted since its cordon" in found[0].reason


@pytest.mark.parametrize("order", ["cancel", "release"])
def test_a_person_ends_it_by_giving_the_node_back_as_it_was(order: str) -> None:
    found = rebuilt(HELD, pool="gpu", now=at(90))
    assert found is not None
    given, _ = give(found[0], order, actor="ann", reason="looked at it", now=at(91))
    assert given.current is not None
    assert given.current.step == "release"
    bare = patched(HELD, {"metadata": {"annotations": {ANNOTATION: None}}})
    assert noted_mark((step.memo for step in given.plan), bare) == read_mark(HELD)


def test_a_person_who_uncordons_ends_it_too() -> None:
    found = rebuilt(HELD, pool="gpu", now=at(90))
    assert found is not None
    uncordoned = replace(HELD, unschedulable=False)
    told = interruption(found[0], uncordoned, pool=a_pool(), policy=a_policy(), now=at(91))
    assert isinstance(told, Interruption)
    assert told.clean_up


@pytest.mark.parametrize(
    "node",
    [
        a_node(),
        a_node(annotations={ANNOTATION: "{}"}),
        cordoned(operation="../op-1"),
        cordoned(operation="op-" + "a" * 60),
        cordoned(operation="op-1\n"),
        cordoned(operation="OP 1"),
    ],
)
def test_what_cannot_be_our_mark_opens_nothing(node: NodeView) -> None:
    assert rebuilt(node, pool="gpu", now=at(90)) is None
