from __future__ import annotations

from dataclasses import replace

from app.domain.aims import aim
from app.domain.operations import Operation, apply
from app.domain.outcomes import NeedsHuman
from app.domain.people import give
from app.domain.questions import allowed_by, are_allowed, called, noted
from tests.building import an_operation, at, remembering

DRAINING = remembering(an_operation(at_step="drain"))


def asked(**of: str) -> Operation:
    operation, _ = apply(DRAINING, NeedsHuman("Approve it.", asks="bare-pods", of=of), now=at(10))
    return operation


def approved(operation: Operation) -> Operation:
    given, _ = give(operation, "approve", actor="ann", reason="they may go", now=at(20))
    return given


def test_an_approval_allows_those_that_the_question_named_and_no_others() -> None:
    allowed = approved(asked(u1="ml/one", u2="ml/two")).approvals
    assert are_allowed(allowed, "bare-pods", ["u1", "u2", "u3"]) == {"u1", "u2"}
    assert are_allowed(allowed, "drain", ["u1"]) == frozenset()


def test_a_second_question_adds_to_what_was_allowed() -> None:
    again, _ = apply(
        approved(asked(u1="ml/one")), NeedsHuman("Approve it.", asks="bare-pods", of={"u3": "ml/three"}), now=at(30)
    )
    assert approved(again).approvals == ("bare-pods u1", "bare-pods u3")
    assert approved(replace(again, approvals=("bare-pods u3",))).approvals == ("bare-pods u3",)


def test_whoever_answers_names_those_that_were_seen() -> None:
    one, two = aim(asked(u1="ml/one"), "approve"), aim(asked(u1="ml/one", u2="ml/two"), "approve")
    assert one.startswith("bare-pods of ml/one (")
    assert two.startswith("bare-pods of ml/one, ml/two (")
    assert aim(asked(u9="ml/one"), "approve") != one
    many = called(asked(**{f"u{number}": f"ml/p{number}" for number in range(7)}).current, "bare-pods")
    assert many.startswith("bare-pods of ml/p0, ml/p1, ml/p2, ml/p3, ml/p4 and 2 more (")


def test_a_question_about_nobody_in_particular_is_called_by_its_own_name() -> None:
    assert noted("drain", {}) == {}
    assert (allowed_by(None, "drain"), called(None, "drain")) == (("drain",), "drain")
    assert called(asked(u1="ml/one").current, "drain") == "drain"
