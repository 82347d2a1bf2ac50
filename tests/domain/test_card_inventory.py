from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.card_inventory import Card, Found, became_of, read_inventory
from app.domain.faults import Gpu
from app.domain.outcomes import Verdict

ROWS = (
    "0, GPU-8f6d2c1a-0000, 1650323001234, 00000000:18:00.0",
    "1, GPU-8f6d2c1a-0001, 0323001235, 00000000:2A:00.0",
)
LOOSE = (
    "GPU Recovery Action                   : None",
    "Remapped Rows Pending                 : No",
    "GPU Recovery Action                   : Drain and Reset",
    "Remapped Rows Pending                 : Yes",
)


def text(rows: tuple[str, ...] = ROWS, states: tuple[str, ...] = LOOSE) -> str:
    return "\n".join([*rows, "--", *states]) + "\n"


def a_card(index: int = 0, serial: str | None = "100", uuid: str = "GPU-a") -> Card:
    return Card(index=index, uuid=uuid, serial=serial, bus_id=f"00000000:{index:02X}:00.0")


def test_cards_are_read_with_their_serials_as_texts_and_what_their_driver_asks_for() -> None:
    told = read_inventory(text())
    assert (told.verdict, told.reason) == (Verdict.PASS, "2 GPUs listed, 2 serials.")
    first, second = told.cards
    assert first == Card(
        index=0,
        uuid="GPU-8f6d2c1a-0000",
        serial="1650323001234",
        bus_id="00000000:18:00.0",
        recovery_action="None",
        rows_pending=False,
    )
    assert (second.serial, second.recovery_action, second.rows_pending) == ("0323001235", "Drain and Reset", True)
    assert second.gpu == Gpu(serial="0323001235", uuid="GPU-8f6d2c1a-0001", index=1)


def test_lines_under_a_bus_id_belong_to_that_card_whatever_the_order() -> None:
    states = ("GPU 00000000:2A:00.0", "GPU Recovery Action : Reboot", "GPU 0000:18:00.0", "GPU Recovery Action : None")
    first, second = read_inventory(text(states=states)).cards
    assert (first.recovery_action, second.recovery_action) == ("None", "Reboot")


@pytest.mark.parametrize(
    ("printed", "action"),
    [
        ("None", "None"),
        ("none", "None"),
        ("Reset", "Reset"),
        ("GPU_RESET", "Reset"),
        ("NODE REBOOT", "Reboot"),
        ("Drain P2P", "Drain P2P"),
        ("Recover IMEX Domain", "Recover IMEX Domain"),
        ("N/A", ""),
        ("[N/A]", ""),
    ],
)
def test_the_drivers_word_is_known_in_its_spellings(printed: str, action: str) -> None:
    (card,) = read_inventory(text(ROWS[:1], (f"GPU Recovery Action : {printed}",))).cards
    assert card.recovery_action == action


@pytest.mark.parametrize(
    ("states", "asks_for_nothing"),
    [
        (("GPU Recovery Action : None", "Remapped Rows Pending : No"), True),
        (("GPU Recovery Action : None",), True),
        (("GPU Recovery Action : None", "Remapped Rows Pending : Yes"), False),
        (("GPU Recovery Action : Reset",), False),
        ((), False),
    ],
)
def test_only_the_drivers_own_word_says_that_nothing_is_due(states: tuple[str, ...], asks_for_nothing: bool) -> None:
    (card,) = read_inventory(text(ROWS[:1], states)).cards
    assert card.asks_for_nothing is asks_for_nothing


def test_lines_that_are_fewer_than_the_cards_are_nobodys() -> None:
    told = read_inventory(text(states=("GPU Recovery Action : None", "Remapped Rows Pending : Enabled", "noise")))
    assert told.verdict is Verdict.PASS
    assert [(card.recovery_action, card.rows_pending) for card in told.cards] == [("", None), ("", None)]


@pytest.mark.parametrize("blank", ["[N/A]", "N/A", "0", "[Unknown Error]", "[Not Supported]", ""])
def test_what_tools_print_instead_of_a_serial_is_none(blank: str) -> None:
    told = read_inventory(text((f"0, GPU-a, {blank}, 00000000:18:00.0",), ()))
    assert told.cards[0].serial is None
    assert told.reason == "1 GPU listed, 0 serials."


