from __future__ import annotations

import pytest

from app.domain.notices import ENDED, notice_of
from app.domain.operations import State
from app.domain.timeline import Entry
from tests.building import an_operation, at


def test_a_notice_tells_the_timelines_sentences_with_state_and_step() -> None:
    operation = an_operation(at_step="drain", state=State.WAITING)
    told = notice_of(operation, (Entry(at(3), "ann", "Approved drain: go."), Entry(at(4), "sickbay", "Evicts 1 pod.")))
    assert (told.operation, told.node, told.kind) == ("op-1", operation.node, "repair")
    assert (told.state, told.step) == (State.WAITING, "drain")
    assert told.sentences == ((at(3), "Approved drain: go."), (at(4), "Evicts 1 pod."))


def test_an_operation_whose_plan_is_done_shows_that_it_is_at_its_end() -> None:
    operation = an_operation(plan=(), state=State.NEEDS_HUMAN)
    assert notice_of(operation, ()).step == ENDED


@pytest.mark.parametrize("state", State)
def test_what_cannot_go_on_by_itself_calls_for_attention(state: State) -> None:
    told = notice_of(an_operation(state=state), ())
    assert told.calls_for_attention == (state in {State.HELD, State.NEEDS_HUMAN})
