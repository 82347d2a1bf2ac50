"""Pages of the whole ladder: its rungs, cards that fail often, and what holds everything."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.domain.operations import Operation, State
from app.domain.plans import repair
from app.domain.plans.planned import StepState
from app.web import lanes
from tests.web.browsing import sign_in, text
from tests.web.conftest import NOON, Web
from tests.web.test_acts import put, repair_at
from tests.web.test_offenders import file
from tests.web.test_resuming import mass_failure

OVER: dict[str, Any] = {"attempt": 1, "started_at": NOON, "finished_at": NOON}


def _second_rung(state: State = State.RUNNING) -> Operation:
    """A reset that did not help, and a reboot under way."""
    first = repair_at("diagnose")
    failed = tuple(
        replace(step, state=StepState.FAILED, **OVER) if step.step == "diagnose" else step for step in first.plan
    )
    before = repair.cut_short(failed)
    began, *rest = repair.rung_steps("reboot", before)
    running = replace(began, state=StepState.RUNNING, attempt=1, started_at=NOON)
    return replace(first, plan=(*before, running, *rest), state=state)


def _words(operation: Operation) -> list[tuple[str, str]]:
    return [(rung.name, rung.chip.word) for rung in lanes.rungs(operation)]


@pytest.mark.parametrize(
    ("state", "word"),
    [
        (State.RUNNING, "running"),
        (State.WAITING, "running"),
        (State.HELD, "held"),
        (State.NEEDS_HUMAN, "needs you"),
        (State.WITH_VENDOR, "with vendor"),
    ],
)
def test_each_rung_says_what_became_of_it(state: State, word: str) -> None:
    assert _words(_second_rung(state)) == [("reset", "failed"), ("reboot", word), ("ticket", "to do")]


def test_a_rung_that_was_passed_over_or_has_helped_says_so() -> None:
    fresh = repair_at("cordon")
    over = tuple(replace(step, state=StepState.SKIPPED) if step.rung else step for step in fresh.plan)
    done = tuple(replace(step, state=StepState.DONE, **OVER) for step in fresh.plan)

    assert _words(replace(fresh, plan=over))[0] == ("reset", "passed over")
    assert _words(replace(fresh, plan=done))[0] == ("reset", "done")
    assert _words(fresh)[0] == ("reset", "to do")


def test_in_one_line_a_rung_that_is_over_is_one_name() -> None:
    told = [(name, it.glyph) for name, it in lanes.brief(lanes.row(_second_rung()))]

    assert told == [
        ("cordon", "✓"),
        ("evidence", "✓"),
        ("drain", "✓"),
        ("reset", "✗"),
        ("reboot", "▸"),
        ("diagnose", "·"),
        ("benchmark", "·"),
        ("release", "·"),
    ]


def test_the_plan_names_its_rungs_and_a_plan_of_one_rung_needs_no_names(web: Web) -> None:
    page = put(web, _second_rung())

    html = web.client.get(page).text
    assert html.count('class="rung"') == 2
    assert "✗ reset failed ▸ reboot running · ticket to do" in text(html)
    assert web.api("operations/op-1")["plan"][3]["rung"] == "reset"
    single = replace(
        repair_at("drain"), id="op-2", ladder=("reset",), node=replace(_second_rung().node, name="gpu-a02")
    )
    assert 'class="rung"' not in web.client.get(put(web, single)).text


def test_a_card_shows_its_nodes_what_each_fault_adds_and_why_it_is_an_offender(web: Web) -> None:
    file(web, "165", 22, 8, 1)
    file(web, "165", 2, code="xid-31", class_="application")
    file(web, "165", 3, code="xid-119", class_="reset", own_act="pause-operands", node="gpu-a02")

    told = text(web.client.get("/gpus/165").text)

    assert "! offender Serial 165 has had 3 faults in 21 days on gpu-a01, at the limit of 3.0." in told
    assert "Seen ill on gpu-a01 , gpu-a02 ." in told
    assert "History: 5 occurrences" in told
    for weighed in ("+1.0", "application", "our own pause-operands"):
        assert weighed in told


def test_a_card_below_the_limit_says_how_far(web: Web) -> None:
    file(web, "165", 22, 8)

    told = text(web.client.get("/gpus/165").text)

    assert "Its faults of the last 30 days weigh 2.0; from 3.0 on it is an offender." in told
    assert "! offender" not in told


def test_offenders_stand_before_those_that_may_become_some(web: Web) -> None:
    assert "No card had a fault that counts within 30 days." in web.client.get("/offenders").text
    file(web, "1", 1, 2)
    file(web, "2", 1, 2, 3)

    html = web.client.get("/offenders").text
    assert html.index('href="/gpus/2"') < html.index('href="/gpus/1"')
    assert "1 past the limit, 1 below" in text(html)
    assert "Serial 2 has had 3 faults" in text(html)


def test_a_tripped_breaker_is_told_on_each_page_with_what_lifts_it(web: Web) -> None:
    mass_failure(web)
    for path in ("/", "/offenders"):
        told = text(web.client.get(path).text)
        assert "! tripped The breaker has tripped: 6 of 6 nodes fell ill with xid-79" in told
        assert "sickbay resume" in told
    sign_in(web.client)
    assert 'href="/resume"' in web.client.get("/").text
    asked = text(web.client.get("/resume").text)
    assert "The breaker has tripped: 6 of 6 nodes" in asked
    assert "whose alerts have all ended meanwhile, are dropped" in asked
