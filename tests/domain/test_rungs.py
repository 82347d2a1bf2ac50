from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from app.domain.operations import Operation
from app.domain.plans.repair import RUNGS
from app.domain.policies import Attempts
from app.domain.rungs import OFF_THE_BUS, Attempt, Tried, passed_over
from tests.building import NODE, a_fault, a_gpu, a_policy, a_pool, an_operation, at

NOW = at(days=1)
CARD = "GPU-0103"
MILDER = [rung for rung in RUNGS if rung != "ticket"]


def about_to(rung: str, *attempts: Attempt, operation: Operation | None = None, **fields: Any) -> str | None:
    """The sentence against this rung in a pool that has every one."""
    policy = a_policy(
        a_pool(capabilities=fields.pop("capabilities", tuple(RUNGS))),
        attempts=Attempts(per_node=3, per_gpu=2),
        probation=timedelta(hours=24),
    )
    given: dict[str, Any] = {"offender": None, "now": NOW, "pool": policy.pools[0], "policy": policy}
    seen = {"rung": rung, "operation": operation or an_operation(a_fault("xid-48")), "attempts": attempts}
    return passed_over(Tried(**{**given, **seen, **fields}))


def an_attempt(rung: str = "reset", *, operation: str = "op-0", **fields: Any) -> Attempt:
    """Two days ago, so that no probation counts, of the same card on the same node."""
    given: dict[str, Any] = {"at": NOW - timedelta(days=2), "node": NODE, "card": CARD}
    return Attempt(**{"rung": rung, "operation": operation, **given, **fields})


@pytest.mark.parametrize("rung", RUNGS)
def test_a_rung_is_taken_when_nothing_speaks_against_it(rung: str) -> None:
    assert about_to(rung) is None


@pytest.mark.parametrize("rung", RUNGS)
def test_a_rung_that_the_pool_does_not_have_is_passed_over(rung: str) -> None:
    others = tuple(other for other in RUNGS if other != rung)
    assert about_to(rung, capabilities=others) == f"Passes over {rung}: pool gpu does not have it."


@pytest.mark.parametrize("code", sorted(OFF_THE_BUS))
@pytest.mark.parametrize("rung", RUNGS)
def test_no_reset_reaches_a_gpu_that_is_off_the_bus(rung: str, code: str) -> None:
    why = about_to(rung, operation=an_operation(a_fault(code)))
    assert why == ("Passes over reset: a GPU that is off the bus cannot be reset." if rung == "reset" else None)


@pytest.mark.parametrize("gpu", [None, a_gpu(3, None, None), a_gpu(None, "S3", None)])
@pytest.mark.parametrize("rung", RUNGS)
def test_a_reset_is_of_a_gpu_that_is_named_by_uuid(rung: str, gpu: Any) -> None:
    why = about_to(rung, operation=an_operation(a_fault("xid-48", gpu=gpu)))
    assert why == ("Passes over reset: no UUID says which GPU to reset." if rung == "reset" else None)


@pytest.mark.parametrize("rung", RUNGS)
def test_an_offender_is_not_repaired_once_more_but_told_to_the_vendor(rung: str) -> None:
    why = about_to(rung, offender="GPU 3 had 3 faults within 30 d.")
    assert why == (None if rung == "ticket" else f"Passes over {rung}: GPU 3 had 3 faults within 30 d.")


@pytest.mark.parametrize(("repairs", "enough"), [(2, False), (3, True), (4, True)])
@pytest.mark.parametrize("rung", RUNGS)
def test_a_node_is_repaired_so_often_within_a_window_and_then_only_a_ticket_is_left(
    rung: str, repairs: int, enough: bool
) -> None:
    attempts = [an_attempt(operation=f"op-{number}", card=f"GPU-{number}") for number in range(repairs)]
    why = about_to(rung, *attempts)
    told = f"Passes over {rung}: {repairs} repairs of this node within 7 d are enough."
    assert why == (told if enough and rung != "ticket" else None)


