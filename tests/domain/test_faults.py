from __future__ import annotations

import pytest

from app.domain.faults import Gpu, read_serial, told_apart
from tests.building import a_case, a_fault, a_gpu, at


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (a_gpu(3, "S1", "U1"), a_gpu(5, "S1", "U2"), False),  # The two GPUs of one board.
        (a_gpu(3, "S1", "U1"), a_gpu(5, "S1", None), True),  # A serial outlives the slot.
        (a_gpu(3, "S1", "U1"), a_gpu(3, "S2", "U1"), False),
        (a_gpu(3, "S1", "U1"), a_gpu(5, None, "U1"), True),
        (a_gpu(3, None, "U1"), a_gpu(3, None, "U2"), False),
        (a_gpu(3, "S1", None), a_gpu(3, None, "U1"), True),
        (a_gpu(3, "S1", None), a_gpu(4, None, "U1"), False),
        (a_gpu(0, None, None), a_gpu(0, None, None), True),
        (a_gpu(None, "S1", None), a_gpu(None, None, "U1"), False),
        (Gpu(), Gpu(), False),  # Two unknown cards are not one card.
    ],
)
def test_two_sightings_are_one_card_by_uuid_and_serial_else_by_index(one: Gpu, other: Gpu, same: bool) -> None:
    assert one.is_same_as(other) is same
    assert other.is_same_as(one) is same


def test_a_card_is_completed_by_another_sighting_and_never_overwritten() -> None:
    assert a_gpu(0, None, "U1").joined_with(a_gpu(5, "S1", "U2")) == a_gpu(0, "S1", "U1")
    assert a_gpu(None, "S1", None).joined_with(a_gpu(0, "S2", "U2")) == a_gpu(0, "S1", "U2")


@pytest.mark.parametrize(
    ("gpu", "key"),
    [(a_gpu(3, "S1", "U1"), "S1"), (a_gpu(3, None, "U1"), "U1"), (a_gpu(3, None, None), None)],
)
def test_a_history_is_filed_under_the_serial_else_the_uuid_and_never_under_an_index(gpu: Gpu, key: str | None) -> None:
    assert gpu.key == key


@pytest.mark.parametrize(
    ("gpu", "words"),
    [
        (a_gpu(3, "S1"), "GPU 3 (serial S1)"),
        (a_gpu(0, None), "GPU 0"),
        (a_gpu(None, "S1"), "GPU (serial S1)"),
        (a_gpu(None, None), "GPU"),
    ],
)
def test_a_card_is_named_as_people_name_it(gpu: Gpu, words: str) -> None:
    assert str(gpu) == words


def test_a_fault_is_told_twice_when_node_card_and_code_agree_whatever_else_drifts() -> None:
    again = a_fault(at=at(30), source="alert other", evidence="told otherwise")
    assert a_fault().is_same_as(again)


@pytest.mark.parametrize(
    "other",
    [
        a_fault("xid-74"),
        a_fault(node="gpu-a02"),
        a_fault(gpu=a_gpu(4, None, "GPU-0104")),
        a_fault(gpu=None),
    ],
)
def test_another_code_node_or_card_is_another_fault(other: object) -> None:
    assert not a_fault().is_same_as(other)  # type: ignore[arg-type]  # the table's column


def test_two_faults_without_a_card_are_one_when_code_and_node_agree() -> None:
    assert a_fault(gpu=None).is_same_as(a_fault(gpu=None, at=at(5)))


def test_a_fault_learns_its_card_from_a_second_telling() -> None:
    fault = a_fault(gpu=a_gpu(3, None, "U1"))
    assert fault.known_better_by(a_fault(gpu=a_gpu(3, "S1", "U1"))).gpu == a_gpu(3, "S1", "U1")
    assert fault.known_better_by(a_fault(gpu=None)) is fault
    assert a_fault(gpu=None).known_better_by(fault).gpu is None


def test_what_tools_print_instead_of_a_serial_is_no_key() -> None:
    assert [read_serial(blank) for blank in a_case("serials")["no_keys"]] == [None] * 8


def test_a_serial_is_a_text_whose_leading_zeros_count() -> None:
    given, key = a_case("serials")["leading_zeros"]
    assert read_serial(given) == key


def test_a_serial_that_several_gpus_report_names_none_of_them_and_that_is_said() -> None:
    listed = [a_gpu(0, "S1", "U0"), a_gpu(1, "S1", "U1"), a_gpu(2, "S2", "U2"), a_gpu(3, None, "U3")]
    apart, told = told_apart(listed)
    assert apart == (a_gpu(0, None, "U0"), a_gpu(1, None, "U1"), *listed[2:])
    assert told == "2 GPUs report the serial S1, so it names none of them."
    assert told_apart(listed[2:]) == (tuple(listed[2:]), "")
