"""When the breaker of a mass failure trips, and which dimension it names."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.domain.breaker import Breaker, Dimension, Fleet, Opened, explain, fell_ill, trips
from app.domain.budgets import Budget, Limit
from app.domain.guards import LATER, Circumstances, Hold, Hurts, first_hold
from app.domain.policies import Mode
from tests.building import a_node, a_policy, an_operation

NOON = datetime(2026, 9, 20, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
RULES = Breaker()
RACKS = {f"r{number}": 16 for number in range(1, 13)} | {"r13": 8}
FLEET = Fleet(nodes=200, racks=RACKS, drivers={"580.95": 60, "590.48": 140})


def ill(number: int, *, at: datetime = NOON, rack: str = "", driver: str = "580.95", code: str = "xid-79") -> Opened:
    """A node by its number in the fleet: 16 a rack, the last 140 under the new driver."""
    return Opened(node=f"gpu-{number:03}", at=at, rack=rack or f"r{number // 16 + 1}", driver=driver, code=code)


def over(count: int, span: timedelta, **what: str) -> list[Opened]:
    """So many nodes from the first on, the last of them now."""
    return [ill(number, at=NOON - span + span * number / max(count - 1, 1), **what) for number in range(count)]


POWER_FEED = [ill(96 + number, at=NOON - (15 - number) * MINUTE / 4) for number in range(16)]
NEW_DRIVER = [ill(60 + number, driver="590.48", code="xid-119") for number in range(140)]
HOST_ENGINE = [ill(number, driver="580.95" if number < 60 else "590.48", code="unreachable") for number in range(200)]


@pytest.mark.parametrize(
    ("population", "limit"), [(0, 3), (4, 3), (16, 3), (60, 3), (80, 4), (100, 5), (140, 7), (200, 10), (10_000, 10)]
)
def test_the_limit_is_a_share_between_the_least_and_the_most(population: int, limit: int) -> None:
    assert RULES.limit(population) == limit


def test_a_share_that_binary_fractions_miss_is_still_whole() -> None:
    assert Breaker(share=0.29, most=100).limit(100) == 29


@pytest.mark.parametrize(
    ("opened", "told"),
    [
        ([], None),
        (POWER_FEED[:3], None),
        (POWER_FEED[:4], "4 of 16 nodes in rack r7 fell ill within 1 min, and the limit is 3."),
        (POWER_FEED, "16 of 16 nodes in rack r7 fell ill within 3 min 45 s, and the limit is 3."),
        (NEW_DRIVER, "140 of 140 nodes with driver 590.48 fell ill within 1 min, and the limit is 7."),
        (HOST_ENGINE, "200 of 200 nodes fell ill with unreachable within 1 min, and the limit is 10."),
        ([*POWER_FEED, ill(3), ill(30), ill(170)], "16 of 16 nodes in rack r7 fell ill"),
        (
            [ill(number * 16, code=f"xid-{number}", driver="") for number in range(11)],
            "11 of 200 nodes fell ill within 1 min, and the limit is 10.",
        ),
        ([ill(number * 16, driver="") for number in range(10)], None),
        ([ill(1)] * 40, None),  # one node that opens again and again is one
    ],
)
def test_the_dimension_that_explains_most_is_named(opened: list[Opened], told: str | None) -> None:
    sentence = trips(opened, FLEET, RULES, NOON)

    assert sentence is None if told is None else f"The breaker has tripped: {told}" in (sentence or "")


def test_only_what_opened_within_the_window_counts() -> None:
    slow = over(8, 20 * MINUTE, rack="r1")

    assert trips(slow, FLEET, RULES, NOON) == (
        "The breaker has tripped: 4 of 16 nodes in rack r1 fell ill within 8 min 34 s, and the limit is 3."
    )
    assert trips(over(8, 28 * MINUTE, rack="r1"), FLEET, RULES, NOON) is None
    assert trips([ill(n, at=NOON - RULES.window, rack="r1") for n in range(4)], FLEET, RULES, NOON) is None


def test_a_dimension_that_is_not_looked_at_neither_trips_nor_is_named() -> None:
    by_driver = Breaker(dimensions=(Dimension.DRIVER,))

    assert trips(POWER_FEED[:10], FLEET, by_driver, NOON) == (
        "The breaker has tripped: 10 of 60 nodes with driver 580.95 fell ill within 2 min 15 s, and the limit is 3."
    )
    assert trips(POWER_FEED[:10], FLEET, Breaker(dimensions=()), NOON) is None
    assert "16 of 200 nodes fell ill within" in str(trips(POWER_FEED, FLEET, Breaker(dimensions=()), NOON))


def test_what_is_not_known_of_nodes_is_in_common_with_nobody() -> None:
    strangers = [Opened(node=f"gpu-{number}", at=NOON) for number in range(10)]

    assert trips(strangers, FLEET, RULES, NOON) is None


def test_before_the_first_inventory_no_whole_is_told() -> None:
    told = trips(POWER_FEED, Fleet(), RULES, NOON)

    assert told == "The breaker has tripped: 16 nodes in rack r7 fell ill within 3 min 45 s, and the limit is 3."


class TestExplain:
    def test_it_tells_all_that_fell_ill_around_the_trip(self) -> None:
        tripped_at = POWER_FEED[3].at

        assert explain(POWER_FEED[:4], FLEET, RULES, tripped_at) != explain(POWER_FEED, FLEET, RULES, tripped_at)
        assert "16 of 16 nodes in rack r7" in explain(POWER_FEED, FLEET, RULES, tripped_at)

    def test_it_no_longer_changes_by_what_falls_ill_later(self) -> None:
        later = [ill(number, at=NOON + RULES.window + MINUTE) for number in range(60)]

        assert explain([*POWER_FEED, *later], FLEET, RULES, NOON) == explain(POWER_FEED, FLEET, RULES, NOON)

    def test_it_holds_when_the_limit_has_grown_since(self) -> None:
        assert "4 of 16 nodes in rack r7" in explain(POWER_FEED[:4], FLEET, Breaker(least=50, most=50), NOON)

    def test_it_has_words_even_when_the_record_is_gone(self) -> None:
        assert explain([], FLEET, RULES, NOON) == "The breaker has tripped: too many nodes fell ill at once."


@pytest.mark.parametrize(
    ("labels", "rack", "driver"),
    [
        ({}, "", ""),
        ({"topology.kubernetes.io/rack": "r7"}, "r7", ""),
        ({"nvidia.com/cuda.driver-version.full": "590.48.01"}, "", "590.48.01"),
        ({f"nvidia.com/cuda.driver.{part}": n for part, n in (("major", "590"), ("minor", "48"))}, "", "590.48"),
    ],
)
def test_a_node_is_known_by_its_labels(labels: dict[str, str], rack: str, driver: str) -> None:
    told = fell_ill("gpu-a01", labels, code="xid-79", at=NOON)

    assert told == Opened(node="gpu-a01", at=NOON, rack=rack, driver=driver, code="xid-79")


class TestGuard:
    """Once it has tripped nothing hurts one more; what hurts nothing goes on, and all is given back."""

    tripped = "The breaker has tripped: 16 of 16 nodes in rack r7 fell ill within 4 min, and the limit is 3."

    def seen(self, step: str, hurts: Hurts, *, mode: Mode = Mode.ACT, tripped: str | None = "") -> Circumstances:
        policy = a_policy()
        return Circumstances(
            operation=an_operation(at_step=step if step != "cordon" else ""),
            step=step,
            hurts=hurts,
            node=a_node(),
            policy=policy,
            pool=policy.pools[0],
            mode=mode,
            paused=None,
            tripped=self.tripped if tripped == "" else tripped,
            budgets=(Budget(limit=Limit(budget="cordons", most=0)),) if tripped == "" and mode is Mode.ACT else (),
            last_disruption=None,
            now=NOON,
        )

    @pytest.mark.parametrize("mode", [Mode.CORDON, Mode.APPROVE, Mode.ACT])
    @pytest.mark.parametrize(
        ("step", "hurts"), [("cordon", Hurts.NEW_WORK), ("drain", Hurts.RUNNING_WORK), ("reboot", Hurts.RUNNING_WORK)]
    )
    def test_what_hurts_is_held_before_anybody_is_asked(self, step: str, hurts: Hurts, mode: Mode) -> None:
        told = f"{self.tripped} {step.capitalize()} of gpu-a01 starts after `sickbay resume`."

        assert first_hold(self.seen(step, hurts, mode=mode)) == Hold(told, LATER)

    def test_no_ticket_is_opened_in_a_storm(self) -> None:
        held = first_hold(self.seen("reboot", Hurts.NOBODY))

        assert held is not None
        assert held.reason.startswith(self.tripped)

    @pytest.mark.parametrize("step", ["release", "restore-operands"])
    def test_giving_back_and_undoing_are_not_held(self, step: str) -> None:
        assert first_hold(self.seen("drain", Hurts.RUNNING_WORK)) is not None
        seen = self.seen("drain", Hurts.RUNNING_WORK)

        assert first_hold(replace(seen, step=step)) is None

    def test_proofs_go_on(self) -> None:
        seen = replace(self.seen("diagnose", Hurts.NOTHING), budgets=())

        assert first_hold(seen) is None

    def test_a_breaker_that_has_not_tripped_holds_nothing(self) -> None:
        assert first_hold(self.seen("drain", Hurts.RUNNING_WORK, tripped=None)) is None
