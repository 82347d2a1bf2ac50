from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from app.domain.budgets import CORDON_RATE, CORDONS, INVENTORY, WITH_VENDOR, Budget, Limit
from app.domain.guards import (
    LATER,
    SOON,
    Circumstances,
    Hold,
    Hurts,
    first_hold,
    limits_of,
)
from app.domain.operations import Result, finish
from app.domain.policies import EXCLUDE_LABEL, Budgets, Mode, Rate
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


def budget(name: str, most: int, *users: str, **fields: Any) -> Budget:
    """At once, and used up by these nodes."""
    return Budget(
        limit=Limit(budget=name, most=most, group=name.partition(" of ")[2]), users=frozenset(users), **fields
    )


FULL = (budget("disruptions", 1, "gpu-a09"),)
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
    assert budget("disruptions", 2, *users).full_for("gpu-a01") == sentence


@pytest.mark.parametrize(
    ("group", "sentence"),
    [
        ("rack r7", "Rack r7 has 1 of 1 nodes out (gpu-a09)."),
        ("driver 590.48.01", "Driver 590.48.01 has 1 of 1 nodes out (gpu-a09)."),
        ("pool train", "Pool train has 1 of 1 nodes out (gpu-a09)."),
    ],
)
def test_a_full_budget_of_nodes_that_share_something_names_it(group: str, sentence: str) -> None:
    full = budget(f"disruptions of {group}", 1, "gpu-a09")
    assert first_hold(seen("drain", budgets=(full,))) == Hold(
        f"{sentence} Drain of gpu-a01 starts when one is free.", SOON, waits_for=f"disruptions of {group}"
    )


def test_a_full_budget_holds_and_clears_by_itself() -> None:
    roomy = budget("cordons", 20)
    assert first_hold(seen("drain", budgets=(roomy,))) is None
    assert first_hold(seen("drain", budgets=(roomy, *FULL))) == Hold(
        "1 of 1 disruptions are in use (gpu-a09). Drain of gpu-a01 starts when one is free.",
        SOON,
        waits_for="disruptions",
    )


UNKNOWN = "so it is not known how many are out by other hands"
RATE = Limit(budget=CORDON_RATE, most=20, within=timedelta(minutes=10))


@pytest.mark.parametrize(
    ("next_at", "after"),
    [
        (at(31), timedelta(minutes=1)),
        (at(40), LATER),
        (at(30), timedelta(seconds=1)),
        (at(29), timedelta(seconds=1)),
        (None, SOON),
    ],
)
def test_cordons_that_come_too_fast_wait_until_the_time_has_passed(next_at: datetime | None, after: timedelta) -> None:
    full = Budget(limit=RATE, made=20, next_at=next_at)
    told = (
        "20 nodes were cordoned within 10 min, and the limit is 20. Cordon of gpu-a01 starts when that time has passed."
    )
    assert first_hold(seen("cordon", budgets=(full,))) == Hold(told, after)
    assert first_hold(seen("cordon", budgets=(replace(full, made=19),))) is None
    assert first_hold(seen("cordon", budgets=(replace(full, holders=frozenset({"gpu-a01"})),))) is None


def test_it_is_told_how_far_a_budget_is_used_up() -> None:
    assert budget("disruptions", 3, "gpu-a01", "gpu-a02").used == 2
    assert Budget(limit=RATE, made=7).used == 7


@pytest.mark.parametrize(
    ("inventory_at", "sentence"),
    [
        (at(25), None),
        (
            at(24),
            f"The inventory of the nodes is from {at(24):%Y-%m-%d %H:%M:%S} UTC, {UNKNOWN} now.",
        ),
        (None, f"No inventory of the nodes is there yet, {UNKNOWN}."),
    ],
)
def test_nothing_is_disrupted_while_nobody_knows_how_many_nodes_are_out(
    inventory_at: datetime | None, sentence: str | None
) -> None:
    limit = Limit(budget="disruptions", most=3, inventory_max_age=timedelta(minutes=5))
    asked = Budget(limit=limit, inventory_at=inventory_at)
    hold = first_hold(seen("drain", budgets=(asked,)))
    wanted = sentence and Hold(f"{sentence} Drain of gpu-a01 starts after the next one.", SOON, waits_for=INVENTORY)
    assert hold == wanted
    begun = replace(asked, users=frozenset({"gpu-a01"}), holders=frozenset({"gpu-a01"}))
    assert first_hold(seen("drain", budgets=(begun,))) is None


