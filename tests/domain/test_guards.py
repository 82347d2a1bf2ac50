from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from app.domain.guards import (
    LATER,
    SOON,
    WITH_VENDOR,
    Budget,
    Circumstances,
    Hold,
    Hurts,
    budget_limits,
    first_hold,
)
from app.domain.operations import Result, finish
from app.domain.policies import EXCLUDE_LABEL, Budgets, Mode
from tests.building import GPU_LABEL, a_node, a_policy, a_pool, an_operation, at

HURTS = {"cordon": Hurts.NEW_WORK, "drain": Hurts.RUNNING_WORK, "reboot": Hurts.RUNNING_WORK}


def seen(
    step: str = "drain", *, mode: Mode = Mode.ACT, ladder: tuple[str, ...] = ("reboot",), **fields: Any
) -> Circumstances:
    """Circumstances in which nothing speaks against the step."""
    policy = a_policy(a_pool(mode=mode))
    given: dict[str, Any] = {
        "operation": fields.get("operation") or an_operation(ladder=ladder, at_step=step if step != "cordon" else ""),
        "step": step,
        "hurts": HURTS.get(step, Hurts.NOTHING),
        "node": a_node(),
        "policy": policy,
        "pool": policy.pools[0],
        "mode": mode,
        "paused": None,
        "budgets": (),
        "last_disruption": None,
        "now": at(30),
    }
    return Circumstances(**{**given, **fields})


FULL = (Budget("disruptions", 1, frozenset({"gpu-a09"})),)
EVERYTHING: dict[str, Any] = {
    "pool": None,
    "node": a_node(labels={EXCLUDE_LABEL: "true"}),
    "paused": "Paused by ann: storm.",
    "budgets": FULL,
    "last_disruption": at(29),
}


@pytest.mark.parametrize("step", ["cordon", "evidence", "drain", "reboot", "diagnose", "benchmark", "release"])
def test_nothing_is_held_when_nothing_speaks_against_it(step: str) -> None:
    assert first_hold(seen(step)) is None


def test_giving_a_node_back_is_never_held() -> None:
    assert first_hold(seen("release", mode=Mode.OBSERVE, **EVERYTHING)) is None


@pytest.mark.parametrize("step", ["cordon", "drain", "diagnose"])
def test_a_node_in_no_pool_is_left_alone(step: str) -> None:
    assert first_hold(seen(step, pool=None)) == Hold(
        "gpu-a01 is in no pool of the policy, so nothing is done to it.", LATER
    )


@pytest.mark.parametrize(("value", "held"), [("true", True), ("false", False), ("", False)])
def test_a_person_keeps_sickbay_off_a_node_by_its_label(value: str, held: bool) -> None:
    hold = first_hold(seen("diagnose", node=a_node(labels={**GPU_LABEL, EXCLUDE_LABEL: value})))
    assert (hold is not None) is held
    if hold is not None:
        assert hold.reason == "gpu-a01 carries the label sickbay/exclude=true, so nothing is done to it."


@pytest.mark.parametrize("step", ["cordon", "drain", "diagnose"])
def test_observing_touches_nothing_and_says_what_would_be_done(step: str) -> None:
    hold = first_hold(seen(step, mode=Mode.OBSERVE))
    assert hold is not None
    assert hold.reason.startswith(f"Pool gpu is in mode observe: Sickbay would {step} gpu-a01 now. Then")
    assert not hold.needs_human


def test_observing_the_last_step_promises_nothing_after_it() -> None:
    hold = first_hold(seen("drain", mode=Mode.OBSERVE, operation=an_operation(ladder=(), at_step="drain")))
    assert hold is not None
    assert hold.reason == "Pool gpu is in mode observe: Sickbay would drain gpu-a01 now."


@pytest.mark.parametrize(
    ("mode", "step", "held", "asks"),
    [
        (Mode.CORDON, "cordon", False, ""),
        (Mode.CORDON, "evidence", False, ""),
        (Mode.CORDON, "drain", True, ""),
        (Mode.APPROVE, "cordon", False, ""),
        (Mode.APPROVE, "diagnose", False, ""),
        (Mode.APPROVE, "drain", True, "drain"),
        (Mode.APPROVE, "reboot", True, "reboot"),
    ],
)
def test_modes_below_act_ask_before_what_hurts_running_work(mode: Mode, step: str, held: bool, asks: str) -> None:
    hold = first_hold(seen(step, mode=mode))
    assert (hold is not None) is held
    if hold is not None:
        assert (hold.needs_human, hold.asks) == (True, asks)


def test_an_approval_counts_for_its_own_act_only() -> None:
    approved: dict[str, Any] = {"operation": an_operation(at_step="drain", approvals=("drain",))}
    assert first_hold(seen("drain", mode=Mode.APPROVE, **approved)) is None
    assert first_hold(seen("drain", mode=Mode.CORDON, **approved)) is not None
    other = an_operation(at_step="reboot", approvals=("drain",))
    assert first_hold(seen("reboot", mode=Mode.APPROVE, operation=other)) is not None


def test_nobody_is_asked_about_a_plan_that_is_over() -> None:
    over, _ = finish(an_operation(), Result.NOTED, "Noted.", now=at(1))
    assert first_hold(seen("drain", mode=Mode.APPROVE, operation=over)) is None


@pytest.mark.parametrize(("step", "held"), [("cordon", True), ("drain", True), ("diagnose", False)])
def test_a_pause_starts_nothing_that_hurts(step: str, held: bool) -> None:
    hold = first_hold(seen(step, paused="Paused by ann: storm."))
    assert (hold is not None) is held
    if hold is not None:
        assert hold.reason == f"Paused by ann: storm. {step.capitalize()} starts after `sickbay resume`."


