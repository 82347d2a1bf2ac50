from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.resets import ResetResult, read_reset
from tests.building import a_case

RESET = "GPU 00000000:65:00.0 was successfully reset.\nAll done.\n"


def asked(action: str = "None", pending: str = "No", failed: str = "No") -> str:
    """What is picked of `nvidia-smi -q`: three other things are pending in it before the rows are."""
    return (
        f"        Pending                           : Disabled\n    GPU Recovery Action                   : {action}\n"
        "        Pending                           : Enabled\n        Pending Page Blacklist            : N/A\n"
        f"    Remapped Rows\n        Pending                           : {pending}\n"
        f"        Remapping Failure Occurred        : {failed}\n"
    )


WELL = RESET + asked()
STILL = {
    "reset": RESET + asked("Reset"),
    "reboot": RESET + asked("Reboot"),
    "drain": RESET + asked("Drain and Reset"),
    "rows": RESET + asked(pending="Yes"),
    "rows by number": RESET + asked(pending="1"),
    "failed rows": RESET + asked(failed="Yes"),
    "all": RESET + asked("Reset", "Yes", "Yes"),
}
"""Outputs of resets that were no cure."""
NOT_DONE = {**STILL, **{case["name"]: case["output"] + asked("Reset", "Yes") for case in a_case("resets")["cases"]}}


@pytest.mark.parametrize("case", a_case("resets")["cases"], ids=lambda case: case["name"])
def test_a_reset_that_others_saw_fail_is_not_done(case: dict[str, str]) -> None:
    assert read_reset(case["output"]).result == case["want"]


@pytest.mark.parametrize("case", a_case("resets")["cases"], ids=lambda case: case["name"])
def test_what_the_gpu_says_afterwards_does_not_make_a_failed_reset_done(case: dict[str, str]) -> None:
    done = case["output"].startswith(RESET)
    assert (read_reset(case["output"] + asked()).result is ResetResult.DONE) is done


@pytest.mark.parametrize(
    ("output", "result", "reason"),
    [
        (WELL, ResetResult.DONE, "The GPU was reset and asks for no recovery."),
        (STILL["reset"], ResetResult.NO_EFFECT, "The reset had no effect: the GPU still asks for reset."),
        (STILL["drain"], ResetResult.NO_EFFECT, "The reset had no effect: the GPU still asks for drain and reset."),
        (STILL["rows"], ResetResult.NO_EFFECT, "The reset had no effect: row remaps are still pending."),
        (STILL["rows by number"], ResetResult.NO_EFFECT, "The reset had no effect: row remaps are still pending."),
        (
            STILL["failed rows"],
            ResetResult.NO_EFFECT,
            "The reset does not help: rows of the GPU's memory could not be remapped.",
        ),
        (
            RESET + asked("").replace("None", ""),
            ResetResult.UNREADABLE,
            "The GPU says it was reset, and nothing of what recovery it still needs.",
        ),
        (
            RESET + asked(pending="Unknown"),
            ResetResult.UNREADABLE,
            "The GPU says it was reset, and nothing of rows that wait to be remapped.",
        ),
        (
            RESET + asked().replace("    Remapped Rows\n", ""),
            ResetResult.UNREADABLE,
            "The GPU says it was reset, and nothing of rows that wait to be remapped.",
        ),
        ("", ResetResult.UNREADABLE, "The reset left no word that it was done."),
        (asked(), ResetResult.UNREADABLE, "The reset left no word that it was done."),
    ],
)
def test_a_reset_is_done_only_when_the_gpu_asks_for_nothing_any_more(
    output: str, result: ResetResult, reason: str
) -> None:
    told = read_reset(output)
    assert (told.result, told.reason) == (result, reason)


def test_a_gpu_without_row_remapping_needs_to_say_nothing_of_its_rows() -> None:
    output = RESET + "    GPU Recovery Action : None\n    Remapped Rows : N/A\n"
    assert read_reset(output).result is ResetResult.DONE


def test_persistence_mode_before_and_after_is_no_part_of_the_answer() -> None:
    told = "Disabled persistence mode for GPU 00000000:65:00.0.\nAll done.\n"
    assert read_reset(told + WELL + told.replace("Disabled", "Enabled")).result is ResetResult.DONE
    assert read_reset(told).result is ResetResult.UNREADABLE


OTHER = WELL.replace(":65:", ":9A:")


@pytest.mark.parametrize(
    ("output", "gpus", "result"),
    [
        (WELL + OTHER, 2, ResetResult.DONE),
        (WELL, 2, ResetResult.UNREADABLE),
        (WELL + WELL, 2, ResetResult.UNREADABLE),
        (WELL + OTHER[: OTHER.index("    Remapped")], 2, ResetResult.UNREADABLE),
        (RESET + OTHER, 2, ResetResult.UNREADABLE),
        (WELL + OTHER.replace(": None", ": Reset"), 2, ResetResult.NO_EFFECT),
        (STILL["rows"] + OTHER, 2, ResetResult.NO_EFFECT),
    ],
)
def test_of_several_gpus_each_must_say_that_it_is_well(output: str, gpus: int, result: ResetResult) -> None:
    assert read_reset(output, gpus).result is result


def mutations(output: str) -> Iterator[str]:
    """Cut off at every place, each line and word away or renamed, lines in reverse, and in another case."""
    lines = output.splitlines(keepends=True)
    yield from (output[:end] for end in range(len(output)))
    yield from ("".join(lines[:place] + lines[place + 1 :]) for place in range(len(lines)))
    yield from (output.replace(word, "Renamed") for word in set(output.split()))
    yield "".join(reversed(lines))
    yield output.upper()
    yield output.lower()


@pytest.mark.parametrize("output", NOT_DONE.values(), ids=NOT_DONE)
def test_no_damage_to_an_answer_makes_it_done_that_was_not(output: str) -> None:
    # A reset of which "Reset" or "Yes" was lost says less; a word that says "None" or "No" instead is no damage.
    assert read_reset(output).result is not ResetResult.DONE
    assert [text for text in mutations(output) if read_reset(text).result is ResetResult.DONE] == []


def test_damage_may_take_a_done_away() -> None:
    assert read_reset(WELL.upper()).result is ResetResult.DONE
    assert read_reset(WELL[: WELL.rindex("No")]).result is ResetResult.UNREADABLE


@given(st.sampled_from(sorted(NOT_DONE)), st.randoms(use_true_random=False))
def test_no_order_of_its_lines_makes_an_answer_done_that_was_not(name: str, random: object) -> None:
    lines = NOT_DONE[name].splitlines()
    random.shuffle(lines)  # type: ignore[attr-defined]  # Hypothesis gives a random.Random
    assert read_reset("\n".join(lines)).result is not ResetResult.DONE


@given(st.text())
def test_any_text_at_all_is_read(text: str) -> None:
    assert read_reset(text).result is not ResetResult.DONE
