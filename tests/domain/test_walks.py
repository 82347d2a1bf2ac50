"""Operations led through whatever outcomes, alerts and orders may come, with what must hold looked at after each.

The whole engine is led like this in `tests/engine/test_any_order.py`. Here is drawn what no machine there does: every
ladder with replacements and tickets, and any outcome of any step.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from itertools import groupby

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from app.domain.folding import MAX_FAULTS, attach, join
from app.domain.operations import (
    Changed,
    Operation,
    Result,
    State,
    apply,
    ask,
    begin,
    give_back,
    hold,
    learn,
    next_rung,
    pass_over,
)
from app.domain.outcomes import Act, Done, Failed, Learned, NeedsHuman, Outcome, Wait
from app.domain.people import OrderRefusedError, give
from app.domain.plans import repair
from app.domain.plans.planned import PlannedStep, StepState
from app.domain.policies import Ladder, Then, When
from tests.building import a_fault, a_gpu, an_operation, at, named, rungs

LADDERS = st.builds(
    lambda names, when, then: rungs(*repair.by_gravity(names), **({"when": when, "then": then} if names else {})),
    st.lists(st.sampled_from(list(repair.RUNGS)), unique=True, max_size=4),
    st.sampled_from([When.NOW, When.NOW, When.IDLE]),
    st.sampled_from(list(Then)),
)
WELL = Done("It went well.")
ANOTHER = Done("It went well.", learned=Learned(replaced=True))
"""Only believed of a step that looks at cards or machines."""
OUTCOMES = st.sampled_from(
    [
        # Mostly well, so that many walks come as far as the proofs and the release.
        *[WELL] * 9,
        ANOTHER,
        Wait("It waits."),
        Wait("It waits for a vendor.", with_vendor=True),
        Failed("It failed."),
        Failed("It failed."),
        NeedsHuman("It needs a person."),
        NeedsHuman("It asks.", asks="foreign-cordon"),
    ]
)
OWED = repair.RUNGS["reset"]
NEVER_FAIL = frozenset({repair.WAIT, "cordon", "evidence", "drain", "restore-operands"})
LATE = 30
"""Minutes after which people may end it: earlier, most walks would never come to a proof."""
LONGEST_PLAN = 3 + sum(len(repair.rung_steps(rung, ())) for rung in repair.RUNGS) + 1
"""A wait, cordon and evidence; every rung with a drain of its own; and the release that was ordered."""


def tries(operation: Operation) -> Counter[str]:
    """How often each step was begun, over all places it has in the plan.

    But for the release, which is taken out of the plan when a fault joins that software cannot repair.
    """
    counts: Counter[str] = Counter()
    for name, step in zip(named(operation.plan), operation.plan, strict=True):
        counts[name] += step.attempt if step.step != repair.RELEASE else 0
    return counts


def released_by(operation: Operation) -> tuple[PlannedStep, ...]:
    """The steps of the plan between the release before and the one that was done."""
    done = max(place for place, step in enumerate(operation.plan) if step.step == repair.RELEASE and step.attempt)
    before = [place for place, step in enumerate(operation.plan[:done]) if step.step == repair.RELEASE]
    return operation.plan[max(before, default=-1) + 1 : done]


def by_ann(step: PlannedStep) -> bool:
    return step.state is StepState.SKIPPED and step.reason == "ann: so be it"


class Walk(RuleBasedStateMachine):
    """One operation, a clock, and the orders that people gave."""

    @initialize(ladder=LADDERS)
    def opens(self, ladder: Ladder) -> None:
        self.minutes = 0.0
        self.operation = an_operation(ladder=ladder)
        self.retries = 0
        self.helped = False
        self.released_by_order = False
        self.beyond_software = not ladder
        self.light_is_enough = bool(ladder) and ladder[0].rung in repair.UNDRAINED
        self.operands_paused = False
        self.saw_another = False
        self.told: list[str] = []

    @property
    def open(self) -> bool:
        return not self.operation.finished

    def changed(self, change: Changed) -> None:
        before = self.operation
        self.operation, entries = change
        self.told += [entry.text for entry in entries]
        assert tries(before) - tries(self.operation) == Counter(), "a try was forgotten"
        begun = tries(self.operation) - tries(before)
        self.operands_paused |= "reset/pause-operands" in begun
        restore, was = self.operation.last("restore-operands"), before.last("restore-operands")
        if restore and restore.state is StepState.DONE and was and was.state is not StepState.DONE:
            self.operands_paused = False

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
            if isinstance(outcome, Failed) and not uncovered:
                outcome = Wait("Its node job still ends.")
            elif isinstance(outcome, Done) and uncovered:
                outcome = Failed("After the repair came another fault.")
        if isinstance(outcome, Failed) and step.step in NEVER_FAIL:
            outcome = NeedsHuman("It does not go on.")
        if isinstance(outcome, Done) and (step.step == "replace" or (step.step == "inventory" and outcome is ANOTHER)):
            self.saw_another = True
            uid = f"uid-{self.minutes}" if step.step == "replace" else ""
            self.operation = learn(self.operation, Learned(replaced=True, node_uid=uid))
        self.changed(apply(self.operation, outcome, now=at(self.now())))

    @precondition(lambda self: self.open and next_rung(self.operation) is not None)
    @rule()
    def a_rung_is_passed_over(self) -> None:
        rung = next_rung(self.operation)
        self.changed(pass_over(self.operation, f"Passes over {rung}: enough.", now=at(self.now())))
        assert all(step.over for step in self.operation.plan if step.rung == rung)

    @precondition(lambda self: self.open and self.operation.current is not None)
    @rule()
    def a_step_acts(self) -> None:
        self.changed(begin(self.operation, Act((), "It acts.", {"a": "1"}), now=at(self.now())))

    @precondition(lambda self: self.open)
    @rule(code=st.integers(1, 200), index=st.integers(0, 7), ladder=LADDERS, ago=st.integers(0, 30))
    def an_alert_joins(self, code: int, index: int, ladder: Ladder, ago: int) -> None:
        now = self.now()
        fault = a_fault(f"xid-{code}", gpu=a_gpu(index, None, f"GPU-{index}"), at=at(max(now - ago, 0)))
        change = join(self.operation, fault, ladder=ladder, now=at(now))
        if change is not None:
            new = len(change[0].faults) > len(self.operation.faults)
            releasing = self.operation.current is not None and self.operation.current.state is StepState.RUNNING
            self.beyond_software |= new and not ladder and not releasing
            if new and ladder and not releasing:
                self.light_is_enough &= ladder[0].rung in repair.UNDRAINED
            self.changed(change)

    @precondition(lambda self: self.open)
    @rule()
    def a_tail_is_told(self) -> None:
        before = self.operation
        self.changed(attach(before, a_fault("xid-45"), "its own act raised it", now=at(self.now())))
        assert self.operation == before

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
        self.released_by_order |= order == "release"
        self.retries += order == "retry"
        self.helped |= order in {"retry", "skip"}
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

    @precondition(lambda self: self.open and not self.operation.giving_back and self.minutes > LATE)
    @rule()
    def a_person_uncordons(self) -> None:
        self.changed(
            give_back(self.operation, Result.CANCELLED, actor="sickbay", reason="Uncordoned.", now=at(self.now()))
        )

    @invariant()
    def a_release_is_proven_or_ordered_by_a_person(self) -> None:
        operation: Operation = self.operation
        if operation.result not in {Result.RELEASED, Result.REPLACED} or self.released_by_order:
            return
        last = released_by(operation)
        rung = next(step.rung for step in last if step.rung)
        proofs = repair.LIGHT_VALIDATION if rung in repair.UNDRAINED else repair.VALIDATION
        own = [step for step in last if step.rung]
        assert [step.step for step in own] == [*repair.RUNGS[rung], *proofs]
        for step in own:
            assert step.rung == rung
            assert step.state is StepState.DONE or by_ann(step)
        assert operation.uncovered_faults == ()
        assert self.light_is_enough or self.helped or rung not in repair.UNDRAINED

    @invariant()
    def replaced_is_what_was_seen_to_be_another(self) -> None:
        if self.operation.result is Result.REPLACED:
            assert self.saw_another
        if self.operation.result is Result.RELEASED and not self.released_by_order:
            assert not self.saw_another

    @invariant()
    def while_operands_are_paused_nothing_else_begins_and_nothing_ends(self) -> None:
        if self.operands_paused:
            assert not self.operation.finished
            assert self.operation.current is not None
            assert self.operation.current.step in OWED
        begun = [step.rung for step in self.operation.plan if step.rung and step.attempt and not step.over]
        assert len(set(begun)) <= 1

    @invariant()
    def what_software_cannot_repair_is_released_by_a_person_only(self) -> None:
        if self.beyond_software and self.operation.result is Result.RELEASED:
            assert self.released_by_order or any("ann" in step.reason for step in self.operation.plan)

    @invariant()
    def nothing_behind_the_current_step_was_done(self) -> None:
        operation: Operation = self.operation
        if operation.current is not None:
            behind = operation.plan[operation.plan.index(operation.current) + 1 :]
            # A rung that was drained for and then passed over may stand behind one that a person retries.
            undone = {step.state for step in behind if step.step != "drain"}
            assert undone <= {StepState.PENDING, StepState.SKIPPED}

    @invariant()
    def no_rung_is_taken_twice_and_everything_is_bounded(self) -> None:
        operation: Operation = self.operation
        taken = [rung for rung, _ in groupby(step.rung for step in operation.plan if step.rung)]
        assert len(taken) == len(set(taken))
        assert all(step.attempt <= 1 + self.retries for step in operation.plan)
        assert len(operation.plan) <= LONGEST_PLAN
        assert len(operation.faults) <= MAX_FAULTS

    @invariant()
    def rungs_are_taken_from_the_mildest_to_the_gravest(self) -> None:
        begun = [step.rung for step in self.operation.plan if step.rung and step.attempt]
        assert tuple(dict.fromkeys(begun)) == repair.by_gravity(begun)

    @invariant()
    def a_restarted_plugin_evicts_nobody(self) -> None:
        begun = {step.rung for step in self.operation.plan if step.rung}
        if begun == repair.UNDRAINED:
            assert self.operation.last("drain") is None

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
TestWalk.settings = settings(stateful_step_count=40)