@pytest.mark.parametrize(
    ("ago", "step", "after"),
    [
        (timedelta(minutes=1), "drain", LATER),
        (timedelta(minutes=9, seconds=30), "drain", timedelta(seconds=30)),
        (timedelta(minutes=10), "drain", None),
        (timedelta(minutes=1), "cordon", None),
    ],
)
def test_a_node_cools_down_before_it_is_disrupted_again(ago: timedelta, step: str, after: timedelta | None) -> None:
    hold = first_hold(seen(step, last_disruption=at(30) - ago))
    assert (hold.after if hold else None) == after


@pytest.mark.parametrize(
    ("users", "sentence"),
    [
        ({"gpu-a02"}, None),
        ({"gpu-a01", "gpu-a02"}, None),
        ({"gpu-a02", "gpu-a03"}, "2 of 2 disruptions are in use (gpu-a02, gpu-a03)."),
        (
            {f"n{number}" for number in range(7)},
            "7 of 2 disruptions are in use (n0, n1, n2, n3, n4, …).",
        ),
    ],
)
def test_a_full_budget_names_who_uses_it(users: set[str], sentence: str | None) -> None:
    assert Budget("disruptions", 2, frozenset(users)).full_for("gpu-a01") == sentence


def test_a_full_budget_holds_and_clears_by_itself() -> None:
    roomy = Budget("cordons", 20, frozenset())
    assert first_hold(seen("drain", budgets=(roomy,))) is None
    assert first_hold(seen("drain", budgets=(roomy, *FULL))) == Hold(
        "1 of 1 disruptions are in use (gpu-a09). Drain of gpu-a01 starts when one is free.", SOON
    )


def test_the_first_reason_is_the_one_that_is_told() -> None:
    hold = first_hold(seen("drain", mode=Mode.OBSERVE, **EVERYTHING))
    assert hold is not None
    assert hold.reason == "gpu-a01 is in no pool of the policy, so nothing is done to it."


@pytest.mark.parametrize(
    ("hurts", "disruptions", "limits"),
    [
        (Hurts.NOTHING, 1, {}),
        (Hurts.NEW_WORK, 1, {"cordons": 20}),
        (Hurts.RUNNING_WORK, None, {"disruptions": 3}),
        (Hurts.RUNNING_WORK, 1, {"disruptions": 3, "disruptions of pool gpu": 1}),
    ],
)
def test_a_step_takes_a_place_in_the_budgets_of_what_it_hurts(
    hurts: Hurts, disruptions: int | None, limits: dict[str, int]
) -> None:
    policy = a_policy(a_pool(disruptions=disruptions))
    assert budget_limits(hurts, policy, policy.pools[0]) == limits


def test_a_node_of_no_pool_counts_in_the_clusters_budget() -> None:
    assert budget_limits(Hurts.RUNNING_WORK, a_policy(), None) == {"disruptions": 3}


@pytest.mark.parametrize(
    ("step", "held"),
    [("cordon", False), ("evidence", False), ("drain", True), ("recovery-check", True), ("restart-plugin", True)],
)
def test_mode_cordon_stops_before_every_rung_also_one_that_disrupts_nothing(step: str, held: bool) -> None:
    ladder = ("reboot",) if step == "drain" else ("restart-plugin",)
    at_step = step if step != "cordon" else ""
    hold = first_hold(seen(step, mode=Mode.CORDON, operation=an_operation(ladder=ladder, at_step=at_step)))
    assert (hold is not None) is held
    if hold is not None:
        assert hold == Hold(
            "Pool gpu is in mode cordon: gpu-a01 is cordoned, the rest is yours to decide.", LATER, needs_human=True
        )


@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.CORDON])
def test_a_mode_that_a_fault_asks_for_is_told_as_the_faults_and_not_as_the_pools(mode: Mode) -> None:
    policy = a_policy(a_pool(mode=Mode.ACT), fault_modes={"xid-79": mode})
    hold = first_hold(seen("drain", mode=mode, policy=policy, pool=policy.pools[0]))
    assert hold is not None
    assert hold.reason.startswith(f"The policy keeps xid-79 to mode {mode}: ")


@pytest.mark.parametrize("step", ["release", "restore-operands"])
def test_giving_back_and_undoing_are_never_held(step: str) -> None:
    operation = an_operation(ladder=("reset",), at_step=step)
    for mode in Mode:
        assert first_hold(seen(step, mode=mode, **{**EVERYTHING, "operation": operation})) is None


def test_handing_a_node_to_a_vendor_takes_a_place_of_its_own() -> None:
    policy = a_policy(budgets=Budgets(with_vendor=7))
    assert budget_limits(Hurts.NOBODY, policy, policy.pools[0]) == {WITH_VENDOR: 7}
    full = (Budget(WITH_VENDOR, 1, frozenset({"gpu-a09"})),)
    hold = first_hold(seen("open-ticket", ladder=("ticket",), hurts=Hurts.NOBODY, budgets=full))
    assert hold is not None
    assert hold.reason == (
        "1 of 1 places with the vendor are in use (gpu-a09). Open-ticket of gpu-a01 starts when one is free."
    )


def test_a_place_that_a_node_holds_is_not_taken_from_it() -> None:
    budget = Budget("disruptions", 1, frozenset({"gpu-a01", "gpu-a09"}), holders=frozenset({"gpu-a01"}))
    assert budget.full_for("gpu-a01") is None
    assert budget.full_for("gpu-a02") is not None