def test_the_first_reason_is_the_one_that_is_told() -> None:
    hold = first_hold(seen("drain", mode=Mode.OBSERVE, **EVERYTHING))
    assert hold is not None
    assert hold.reason == "gpu-a01 is in no pool of the policy, so nothing is done to it."


HOME = {"topology.kubernetes.io/rack": "r7", "nvidia.com/cuda.driver-version.full": "590.48.01"}


@pytest.mark.parametrize(
    ("hurts", "budgets", "wanted"),
    [
        (Hurts.NOTHING, Budgets(), {}),
        (Hurts.NEW_WORK, Budgets(), {"cordons": 20, "cordon rate": 20}),
        (Hurts.NEW_WORK, Budgets(cordon_rate=None), {"cordons": 20}),
        (Hurts.RUNNING_WORK, Budgets(), {"disruptions": 3, "disruptions of pool gpu": 1}),
        (
            Hurts.RUNNING_WORK,
            Budgets(disruptions_per_rack=2, disruptions_per_driver=3),
            {
                "disruptions": 3,
                "disruptions of pool gpu": 1,
                "disruptions of rack r7": 2,
                "disruptions of driver 590.48.01": 3,
            },
        ),
        (Hurts.NOBODY, Budgets(with_vendor=7), {"places with the vendor": 7}),
    ],
)
def test_a_step_takes_a_place_in_the_budgets_of_what_it_hurts(
    hurts: Hurts, budgets: Budgets, wanted: dict[str, int]
) -> None:
    policy = a_policy(a_pool(disruptions=1), budgets=budgets)
    limits = limits_of(hurts, policy, policy.pools[0], HOME)
    assert {limit.budget: limit.most for limit in limits} == wanted


def test_the_limits_say_what_they_count() -> None:
    budgets = Budgets(cordon_rate=Rate(nodes=5, within=timedelta(hours=1)), disruptions_per_rack=2)
    policy = a_policy(budgets=budgets)
    age = policy.inventory_max_age
    assert limits_of(Hurts.NEW_WORK, policy, None, {}) == (
        Limit(budget=CORDONS, most=20),
        Limit(budget=CORDON_RATE, most=5, within=timedelta(hours=1)),
    )
    assert limits_of(Hurts.RUNNING_WORK, policy, None, HOME) == (
        Limit(budget="disruptions", most=3, inventory_max_age=age),
        Limit(budget="disruptions of rack r7", most=2, group="rack r7", inventory_max_age=age),
    )


def test_a_node_of_no_pool_and_no_known_rack_counts_in_the_clusters_budget_alone() -> None:
    policy = a_policy(a_pool(disruptions=1), budgets=Budgets(disruptions_per_rack=1, disruptions_per_driver=1))
    assert [limit.budget for limit in limits_of(Hurts.RUNNING_WORK, policy, None, {})] == ["disruptions"]


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
    full = (budget(WITH_VENDOR, 1, "gpu-a09"),)
    hold = first_hold(seen("open-ticket", ladder=("ticket",), hurts=Hurts.NOBODY, budgets=full))
    assert hold is not None
    assert hold.reason == (
        "1 of 1 places with the vendor are in use (gpu-a09). Open-ticket of gpu-a01 starts when one is free."
    )


def test_a_place_that_a_node_holds_is_not_taken_from_it() -> None:
    full = budget("disruptions", 1, "gpu-a01", "gpu-a09", holders=frozenset({"gpu-a01"}))
    assert full.full_for("gpu-a01") is None
    assert full.full_for("gpu-a02") is not None
