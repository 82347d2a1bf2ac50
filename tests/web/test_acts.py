"""Orders on pages: what is offered to whom, what each page says before, and what comes of its form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from app.domain.facts import TicketRef
from app.domain.faults import Fault, Gpu
from app.domain.folding import open_repair
from app.domain.operations import NodeRef, Operation, State
from app.domain.people import ORDERS, OrderRefusedError, give, tried
from app.domain.plans import repair
from app.domain.plans.planned import PlannedStep, StepState
from app.domain.policies import Rung
from app.store import Change, Committed
from app.web.choices import QUESTIONS, STEPS, choices
from tests.web.browsing import hidden, send, sign_in, text
from tests.web.conftest import NOON, Web

LADDER = (Rung(rung="reset"), Rung(rung="reboot"), Rung(rung="ticket"))
DONE: dict[str, Any] = {"state": StepState.DONE, "attempt": 1, "started_at": NOON, "finished_at": NOON}


def repair_at(step: str, state: StepState = StepState.PENDING, **other: Any) -> Operation:
    """An operation at this step of its first rung, all before it done."""
    fault = Fault(
        code="xid-95",
        node="gpu-a01",
        gpu=Gpu(serial="1650923000001", uuid="GPU-1", index=3),
        at=NOON,
        source="alert GpuXid",
        evidence="Xid 95 on GPU 3",
    )
    made, _ = open_repair(fault, id="op-1", node=NodeRef(name="gpu-a01", uid="u"), pool="gpu", ladder=LADDER, now=NOON)
    place = [planned.step for planned in made.plan].index(step)
    attempt = 0 if state is StepState.PENDING else 1
    there = replace(made.plan[place], state=state, attempt=attempt)
    plan = (*(replace(before, **DONE) for before in made.plan[:place]), there, *made.plan[place + 1 :])
    return replace(made, plan=plan, reason="Because.", **other)


def put(web: Web, operation: Operation) -> str:
    change = Change(operation=operation, expected_version=0, now=web.clock.now)
    assert isinstance(web.store.operations.commit(change), Committed)
    return f"/operations/{operation.id}"


def _asking(asks: str = "reset") -> Operation:
    return replace(repair_at("reset"), state=State.NEEDS_HUMAN, asks=asks)


def _stored(web: Web) -> Operation:
    found = web.store.operations.load("op-1")
    assert found is not None
    return found


@pytest.fixture
def signed_in(web: Web) -> Web:
    sign_in(web.client)
    return web


def test_whoever_is_known_finds_buttons_and_a_stranger_finds_commands(web: Web) -> None:
    page = put(web, _asking())

    stranger = web.client.get(page).text
    assert 'class="button' not in stranger.partition("<dialog")[0]
    assert "sickbay approve op-1" in stranger

    sign_in(web.client)
    for path, more in ((page, ""), ("/", "?from=overview")):
        known = web.client.get(path).text
        assert f'href="{page}/approve{more}"' in known
        assert "Approve reset" in text(known)
    assert f'href="{page}/cancel"' in web.client.get(page).text
    assert "sickbay approve" not in web.client.get(page).text


def test_an_approval_says_what_follows_and_to_which_node_then_is_stored_under_its_name(signed_in: Web) -> None:
    page = put(signed_in, _asking())

    asked = text(signed_in.client.get(f"{page}/approve").text)
    assert "Approve reset on gpu-a01" in asked
    assert "What follows The sick GPUs of gpu-a01 are reset." in asked
    assert "Xid 95 on GPU 3" in asked
    answer = send(signed_in.client, f"{page}/approve", reason="the  team\nknows")

    assert (answer.status_code, answer.headers["Location"]) == (303, page)
    assert _stored(signed_in).approvals == ("reset",)
    last = signed_in.api("operations/op-1")["timeline"][-1]
    assert (last["actor"], last["text"]) == ("ana (api token)", "Approved reset: the team knows.")
    assert ("urgent", "workers.jobs.advance", ["op-1"]) in signed_in.jobs()


def test_an_order_from_the_overview_leads_back_to_it(signed_in: Web) -> None:
    page = put(signed_in, _asking())

    assert send(signed_in.client, f"{page}/approve?from=overview", reason="x").headers["Location"] == "/"


@pytest.mark.parametrize(
    ("operation", "order", "fields", "after"),
    [
        (repair_at("reset", StepState.WAITING), "retry", {}, {"state": State.RUNNING}),
        (repair_at("reset", StepState.WAITING), "skip", {}, {"state": State.RUNNING}),
        (repair_at("diagnose", StepState.WAITING), "skip", {"node": " gpu-a01 "}, {"state": State.RUNNING}),
        (repair_at("diagnose", StepState.WAITING), "cancel", {}, {"state": State.RUNNING}),
        (repair_at("cordon"), "cancel", {}, {"state": State.FINISHED}),
        (repair_at("diagnose", StepState.WAITING), "release", {"node": "gpu-a01"}, {"state": State.RUNNING}),
    ],
)
def test_every_order_has_a_page_that_gives_it(
    signed_in: Web, operation: Operation, order: str, fields: dict[str, str], after: dict[str, object]
) -> None:
    page = put(signed_in, operation)
    expected, _ = give(operation, order, actor="ana (api token)", reason="x", now=signed_in.clock.now)

    assert send(signed_in.client, f"{page}/{order}", reason="x", **fields).status_code == 303
    stored = _stored(signed_in)
    assert (stored.state, stored.plan) == (after["state"], expected.plan)


@pytest.mark.parametrize(
    ("operation", "order"),
    [
        (repair_at("diagnose", StepState.WAITING), "release"),
        (repair_at("diagnose", StepState.WAITING), "skip"),
        (_asking("power-cycle"), "approve"),
        (_asking("replace"), "approve"),
    ],
)
@pytest.mark.parametrize("typed", ["", "gpu-a02", "GPU-A01"])
def test_what_nothing_proves_or_undoes_wants_the_nodes_name(
    signed_in: Web, operation: Operation, order: str, typed: str
) -> None:
    page = put(signed_in, operation)

    answer = send(signed_in.client, f"{page}/{order}", reason="sure of it", node=typed)

    assert answer.status_code == 400
    assert "Type the node's name, gpu-a01" in text(answer.text)
    assert "sure of it</textarea>" in answer.text
    assert _stored(signed_in).version == 1


@pytest.mark.parametrize(("reason", "told"), [("", "Say why"), ("  ", "Say why"), ("x" * 501, "at most 500")])
def test_an_order_without_a_fit_reason_is_asked_again(signed_in: Web, reason: str, told: str) -> None:
    page = put(signed_in, _asking())

    answer = send(signed_in.client, f"{page}/approve", reason=reason)

    assert answer.status_code == 400
    assert told in text(answer.text)
    assert _stored(signed_in).version == 1


def test_an_order_for_what_the_operation_is_no_longer_at_counts_for_nothing(signed_in: Web) -> None:
    page = put(signed_in, _asking())
    fields = hidden(signed_in.client.get(f"{page}/approve").text)
    moved = replace(_stored(signed_in), asks="reboot", reason="It asks for a reboot now.")
    signed_in.store.operations.commit(Change(operation=moved, expected_version=1, now=NOON))

    answer = signed_in.client.post(f"{page}/approve", data={**fields, "reason": "x"})

    assert answer.status_code == 409
    told = text(answer.text)
    assert "gpu-a01 has moved on: this order was for reset, and gpu-a01 asks for reboot now." in told
    assert "Nothing was ordered. Now: It asks for a reboot now." in told
    assert "Approve reboot on gpu-a01" in told
    assert _stored(signed_in).approvals == ()


def commit(web: Web, operation: Operation) -> None:
    change = Change(operation=operation, expected_version=operation.version, now=NOON)
    assert isinstance(web.store.operations.commit(change), Committed)


@pytest.mark.parametrize("order", ["release", "cancel", "retry", "skip"])
def test_a_look_that_changes_nothing_that_matters_makes_no_form_stale(signed_in: Web, order: str) -> None:
    page = put(signed_in, repair_at("diagnose", StepState.RUNNING))
    fields = {**hidden(signed_in.client.get(f"{page}/{order}").text), "reason": "x", "node": "gpu-a01"}
    known = _stored(signed_in)
    plan = tuple(
        replace(step, state=StepState.WAITING, reason="Looks again.") if step.state is StepState.RUNNING else step
        for step in known.plan
    )
    commit(signed_in, replace(known, plan=plan, state=State.WAITING, reason="Looks again."))

    assert signed_in.client.post(f"{page}/{order}", data=fields).status_code == 303


@pytest.mark.parametrize("order", ["retry", "skip"])
def test_a_form_for_one_try_is_none_for_the_next(signed_in: Web, order: str) -> None:
    page = put(signed_in, repair_at("reset", StepState.WAITING))
    fields = {**hidden(signed_in.client.get(f"{page}/{order}").text), "reason": "x"}
    known = _stored(signed_in)
    commit(signed_in, replace(known, plan=tuple(replace(s, attempt=s.attempt and s.attempt + 1) for s in known.plan)))

    answer = signed_in.client.post(f"{page}/{order}", data=fields)

    assert answer.status_code == 409
    assert "this order was for reset, and it would be for reset#2 now" in text(answer.text)


@pytest.mark.parametrize("order", ["release", "cancel"])
def test_nobody_vouches_for_a_fault_that_joined_after_the_page_was_shown(signed_in: Web, order: str) -> None:
    page = put(signed_in, repair_at("diagnose", StepState.WAITING))
    fields = {**hidden(signed_in.client.get(f"{page}/{order}").text), "reason": "x", "node": "gpu-a01"}
    known = _stored(signed_in)
    commit(signed_in, replace(known, faults=(*known.faults, replace(known.faults[0], code="xid-79"))))

    answer = signed_in.client.post(f"{page}/{order}", data=fields)

    assert answer.status_code == 409
    assert "xid-95, xid-79" in text(answer.text)


def test_a_resume_lifts_no_pause_that_its_page_did_not_show(signed_in: Web) -> None:
    signed_in.store.pause.set("bob", "a shelf moves", NOON)
    fields = {**hidden(signed_in.client.get("/resume").text), "reason": "x"}
    signed_in.store.standing.lift(signed_in.store.standing.read())
    signed_in.store.pause.set("eve", "the power goes at one", NOON + timedelta(minutes=1))

    answer = signed_in.client.post("/resume", data=fields)

    assert answer.status_code == 409
    assert "Nothing was lifted. Now: Paused by eve" in text(answer.text)
    assert signed_in.store.pause.get() is not None
    assert send(signed_in.client, "/resume", reason="x").status_code == 303


def test_a_second_pause_is_told_that_the_first_one_stands(signed_in: Web) -> None:
    signed_in.store.pause.set("bob", "a shelf moves", NOON)

    answer = send(signed_in.client, "/pause", reason="the power goes at one")

    assert answer.status_code == 409
    assert "a shelf moves. That pause stands, and this one was not added" in text(answer.text)


def test_a_refused_order_shows_the_domains_sentence(signed_in: Web) -> None:
    page = put(signed_in, repair_at("reset"))
    with pytest.raises(OrderRefusedError) as refused:
        give(_stored(signed_in), "approve", actor="", reason="", now=NOON)

    for answer in (signed_in.client.get(f"{page}/approve"), signed_in.client.post(f"{page}/approve")):
        assert answer.status_code == 409
        assert str(refused.value) in text(answer.text)


def test_an_order_given_twice_is_refused_the_second_time(signed_in: Web) -> None:
    page = put(signed_in, _asking())
    fields = {**hidden(signed_in.client.get(f"{page}/approve").text), "reason": "x"}

    assert signed_in.client.post(f"{page}/approve", data=fields).status_code == 303
    assert signed_in.client.post(f"{page}/approve", data=fields).status_code == 409


@pytest.mark.parametrize("path", ["/operations/op-1/approve", "/pause", "/resume"])
def test_a_stranger_orders_nothing(web: Web, path: str) -> None:
    put(web, _asking())

    for answer in (web.client.get(path), web.client.post(path, data={"reason": "x"})):
        assert answer.status_code == 401
        assert f'href="/sign-in?onward={path}"' in answer.text
    assert _stored(web).version == 1
    assert web.store.pause.get() is None


@pytest.mark.parametrize("proof", [None, "", "x", "WyJhbmEiXQ.x"])
def test_a_form_of_another_site_orders_nothing(signed_in: Web, proof: str | None) -> None:
    page = put(signed_in, _asking())
    fields = {"reason": "x", "about": "reset"} | ({} if proof is None else {"proof": proof})

    for path in (f"{page}/approve", "/pause", "/sign-out"):
        assert signed_in.client.post(path, data=fields).status_code == 403
    assert _stored(signed_in).version == 1


def test_a_form_that_the_browser_says_is_foreign_orders_nothing(signed_in: Web) -> None:
    fields = {**hidden(signed_in.client.get("/pause").text), "reason": "x"}

    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 303)):
        answer = signed_in.client.post("/pause", data=fields, headers={"Sec-Fetch-Site": site})
        assert answer.status_code == status


def test_a_form_is_good_today_and_tomorrow_and_then_too_old(signed_in: Web) -> None:
    fields = {**hidden(signed_in.client.get("/pause").text), "reason": "x"}
    for after, status in ((timedelta(days=1), 303), (timedelta(days=1), 403)):
        signed_in.clock.forward(after)
        sign_in(signed_in.client)
        assert signed_in.client.post("/pause", data=fields).status_code == status


def test_pause_and_resume_have_pages_that_say_what_they_do(signed_in: Web) -> None:
    assert 'href="/pause"' in signed_in.client.get("/").text
    assert "No step that hurts begins on any node" in signed_in.client.get("/pause").text

    assert send(signed_in.client, "/pause", reason="a shelf moves").status_code == 303
    paused = text(signed_in.client.get("/").text)
    assert "Paused by ana (api token) since 2026-09-20 12:00 UTC: a shelf moves." in paused
    assert 'href="/resume"' in signed_in.client.get("/").text
    put(signed_in, replace(repair_at("reset"), state=State.HELD))

    asked = text(signed_in.client.get("/resume").text)
    assert "a shelf moves" in asked
    assert "1 operation in progress or held" in asked
    assert send(signed_in.client, "/resume", reason="done").status_code == 303
    assert signed_in.store.pause.get() is None
    assert ("steady", "workers.jobs.advance", ["op-1"]) in signed_in.jobs()


def test_a_pause_without_a_reason_is_asked_again(signed_in: Web) -> None:
    assert send(signed_in.client, "/pause", reason=" ").status_code == 400
    assert signed_in.store.pause.get() is None


def test_a_large_form_is_refused(signed_in: Web) -> None:
    assert send(signed_in.client, "/pause", reason="x" * 20_000).status_code == 413


def test_a_signed_in_page_keeps_its_etag_all_day(signed_in: Web) -> None:
    page = put(signed_in, _asking())
    for path in (page, "/"):
        etag = signed_in.client.get(path).headers["ETag"]
        assert signed_in.client.get(path, headers={"If-None-Match": etag}).status_code == 304


def test_a_page_with_a_form_is_never_swapped_under_the_hands_of_who_fills_it(signed_in: Web) -> None:
    page = put(signed_in, _asking())

    for path, still in ((f"{page}/approve", True), ("/pause", True), ("/sign-in", True), ("/", False), (page, False)):
        assert ('<main id="main" data-still>' in signed_in.client.get(path).text) is still


def test_a_ticket_is_linked_only_if_its_address_is_one_of_the_web(make_web: Callable[..., Web]) -> None:
    for url, linked in (("https://desk.example/HW-482", True), ("javascript:alert(1)", False), ("", False)):
        web = make_web()
        web.store.operations._link._redis.flushall()
        page = put(
            web,
            replace(repair_at("reset"), state=State.WITH_VENDOR, ticket=TicketRef(system="x", key="HW-482", url=url)),
        )
        for path in ("/", page):
            html = web.client.get(path).text
            assert "HW-482" in html
            assert (f'href="{url}" rel="noopener noreferrer"' in html) is linked
            assert "javascript:" not in html
        assert web.api("operations/op-1")["ticket"] == {"system": "x", "key": "HW-482", "url": url or None}


# What is offered, as a pure decision.


def test_every_step_of_every_plan_has_its_words() -> None:
    steps = {step for steps in repair.RUNGS.values() for step in steps}
    steps |= {*repair.UNDOES, *repair.VALIDATION, *repair.LIGHT_VALIDATION, repair.RELEASE, repair.WAIT}
    steps |= {"cordon", "evidence", "drain"}

    assert set(STEPS) == steps


@pytest.mark.parametrize("asks", [*QUESTIONS, "drain", "reset", "reboot"])
def test_an_approval_names_node_and_effect(asks: str) -> None:
    (approval,) = (one for one in choices(_asking(asks), NOON) if one.order == "approve")

    assert approval.label.startswith("Approve ")
    assert "gpu-a01" in approval.effect
    assert (approval.about, approval.main, approval.typed) == (asks, True, False)


@pytest.mark.parametrize("state", [StepState.PENDING, StepState.RUNNING, StepState.WAITING])
@pytest.mark.parametrize(
    "step", ["cordon", "drain", "pause-operands", "reset", "restore-operands", "diagnose", "release"]
)
def test_only_what_the_domain_would_take_is_offered_and_about_the_same_step(step: str, state: StepState) -> None:
    operation = repair_at(step, state)
    offered = {one.order: one for one in choices(operation, NOON)}

    for order in ORDERS:
        try:
            _, (entry, *_) = give(operation, order, actor="", reason="x", now=NOON)
        except OrderRefusedError:
            assert order not in offered
        else:
            assert order in offered
            if order in {"retry", "skip"}:
                assert offered[order].about.rpartition("/")[2] in entry.text


def test_a_step_that_failed_is_what_a_retry_is_about() -> None:
    plan = (
        PlannedStep(step="cordon", **DONE),
        PlannedStep(step="drain", **DONE | {"state": StepState.FAILED}),
        PlannedStep(step="release", state=StepState.SKIPPED),
    )
    operation = replace(repair_at("reset"), plan=plan, state=State.NEEDS_HUMAN)

    found = tried(operation)
    assert found is not None
    assert found.step == "drain"
    assert tried(replace(operation, plan=plan[:1])) is None