@pytest.mark.parametrize(("repairs", "enough"), [(1, False), (2, True)])
@pytest.mark.parametrize("rung", RUNGS)
def test_a_card_is_repaired_so_often_on_whichever_node_it_is(rung: str, repairs: int, enough: bool) -> None:
    attempts = [an_attempt(operation=f"op-{number}", node=f"gpu-b{number}") for number in range(repairs)]
    told = f"Passes over {rung}: {repairs} repairs of this GPU within 7 d are enough."
    assert about_to(rung, *attempts) == (told if enough and rung != "ticket" else None)


@pytest.mark.parametrize("rung", MILDER)
def test_the_rungs_of_one_repair_count_as_one(rung: str) -> None:
    assert about_to(rung, *(an_attempt(name) for name in RUNGS)) is None


def test_repairs_of_other_cards_on_other_nodes_do_not_count() -> None:
    others = [an_attempt(operation=f"op-{number}", node="gpu-b1", card="GPU-9") for number in range(9)]
    unknown = [an_attempt(operation=f"op-{number}", node="gpu-b1", card=None) for number in range(9)]
    nameless = an_operation(a_fault("xid-48", gpu=None))
    assert about_to("reboot", *others, *unknown) is None
    assert about_to("reboot", *unknown, operation=nameless) is None


@pytest.mark.parametrize("held", MILDER)
@pytest.mark.parametrize("rung", RUNGS)
def test_on_probation_only_a_graver_rung_than_the_one_that_did_not_hold_is_taken(rung: str, held: str) -> None:
    order = list(RUNGS)
    why = about_to(rung, an_attempt(held, at=NOW - timedelta(hours=3)))
    refused = order.index(rung) <= order.index(held)
    assert why == (f"Passes over {rung}: a {held} 3 h ago did not hold." if refused else None)


@pytest.mark.parametrize(
    ("attempt", "refused"),
    [
        (an_attempt("reboot", at=NOW - timedelta(hours=24)), False),
        (an_attempt("reboot", at=NOW - timedelta(hours=23, minutes=59)), True),
        # A clock of another worker that is ahead makes an attempt no older than it is.
        (an_attempt("reboot", at=NOW + timedelta(seconds=5)), True),
        (an_attempt("reboot", at=NOW - timedelta(hours=1), node="gpu-b1"), True),
        (an_attempt("reboot", at=NOW - timedelta(hours=1), card="GPU-9"), False),
        (an_attempt("reboot", at=NOW - timedelta(hours=1), card=None), False),
        (an_attempt("ticket", at=NOW - timedelta(hours=1)), False),
    ],
)
def test_probation_ends_follows_the_card_and_is_not_begun_by_a_ticket(attempt: Attempt, refused: bool) -> None:
    assert (about_to("reboot", attempt) is not None) is refused


def test_a_ticket_is_refused_by_its_pool_alone() -> None:
    everything = [an_attempt(rung, operation=f"op-{rung}", at=NOW - timedelta(hours=1)) for rung in RUNGS]
    lost = an_operation(a_fault("xid-79", gpu=None))
    assert about_to("ticket", *everything, offender="GPU 3 is an offender.", operation=lost) is None
    assert about_to("ticket", capabilities=()) is not None


def test_the_first_reason_is_the_one_that_is_told() -> None:
    everything = [an_attempt("replace", operation=f"op-{rung}", at=NOW - timedelta(hours=1)) for rung in RUNGS]
    lost = an_operation(a_fault("xid-79", gpu=None))
    told: dict[str, Any] = {"offender": "GPU 3 is an offender.", "operation": lost}
    assert about_to("reset", *everything, capabilities=(), **told) == "Passes over reset: pool gpu does not have it."
    assert about_to("reset", *everything, **told) == "Passes over reset: a GPU that is off the bus cannot be reset."
