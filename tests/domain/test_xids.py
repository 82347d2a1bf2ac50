from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.xids import Catalogue, UnreadableXid, Xid, XidClass, read_xid

FALLEN = Xid(
    number=79,
    name="ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS",
    title="GPU has fallen off the bus",
    nvidia="RESTART_BM",
    class_=XidClass.REBOOT,
    why="",
)
UNUSED = Xid(number=2, name="UNUSED", title="", nvidia="CONTACT_SUPPORT", class_=XidClass.UNKNOWN, why="")
CATALOGUE = Catalogue("edition of a test", {79: FALLEN, 2: UNUSED})


def test_a_listed_xid_is_found() -> None:
    assert CATALOGUE.xid(79) is FALLEN


def test_an_unlisted_xid_has_the_class_unknown_and_says_why() -> None:
    xid = CATALOGUE.xid(999)
    assert (xid.number, xid.class_) == (999, XidClass.UNKNOWN)
    assert xid.why == "Xid 999 is not in the catalogue (edition of a test)."


@pytest.mark.parametrize(
    ("number", "words"),
    [(79, "Xid 79, GPU has fallen off the bus"), (2, "Xid 2"), (999, "Xid 999")],
)
def test_an_xid_is_described_in_plain_words(number: int, words: str) -> None:
    assert CATALOGUE.describe(number) == words


@pytest.mark.parametrize(
    ("labels", "number"),
    [
        ({"err_code": "79"}, 79),
        ({"xid": "79"}, 79),
        ({"Xid": "79"}, 79),
        ({"err_code": " 79\n"}, 79),
        ({"err_code": "79.0"}, 79),
        ({"err_code": "79."}, 79),
        ({"err_code": "7.9e1"}, 79),
        ({"err_code": "7.9E+01"}, 79),
        ({"err_code": "790e-1"}, 79),
        ({"err_code": "079"}, 79),
        ({"err_code": "79", "xid": "79.0"}, 79),
        ({"err_code": "", "xid": "79"}, 79),
        ({"err_code": "  ", "Xid": "79"}, 79),
        ({"err_code": "2147483631"}, 2147483631),
    ],
)
def test_every_decimal_spelling_of_a_whole_number_is_read(labels: dict[str, str], number: int) -> None:
    assert read_xid(labels) == number


@pytest.mark.parametrize(
    "labels",
    [
        {},
        {"err_code": "0"},
        {"err_code": "0.0"},
        {"err_code": ""},
        {"err_code": " "},
        {"err_code": "0", "xid": "0"},
        {"alertname": "GpuXid79", "description": "Xid 79: drain the node", "value": "79", "error_code": "79"},
    ],
)
def test_zero_blank_and_other_labels_name_no_xid(labels: dict[str, str]) -> None:
    assert read_xid(labels) is None


@pytest.mark.parametrize(
    "value",
    [
        "NaN",
        "+Inf",
        "-Inf",
        "-1",
        "-79",
        "+79",
        "0x4f",
        "7_9",
        "\uff17\uff19",  # full-width digits, which float() would take
        "27.692307692307693",
        "78.99999999999999999",  # a float would round it to 79
        "1e-1",
        "1e999",
        "9223372036854775794",
        "9223372036854775792",
        "2147483632",
        "140737488355328.0",
        "N/A",
        "<no value>",
        "No Error",
        "79 (GPU has fallen off the bus)",
        "79,79",
    ],
)
def test_what_is_no_whole_number_is_unreadable_and_kept_for_the_reason(value: str) -> None:
    assert read_xid({"err_code": value}) == UnreadableXid(value)


def test_an_unreadable_value_is_shown_shortened() -> None:
    assert read_xid({"err_code": "x" * 5000}) == UnreadableXid("x" * 64)


@pytest.mark.parametrize(
    ("labels", "shown"),
    [
        ({"err_code": "79", "xid": "31"}, "79 and 31"),
        ({"err_code": "0", "xid": "79"}, "0 and 79"),
        ({"xid": "79", "Xid": "48"}, "79 and 48"),
        ({"err_code": "79", "xid": "GPU"}, "GPU"),
    ],
)
def test_labels_that_disagree_are_unreadable(labels: dict[str, str], shown: str) -> None:
    assert read_xid(labels) == UnreadableXid(shown)


@given(st.dictionaries(st.sampled_from(["err_code", "xid", "Xid"]), st.text(max_size=30), max_size=3))
def test_any_text_gives_a_positive_number_an_unreadable_xid_or_none(labels: dict[str, str]) -> None:
    found = read_xid(labels)
    assert found is None or isinstance(found, UnreadableXid) or found > 0


@given(st.integers(min_value=1, max_value=2147483631))
def test_every_number_is_read_back_from_its_own_digits(number: int) -> None:
    assert read_xid({"xid": str(number)}) == number
