"""What a fault does to an operation that stands at its ladder's end, and when it counts as begun."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from app.domain.folding import SKEW, join
from app.domain.operations import Operation, Result, State, apply, give_back, pass_over
from app.domain.outcomes import Done, Failed
from tests.building import a_fault, a_gpu, an_operation, at, named, rungs

LOST = a_fault("xid-79", gpu=a_gpu(1, None, "GPU-0101"), rung="reboot")
RESET_48 = a_fault("xid-48", rung="reset")
SECOND = timedelta(seconds=1)


def stuck(*ladder: str) -> Operation:
    """Before a person, since the diagnosis after its only rung has failed."""
    operation, _ = apply(an_operation(RESET_48, ladder=ladder, at_step="diagnose"), Failed("Memory."), now=at(30))
    assert (operation.state, operation.current) == (State.NEEDS_HUMAN, None)
    return operation


def ahead(operation: Operation) -> list[str]:
    return named(step for step in operation.plan if not step.over)


def test_a_graver_fault_takes_an_operation_from_the_end_of_its_ladder_on() -> None:
    changed = join(stuck("reset"), LOST, ladder=rungs("reboot", "ticket"), now=at(40))
    assert changed is not None
    operation, entries = changed
    assert operation.state is State.RUNNING
    assert operation.ladder == ("reset", "reboot", "ticket")
    assert ahead(operation) == ["reboot/reboot", "reboot/diagnose", "reboot/benchmark", "release"]
    assert [entry.text for entry in entries][1:] == ["The next rung is reboot."]


def test_an_operation_whose_rungs_were_all_passed_over_goes_on_likewise() -> None:
    waiting = an_operation(RESET_48, ladder=("reset",), at_step="pause-operands")
    passed, _ = pass_over(waiting, "Passes over reset: pool gpu does not have it.", now=at(9))
    assert passed.state is State.NEEDS_HUMAN
    changed = join(passed, LOST, ladder=rungs("reboot"), now=at(10))
    assert changed is not None
    assert ahead(changed[0])[0] == "reboot/reboot"


@pytest.mark.parametrize("ladder", [rungs("reset"), rungs("restart-plugin"), ()])
def test_one_that_brings_nothing_graver_leaves_it_before_the_person(ladder: object) -> None:
    changed = join(stuck("reset"), LOST, ladder=ladder, now=at(40))  # type: ignore[arg-type]  # the table's column
    assert changed is not None
    assert changed[0].state is State.NEEDS_HUMAN
    assert changed[0].current is None


def test_what_a_person_ordered_is_stronger_than_a_graver_fault() -> None:
    ordered, _ = give_back(stuck("reset"), Result.CANCELLED, actor="ann", reason="Enough.", now=at(35))
    changed = join(ordered, LOST, ladder=rungs("reboot"), now=at(40))
    assert changed is not None
    assert ahead(changed[0]) == ["release"]


def test_a_graver_fault_that_came_while_operands_were_put_back_is_answered_once_they_are() -> None:
    """The ladder was at its end, and only what was owed was left to do."""
    resetting = an_operation(RESET_48, ladder=("reset",), at_step="reset")
    owing, _ = apply(resetting, Failed("No effect."), now=at(30))
    assert ahead(owing) == ["reset/restore-operands"]
    changed = join(owing, LOST, ladder=rungs("reboot"), now=at(31))
    assert changed is not None
    operation, _ = apply(changed[0], Done("Put back."), now=at(32))
    assert ahead(operation)[0] == "reboot/reboot"


REPAIRED = an_operation(at_step="diagnose")  # its reboot was over at minute 4


@pytest.mark.parametrize(
    ("began", "told", "uncovered"),
    [
        (at(4) + SECOND, at(5), True),
        (at(4), at(5), True),  # clocks that differ may only say so
        (at(4) - SKEW + SECOND, at(5), True),
        (at(4) - SKEW, at(5), False),
        (at(4) - SECOND, at(4) - 2 * SECOND, True),  # the clock of web is behind, too
        (at(4) + SECOND, at(3), True),
    ],
)
def test_a_fault_told_after_the_repair_is_covered_only_if_it_began_well_before_its_end(
    began: object, told: object, uncovered: bool
) -> None:
    changed = join(REPAIRED, replace(LOST, at=began), ladder=rungs("reboot"), now=told)  # type: ignore[arg-type]
    assert changed is not None
    assert bool(changed[0].uncovered_faults) is uncovered


def test_a_fault_told_before_the_repairs_end_is_covered_whatever_its_clock_says() -> None:
    early = an_operation(at_step="reboot")
    changed = join(early, replace(LOST, at=at(9)), ladder=rungs("reboot"), now=at(3))
    assert changed is not None
    operation, _ = apply(changed[0], Done("Rebooted."), now=at(4))
    assert operation.uncovered_faults == ()


@pytest.mark.parametrize(
    ("first", "again", "came_back"),
    [
        (at(4) - SECOND, at(4), False),  # the other replica's start of the same occurrence
        (at(3), at(4) - SECOND, True),  # a later one
        (at(4) - SECOND, at(4) + SECOND, True),
    ],
)
def test_a_known_fault_came_back_when_it_may_have_begun_after_the_repair(
    first: object, again: object, came_back: bool
) -> None:
    known = replace(REPAIRED, faults=(a_fault(at=first),))
    changed = join(known, a_fault(at=again), ladder=rungs("reboot"), now=at(6))
    assert bool(changed and changed[0].uncovered_faults) is came_back
