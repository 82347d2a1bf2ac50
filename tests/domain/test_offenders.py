"""When a card is an offender: tables over rows of one card."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from app.domain.faults import Gpu
from app.domain.history import HistoryRow
from app.domain.offenders import BURST, DEFAULT_WEIGHTS, Offenders, count, is_offender, score, weight
from app.domain.xids import XidClass

NOW = datetime(2026, 9, 30, 12, 0, tzinfo=UTC)
RULES = Offenders()
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
SERIAL = "1650000000321"


def row(
    ago: timedelta,
    code: str = "xid-79",
    class_: str = "reboot",
    *,
    node: str = "gpu-a01",
    own_act: str = "",
    gpu: Gpu = Gpu(serial=SERIAL, uuid="GPU-aa"),  # noqa: B008 - frozen
) -> HistoryRow:
    return HistoryRow(gpu=gpu, node=node, code=code, class_=class_, at=NOW - ago, evidence=code, own_act=own_act)


@pytest.mark.parametrize(
    ("one", "weighs"),
    [
        (row(DAY, "xid-79", "reboot"), 1.0),
        (row(DAY, "xid-119", "reset"), 1.0),
        (row(DAY, "xid-64", "isolate"), 1.0),
        (row(DAY, "xid-63", "reset-idle"), 0.5),
        (row(DAY, "xid-43", "restart-plugin"), 0.0),
        (row(DAY, "xid-92", "note"), 0.0),
        (row(DAY, "xid-999", "unknown"), 0.0),
        (row(DAY, "xid-31", "application"), 0.0),
        (row(DAY, "xid-119", "reset", own_act="pause-operands"), 0.0),
    ],
)
def test_a_fault_weighs_by_its_class(one: HistoryRow, weighs: float) -> None:
    assert weight(one, RULES) == weighs


def test_the_weight_of_a_code_goes_before_that_of_its_class() -> None:
    rules = Offenders(weights={"xid-79": 2.0, "reboot": 1.0, "xid-92": 0.25})

    assert [weight(row(DAY, code, class_), rules) for code, class_ in (("xid-79", "reboot"), ("xid-92", "note"))] == [
        2.0,
        0.25,
    ]


@pytest.mark.parametrize("named", ["application", "xid-31"])
def test_an_applications_fault_weighs_nothing_whatever_the_weights_say(named: str) -> None:
    rows = [row(number * DAY, "xid-31", "application") for number in range(20)]

    assert score(rows, Offenders(weights={named: 9.0}), NOW) == 0.0


@pytest.mark.parametrize("class_", DEFAULT_WEIGHTS)
def test_the_default_weights_name_classes_that_exist(class_: str) -> None:
    assert class_ in tuple(XidClass)


@pytest.mark.parametrize(
    ("rows", "adds"),
    [
        ([], 0.0),
        ([row(DAY)], 1.0),
        ([row(DAY), row(2 * DAY), row(3 * DAY)], 3.0),
        ([row(DAY), row(DAY)], 1.0),  # one occurrence told twice
        ([row(DAY), row(DAY + BURST - HOUR)], 1.0),  # sticky
        ([row(DAY), row(DAY + BURST)], 2.0),
        ([row(DAY + number * 2 * HOUR) for number in range(10)], 1.0),  # never quiet for three hours
        ([row(DAY), row(DAY, "xid-63", "reset-idle")], 1.0),  # a tail: the heaviest counts
        ([row(DAY, "xid-63", "reset-idle"), row(3 * DAY, "xid-63", "reset-idle")], 1.0),
        ([row(30 * DAY)], 1.0),
        ([row(30 * DAY + HOUR)], 0.0),
        ([row(30 * DAY - HOUR), row(30 * DAY + HOUR)], 1.0),  # the window cuts no burst in two
        ([row(-HOUR)], 1.0),  # a clock ahead of ours
        ([row(DAY), row(DAY + 2 * HOUR, "xid-31", "application"), row(DAY + 4 * HOUR)], 2.0),  # no bridge
    ],
)
def test_the_score_sums_bursts_within_the_window(rows: list[HistoryRow], adds: float) -> None:
    assert score(rows, RULES, NOW) == adds
    assert score(list(reversed(rows)), RULES, NOW) == adds


def test_weights_add_up_without_dust() -> None:
    rules = Offenders(limit=3.0, weights={"reboot": 0.1})

    assert score([row(number * 4 * HOUR) for number in range(30)], rules, NOW) == 3.0


def test_each_row_says_what_it_adds_newest_first() -> None:
    rows = [row(2 * DAY, "xid-31", "application"), row(DAY + HOUR), row(DAY), row(DAY - HOUR, "xid-154", "note")]

    told = count(rows, RULES, NOW)

    assert [(NOW - one.row.at, one.weight) for one in told] == [
        (DAY - HOUR, 0.0),
        (DAY, 0.0),
        (DAY + HOUR, 1.0),
        (2 * DAY, 0.0),
    ]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([], None),
        ([row(DAY), row(8 * DAY)], None),
        (
            [row(DAY), row(8 * DAY), row(22 * DAY, node="gpu-a03")],
            f"Serial {SERIAL} has had 3 faults in 21 days on gpu-a01 and gpu-a03, at the limit of 3.0.",
        ),
        (
            [row(number * DAY, node=f"gpu-{number}") for number in range(4)],
            f"Serial {SERIAL} has had 4 faults in 3 days on gpu-0, gpu-1, gpu-2 and gpu-3, past the limit of 3.0.",
        ),
        (
            [*(row(number * 4 * HOUR) for number in range(3)), row(DAY, "xid-63", "reset-idle")],
            f"Serial {SERIAL} has had 4 faults in 1 d on gpu-a01 that weigh 3.5, past the limit of 3.0.",
        ),
        (
            [row(number * DAY, gpu=Gpu(uuid="GPU-aa"), node="") for number in range(3)],
            "The card GPU-aa has had 3 faults in 2 days, at the limit of 3.0.",
        ),
    ],
)
def test_an_offender_is_told_in_one_sentence(rows: list[HistoryRow], sentence: str | None) -> None:
    assert is_offender(rows, RULES, NOW) == sentence


def test_one_fault_can_be_enough_when_the_policy_says_so() -> None:
    told = is_offender([row(DAY)], Offenders(limit=1.0), NOW)

    assert told == f"Serial {SERIAL} has had 1 fault on gpu-a01, at the limit of 1.0."


def test_a_limit_of_nought_makes_no_offender_of_a_card_without_a_fault_that_counts() -> None:
    assert is_offender([row(DAY, "xid-31", "application")], Offenders(limit=0.0), NOW) is None
