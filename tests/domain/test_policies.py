from __future__ import annotations

import pytest

from app.domain.policies import AlertNames, Ladder, Mode, Pool
from app.domain.xids import XidClass
from tests.building import GPU_LABEL, a_policy, a_pool, an_xid, rungs


def test_modes_are_ordered_from_looking_to_acting() -> None:
    assert [mode.rank for mode in (Mode.OBSERVE, Mode.CORDON, Mode.APPROVE, Mode.ACT)] == [0, 1, 2, 3]


@pytest.mark.parametrize("pool", list(Mode))
@pytest.mark.parametrize("most", [None, *Mode])
def test_a_mode_is_lowered_and_never_raised(pool: Mode, most: Mode | None) -> None:
    (lowered,) = a_policy(a_pool(mode=pool)).lowered_to(most).pools
    assert lowered.mode.rank == min(pool.rank, pool.rank if most is None else most.rank)


def test_a_pool_that_names_no_mode_only_observes() -> None:
    assert Pool(name="gpu", selector=GPU_LABEL).mode is Mode.OBSERVE


@pytest.mark.parametrize(
    ("names", "name", "xid", "watchdog"),
    [
        (AlertNames(xid=("GpuXid*",)), "GpuXidError", True, False),
        (AlertNames(xid=("GpuXid*",)), "gpuxiderror", False, False),
        (AlertNames(xid=("GpuXid*",)), "Watchdog", False, True),
        (AlertNames(xid=(), watchdog=()), "Watchdog", False, False),
    ],
)
def test_alert_names_are_shell_patterns_in_their_own_case(
    names: AlertNames, name: str, xid: bool, watchdog: bool
) -> None:
    assert (names.is_xid(name), names.is_watchdog(name)) == (xid, watchdog)


@pytest.mark.parametrize(
    ("labels", "pool"),
    [
        ({**GPU_LABEL, "tier": "train"}, "train"),
        (GPU_LABEL, "gpu"),
        ({**GPU_LABEL, "node-role.kubernetes.io/control-plane": ""}, None),
        ({**GPU_LABEL, "node-role.kubernetes.io/master": "true"}, None),
        ({}, None),
    ],
)
def test_the_first_pool_that_selects_a_node_is_its_pool_and_a_control_plane_has_none(
    labels: dict[str, str], pool: str | None
) -> None:
    policy = a_policy(a_pool(name="train", selector={**GPU_LABEL, "tier": "train"}), a_pool())
    found = policy.pool_of(labels)
    assert (found.name if found else None) == pool


def test_a_node_that_left_its_pool_is_held_to_defaults_and_may_only_be_observed() -> None:
    rules = a_policy().rules_for({})
    assert (rules.name, rules.mode) == ("", Mode.OBSERVE)
    assert a_policy().rules_for(GPU_LABEL).name == "gpu"


def test_a_pool_is_found_by_name_while_the_policy_has_it() -> None:
    policy = a_policy()
    assert policy.pool_named("gpu") is policy.pools[0]
    assert policy.pool_named("gone") is None


@pytest.mark.parametrize(
    ("class_", "ladder"),
    [
        (XidClass.REBOOT, rungs("reboot")),
        (XidClass.ISOLATE, ()),
        (XidClass.APPLICATION, None),
        (XidClass.UNKNOWN, None),
    ],
)
def test_the_class_orders_the_ladder(class_: XidClass, ladder: Ladder | None) -> None:
    assert a_policy().ladder_of(an_xid(79, class_)) == ladder


def test_an_unknown_xid_is_noted_even_if_policy_should_name_a_ladder_for_unknowns() -> None:
    policy = a_policy(ladders={XidClass.UNKNOWN: rungs("reboot")})
    assert policy.ladder_of(an_xid(999, XidClass.UNKNOWN)) is None


def test_the_code_comes_before_its_class() -> None:
    policy = a_policy(faults={"xid-79": None, "xid-999": ()})
    assert policy.ladder_of(an_xid(79, XidClass.REBOOT)) is None
    assert policy.ladder_of(an_xid(999, XidClass.UNKNOWN)) == ()


@pytest.mark.parametrize(
    ("number", "class_", "ladder"),
    [
        (79, XidClass.REBOOT, rungs("power-cycle")),
        (48, XidClass.RESET, ()),
        (31, XidClass.ISOLATE, rungs("ticket")),
        (119, XidClass.REBOOT, None),
        (94, XidClass.REBOOT, rungs("restart-plugin")),
        (13, XidClass.APPLICATION, None),
    ],
)
def test_a_pools_ladders_come_before_the_policys_and_a_code_before_its_class(
    number: int, class_: XidClass, ladder: Ladder | None
) -> None:
    pool = a_pool(
        ladders={XidClass.REBOOT: rungs("power-cycle"), XidClass.RESET: ()},
        faults={"xid-119": None, "xid-31": rungs("ticket")},
    )
    policy = a_policy(pool, faults={"xid-94": rungs("restart-plugin"), "xid-31": None, "xid-119": rungs("reboot")})
    assert policy.ladder_of(an_xid(number, class_), pool) == ladder


@pytest.mark.parametrize("pool", list(Mode))
@pytest.mark.parametrize("most", list(Mode))
def test_a_faults_mode_lowers_its_pools_and_never_raises_it(pool: Mode, most: Mode) -> None:
    policy = a_policy(a_pool(mode=pool), fault_modes={"xid-79": most})
    assert policy.mode_for(policy.pools[0], ["xid-79"]).rank == min(pool.rank, most.rank)
    assert policy.mode_for(policy.pools[0], ["xid-48"]) is pool


def test_of_several_faults_the_freest_mode_counts_and_without_a_fault_the_pools() -> None:
    policy = a_policy(fault_modes={"xid-79": Mode.OBSERVE, "xid-48": Mode.APPROVE})
    assert policy.mode_for(policy.pools[0], ["xid-79", "xid-48"]) is Mode.APPROVE
    assert policy.mode_for(policy.pools[0], ["xid-79", "xid-63"]) is Mode.ACT
    assert policy.mode_for(policy.pools[0], []) is Mode.ACT


def test_what_an_act_of_our_own_raises_is_known_by_step_and_code() -> None:
    policy = a_policy(own_acts={"diagnose": ("xid-43", "xid-45")})
    assert policy.is_own_act("diagnose", "xid-45")
    assert not policy.is_own_act("diagnose", "xid-79")
    assert not policy.is_own_act("drain", "xid-45")
    assert not a_policy().is_own_act("diagnose", "xid-45")


def test_rungs_know_their_place_among_all() -> None:
    assert [rung.gravity for rung in rungs("restart-plugin", "reset", "ticket")] == [0, 1, 5]
