"""Operations led through whatever outcomes, alerts and orders may come, with what must hold looked at after each."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from app.domain.operations import (
    MAX_FAULTS,
    Changed,
    Operation,
    Result,
    State,
    apply,
    ask,
    begin,
    give_back,
    hold,
    join,
)
from app.domain.outcomes import Act, Done, Failed, NeedsHuman, Outcome, Wait
from app.domain.people import OrderRefusedError, give
from app.domain.plans import repair
from app.domain.plans.planned import StepState
from tests.building import a_fault, a_gpu, an_operation, at

LADDERS = st.sampled_from([("reboot",), ()])
OUTCOMES = st.sampled_from(
    [
        # Mostly well, so that many walks come as far as the proofs and the release.
        *[Done("It went well.")] * 7,
        Wait("It waits."),
        Failed("It failed."),
        NeedsHuman("It needs a person."),
        NeedsHuman("It asks.", asks="foreign-cordon"),
    ]
)
LATE = 30
"""Minutes after which people may end it: earlier, most walks would never come to a proof."""
LONGEST_PLAN = len(repair.BEFORE) + sum(len(repair.rung_steps(rung)) for rung in repair.RUNGS)


class Walk(RuleBasedStateMachine):
    """One operation, a clock, and the orders that people gave."""

    @initialize(ladder=LADDERS)
    def opens(self, ladder: tuple[str, ...]) -> None:
        self.minutes = 0.0
        self.operation = an_operation(ladder=ladder)
        self.given_back = 0
        self.released_by_order = False
        self.beyond_software = not ladder
        self.told: list[str] = []

    @property
    def open(self) -> bool:
        return not self.operation.finished

    def changed(self, change: Changed) -> None:
        before = {step.key: step.attempt for step in self.operation.plan if step.step != repair.RELEASE}
        self.operation, entries = change
        self.told += [entry.text for entry in entries]
        after = {step.key: step.attempt for step in self.operation.plan}
        assert all(after[key] >= attempt for key, attempt in before.items()), "a try was forgotten"

    def now(self) -> float:
        self.minutes += 1
        return self.minutes

    @rule()
    def time_passes(self) -> None:
        self.now()

    @precondition(lambda self: self.open and self.operation.current is not None)
    @rule(outcomes=st.lists(OUTCOMES, min_size=1, max_size=4))
    def steps_give(self, outcomes: list[Outcome]) -> None:
        for outcome in outcomes:
            if self.operation.current is not None:
                self.a_step_gives(outcome)

    def a_step_gives(self, outcome: Outcome) -> None:
        step = self.operation.current
        assert step is not None
        if step.step == repair.RELEASE:
            # As the step itself judges: uncovered faults keep the node unless a person ordered its release.
            uncovered = self.operation.uncovered_faults and "ordered" not in step.memo
            if isinstance(outcome, Failed) or (isinstance(outcome, Done) and uncovered):
                outcome = NeedsHuman("After the repair came another fault.")
        self.changed(apply(self.operation, outcome, now=at(self.now())))

    @precondition(lambda self: self.open and self.operation.current is not None)
    @rule()
    def a_step_acts(self) -> None:
        self.changed(begin(self.operation, Act((), "It acts.", {"a": "1"}), now=at(self.now())))

    @precondition(lambda self: self.open)
    @rule(code=st.integers(1, 200), index=st.integers(0, 7), ladder=LADDERS, ago=st.integers(0, 30))
    def an_alert_joins(self, code: int, index: int, ladder: tuple[str, ...], ago: int) -> None:
        now = self.now()
        fault = a_fault(f"xid-{code}", gpu=a_gpu(index, None, f"GPU-{index}"), at=at(max(now - ago, 0)))
        change = join(self.operation, fault, ladder=ladder, now=at(now))
        if change is not None:
            new = len(change[0].faults) > len(self.operation.faults)
            releasing = self.operation.current is not None and self.operation.current.state is StepState.RUNNING
            self.beyond_software |= new and not ladder and not releasing
            self.changed(change)

    @precondition(lambda self: self.open)
    @rule(order=st.sampled_from(["approve", "retry", "skip"]))
    def a_person_helps_it_on(self, order: str) -> None:
        self.a_person_orders(order)

    @precondition(lambda self: self.open and self.minutes > LATE)
    @rule(order=st.sampled_from(["cancel", "release"]))
    def a_person_ends_it(self, order: str) -> None:
        self.a_person_orders(order)

    def a_person_orders(self, order: str) -> None:
        try:
            change = give(self.operation, order, actor="ann", reason="so be it", now=at(self.now()))
        except OrderRefusedError as refused:
            self.told.append(str(refused))
            return
        self.given_back += order in {"cancel", "release"}
        self.released_by_order |= order == "release"
        self.changed(change)

    @precondition(lambda self: self.open)
    @rule(kind=st.sampled_from(["hold", "ask"]))
    def a_guard_says_no(self, kind: str) -> None:
        now = at(self.now())
        said = (
            hold(self.operation, "It is full.", now=now, after=timedelta(seconds=15))
            if kind == "hold"
            else ask(self.operation, "May it?", asks="drain", now=now)
        )
        self.changed(said)

    @precondition(lambda self: self.open and self.given_back == 0 and self.minutes > LATE)
    @rule()
    def a_person_uncordons(self) -> None:
        self.given_back += 1
        self.changed(
            give_back(self.operation, Result.CANCELLED, actor="sickbay", reason="Uncordoned.", now=at(self.now()))
        )

    @invariant()
    def a_release_is_proven_or_ordered_by_a_person(self) -> None:
        operation: Operation = self.operation
        if operation.result is not Result.RELEASED or self.released_by_order:
            return
        rung = operation.ladder[-1]
        steps = {step.step: step for step in operation.plan if step.rung == rung}
        for name in (*repair.RUNGS[rung], *repair.VALIDATION):
            skipped = steps[name].state is StepState.SKIPPED and steps[name].reason == "ann: so be it"
            assert steps[name].state is StepState.DONE or skipped
        assert operation.uncovered_faults == ()

    @invariant()
    def what_software_cannot_repair_is_released_by_a_person_only(self) -> None:
        if self.beyond_software and self.operation.result is Result.RELEASED:
            assert self.released_by_order or any("ann" in step.reason for step in self.operation.plan)

    @invariant()
    def nothing_behind_the_current_step_is_over(self) -> None:
        over = [step.over for step in self.operation.plan]
        assert over == sorted(over, reverse=True)

    @invariant()
    def no_rung_is_taken_twice_and_everything_is_bounded(self) -> None:
        keys = [step.key for step in self.operation.plan if step.rung]
        assert len(keys) == len(set(keys))
        assert len(self.operation.plan) <= LONGEST_PLAN + self.given_back
        assert len(self.operation.faults) <= MAX_FAULTS

    @invariant()
    def it_is_over_or_will_be_looked_at(self) -> None:
        operation: Operation = self.operation
        assert operation.finished == (operation.result is not None)
        assert operation.finished == (operation.next_check_at is None)
        assert not (operation.finished and operation.current is not None)

    @invariant()
    def every_change_says_why_in_a_sentence(self) -> None:
        assert self.operation.reason.endswith((".", "?"))
        assert all(text.endswith((".", "?")) for text in self.told)

    @invariant()
    def a_stuck_operation_waits_for_a_person(self) -> None:
        operation: Operation = self.operation
        if operation.finished or operation.current is not None or operation.state is not State.NEEDS_HUMAN:
            return
        with pytest.raises(ValueError, match="no step to go on with"):
            apply(operation, Done("Released."), now=at(self.minutes))
        with pytest.raises(ValueError, match="no step to go on with"):
            begin(operation, Act((), "Releases."), now=at(self.minutes))


TestWalk = Walk.TestCase
TestWalk.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