@pytest.mark.parametrize(
    ("printed", "why"),
    [
        ("", "nothing was printed"),
        ("\n--\n", "nothing was printed"),
        ("No devices were found\n--\n", "No devices were found"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", "couldn't communicate"),
        ("\n".join(ROWS), "cut off"),
        (text((*ROWS, "2, GPU-x, 165")), "cannot be read (2, GPU-x, 165)"),
        (text((ROWS[0], ROWS[0])), "listed twice"),
        (text((ROWS[0], "1, GPU-8f6d2c1a-0000, 7, 00000000:2A:00.0")), "listed twice"),
        (text((ROWS[0], "1, GPU-b, 7, 00000000:18:00.0")), "listed twice"),
        (text(("0, [N/A], [N/A], 00000000:18:00.0",)), "neither serial nor UUID"),
        (text(tuple(f"{n}, GPU-{n}, {n + 1}, 00000000:{n:02X}:00.0" for n in range(65))), "more than 64 GPUs"),
    ],
)
def test_what_cannot_be_read_whole_is_inconclusive(printed: str, why: str) -> None:
    told = read_inventory(printed)
    assert (told.verdict, told.cards) == (Verdict.INCONCLUSIVE, ())
    assert why in told.reason


@pytest.mark.parametrize(
    "said",
    [
        "Unable to determine the device handle for GPU0000:65:00.0: Unknown Error",
        "Unable to determine the device handle for GPU 0000:65:00.0: GPU is lost.  Reboot the system to recover it",
        "2, GPU-x, [GPU is lost], 00000000:65:00.0",
        "2, GPU-x, [GPU requires reset], 00000000:65:00.0",
    ],
)
@pytest.mark.parametrize("where", ["before", "after"])
def test_a_gpu_that_the_driver_cannot_reach_is_a_fail(said: str, where: str) -> None:
    printed = text((*ROWS, said)) if where == "before" else text(states=(*LOOSE, said))
    assert read_inventory(printed).verdict is Verdict.FAIL


ILL = Gpu(serial="100", uuid="GPU-a", index=3)


@pytest.mark.parametrize(
    ("ill", "cards", "expected", "found"),
    [
        (ILL, (a_card(), a_card(1, "101", "GPU-b")), 2, Found.SAME),
        (ILL, (a_card(7, "100", "GPU-other"), a_card(1, "101", "GPU-b")), 2, Found.SAME),
        (ILL, (a_card(3, "200", "GPU-c"), a_card(1, "101", "GPU-b")), 2, Found.OTHER),
        (ILL, (a_card(1, "101", "GPU-b"),), 2, Found.MISSING),
        (Gpu(uuid="GPU-a"), (a_card(0, None, "GPU-a"),), 1, Found.SAME),
        (Gpu(uuid="GPU-a"), (a_card(0, "200", "GPU-c"),), 1, Found.OTHER),
        (ILL, (a_card(0, None, "GPU-a"),), 1, Found.SAME),
        (Gpu(serial="100"), (a_card(0, None, "GPU-a"),), 1, Found.UNTOLD),
        (Gpu(serial="100"), (a_card(0, "200", "GPU-c"), a_card(1, None, "GPU-b")), 2, Found.UNTOLD),
        (Gpu(uuid="GPU-a"), (a_card(0, "200", ""),), 1, Found.UNTOLD),
        (Gpu(index=3), (a_card(3),), 1, Found.UNTOLD),
        (ILL, (a_card(0, "100", "GPU-x"), a_card(1, "100", "GPU-y")), 2, Found.OTHER),
        (Gpu(serial="100"), (a_card(0, "100", "GPU-x"), a_card(1, "100", "GPU-y")), 2, Found.SAME),
    ],
)
def test_what_has_become_of_a_card_is_told_by_serial_or_uuid_never_by_its_index(
    ill: Gpu, cards: tuple[Card, ...], expected: int, found: Found
) -> None:
    assert became_of(ill, cards, expected) is found


@pytest.mark.parametrize("cut", range(len(text())))
def test_a_list_that_is_cut_off_never_passes_with_fewer_cards(cut: int) -> None:
    told = read_inventory(text()[:cut])
    assert told.verdict is Verdict.INCONCLUSIVE or len(told.cards) == len(ROWS)


@given(st.text(max_size=300))
def test_noise_is_never_a_card(noise: str) -> None:
    assert len(read_inventory(noise).cards) == 0
    assert [card.serial for card in read_inventory(text() + noise).cards] in (["1650323001234", "0323001235"], [])
