from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.effects import OpenTicket, RemoveNodeJob, TicketDraft
from app.domain.faults import Gpu
from app.domain.history import HistoryRow
from app.domain.operations import Operation
from app.domain.plans.planned import PlannedStep, StepState
from app.domain.policies import ClusterName, Tickets
from app.domain.tickets import (
    BODY_LIMIT,
    FIELD_LIMIT,
    SHOWN,
    TITLE_LIMIT,
    TicketIntent,
    blamed,
    cause_key,
    causes,
    comment,
    draft,
    intent_of,
    ticket_key,
)
from tests.building import a_case, a_fault, a_policy, an_operation, at

KNOWN = Gpu(serial="1650323001234", uuid="GPU-8f6d", index=3)


def about(*gpus: Gpu | None) -> Operation:
    """An operation whose faults name these."""
    faults = tuple(a_fault(gpu=gpu, code=f"xid-{79 + place}") for place, gpu in enumerate(gpus))
    return an_operation(faults=faults)


def tried(operation: Operation, *steps: PlannedStep) -> Operation:
    return replace(operation, plan=(*operation.plan, *steps))


def over(step: str, state: StepState, reason: str, *, rung: str = "reboot") -> PlannedStep:
    return PlannedStep(step=step, rung=rung, state=state, attempt=1, finished_at=at(30), reason=reason)


def row(**fields: object) -> HistoryRow:
    given = {"gpu": KNOWN, "node": "gpu-b07", "code": "xid-48", "class_": "reset", "at": at(-60), "evidence": "Xid 48"}
    return HistoryRow(**{**given, **fields})  # type: ignore[arg-type]  # one mapping of several types


@pytest.mark.parametrize(
    ("gpus", "key"),
    [
        ((KNOWN,), "main:serial:1650323001234"),
        ((Gpu(uuid="GPU-8f6d", index=3),), "main:uuid:GPU-8f6d"),
        ((Gpu(index=3),), "main:node:gpu-a01"),
        ((None,), "main:node:gpu-a01"),
        ((None, Gpu(index=1), KNOWN), "main:serial:1650323001234"),
        ((Gpu(serial="7"), KNOWN), "main:serial:7"),
    ],
)
def test_a_cause_is_the_card_by_serial_or_uuid_and_else_the_node(gpus: tuple[Gpu | None, ...], key: str) -> None:
    assert cause_key("main", about(*gpus)) == key


def test_a_card_known_by_serial_is_also_looked_for_under_its_uuid() -> None:
    assert causes("main", about(KNOWN)) == ("main:serial:1650323001234", "main:uuid:GPU-8f6d")


def test_a_serial_that_several_gpus_report_is_no_cause_where_a_uuid_tells_them_apart() -> None:
    assert causes("main", about(KNOWN), shared=True) == ("main:uuid:GPU-8f6d",)
    assert causes("main", about(Gpu(serial="7")), shared=True) == ("main:serial:7",)


def test_two_clusters_never_share_a_ticket() -> None:
    case = a_case("duplicate_tickets")
    ours = cause_key("main", about(Gpu(serial=case["same_key"])))
    other = case["other_cluster_same_serial_label"]
    theirs = cause_key(other["cluster"], about(Gpu(serial=case["same_key"])))
    assert ours != theirs
    assert other["cluster"] in theirs


@given(st.text(max_size=400), st.text(min_size=1, max_size=400))
def test_a_key_may_stand_in_a_path_a_header_and_a_file_whatever_a_label_holds(cluster: str, serial: str) -> None:
    key = cause_key(cluster, about(Gpu(serial=serial)))
    assert re.fullmatch(r"[A-Za-z0-9._~%:-]+", key)
    assert len(key) <= 300


@given(st.text(min_size=1, max_size=400), st.text(min_size=1, max_size=400))
def test_different_serials_have_different_keys(one: str, other: str) -> None:
    same = one.encode(errors="replace") == other.encode(errors="replace")
    assert (cause_key("main", about(Gpu(serial=one))) == cause_key("main", about(Gpu(serial=other)))) is same


def test_the_first_ticket_of_a_cause_has_its_key_and_later_ones_a_number() -> None:
    assert [ticket_key("main:serial:7", number) for number in (1, 2, 3)] == [
        "main:serial:7",
        "main:serial:7:2",
        "main:serial:7:3",
    ]


def test_only_an_effect_that_opens_a_ticket_is_written_down_before_it() -> None:
    told = TicketDraft(key="k", title="", body_markdown="", fields={})
    opens = OpenTicket(key="k", cause="main:serial:7", number=2, draft=told)
    other = RemoveNodeJob(key="r", name="r")
    operation = an_operation()
    expected = TicketIntent(cause="main:serial:7", number=2, operation="op-1", at=at(5))
    assert intent_of((other, opens), operation, at(5)) == expected
    assert intent_of((other,), operation, at(5)) is None


def test_a_ticket_tells_what_where_why_what_was_tried_and_how_to_hand_back() -> None:
    operation = tried(
        about(KNOWN),
        over("reboot", StepState.DONE, "Rebooted: a new boot id, Ready, 8 GPUs back after 6 min."),
        over("diagnose", StepState.FAILED, "GPU 3 failed memory"),
        over("benchmark", StepState.SKIPPED, ""),
        over("benchmark", StepState.FAILED, "363.2 GB/s, 25 % below its peers.", rung="power-cycle"),
    )
    told = draft(operation, (row(),), a_policy())
    assert told.key == "main:serial:1650323001234"
    assert told.title == "GPU 3 (serial 1650323001234) of gpu-a01 (main) needs hardware service: xid-79"
    assert told.fields == {
        "cluster": "main",
        "node": "gpu-a01",
        "gpu_serial": "1650323001234",
        "gpu_uuid": "GPU-8f6d",
        "gpu_index": "3",
        "faults": "xid-79",
        "operation": "op-1",
    }
    for words in (
        "* Cluster: main",
        "* Node: gpu-a01",
        "* GPU index: 3",
        "* GPU serial: 1650323001234",
        "* GPU UUID: GPU-8f6d",
        "close this ticket",
        "* 2026-09-20 10:00 UTC, xid-79: xid-79 on GPU 3. (alert GpuXid)",
        "reboot (rung reboot): done. Rebooted: a new boot id, Ready, 8 GPUs back after 6 min.",
        "diagnose (rung reboot): failed. GPU 3 failed memory.",
        "## Bandwidth\n\n363.2 GB/s, 25 % below its peers.",
        "* 2026-09-20 09:00 UTC, gpu-b07, xid-48: Xid 48.",
        "operation op-1",
    ):
        assert words in told.body_markdown
    assert "skipped" not in told.body_markdown


def test_a_ticket_about_a_node_says_that_no_card_is_to_blame_and_that_nothing_was_tried() -> None:
    told = draft(about(None), (), a_policy(), key="main:node:gpu-a01:2")
    assert told.key == "main:node:gpu-a01:2"
    assert told.title == "gpu-a01 (main) needs hardware service: xid-79"
    assert set(told.fields) == {"cluster", "node", "faults", "operation"}
    for words in ("no single one is to blame", "software cannot repair", "Not measured.", "No single GPU is to blame."):
        assert words in told.body_markdown


def test_a_card_without_a_known_past_or_index_says_so() -> None:
    told = draft(about(Gpu(uuid="GPU-8f6d")), (), a_policy())
    assert "Nothing is known of it." in told.body_markdown
    assert "GPU index" not in told.body_markdown
    assert told.title.startswith("GPU of gpu-a01")


@pytest.mark.parametrize("allowed", [True, False])
def test_workloads_are_named_only_where_policy_allows_it(allowed: bool) -> None:
    operation = an_operation(at_step="reboot")
    plan = tuple(
        replace(step, memo={**step.memo, "pods": "secret-project/train-0"}, reason="1 pod (secret-project/train-0).")
        if step.step in {"evidence", "drain"}
        else step
        for step in operation.plan
    )
    told = draft(replace(operation, plan=plan), (), a_policy(tickets=Tickets(workloads=allowed)))
    assert ("secret-project/train-0" in told.body_markdown) is allowed


def test_an_operation_without_evidence_names_no_workloads() -> None:
    told = draft(replace(about(KNOWN), plan=()), (), a_policy(tickets=Tickets(workloads=True)))
    assert "Work that was" not in told.body_markdown


def test_foreign_text_shows_as_it_is_and_means_nothing() -> None:
    evidence = "see [here](http://evil) <script>alert(1)</script> `x` **b** | # no\n# heading\x00\u202e"
    told = draft(an_operation(a_fault(evidence=evidence, gpu=KNOWN)), (), a_policy())
    assert "\n# heading" not in told.body_markdown
    assert "<script>" not in told.body_markdown.replace("\\<", "")
    assert r"\[here\](http://evil)" in told.body_markdown
    assert "\x00" not in told.body_markdown
    assert "\u202e" not in told.body_markdown


def test_title_body_and_fields_are_cut_after_they_are_made() -> None:
    faults = tuple(a_fault(f"xid-{n}", gpu=KNOWN, evidence="é*" * 2000) for n in range(60))
    policy = a_policy(cluster=ClusterName(name="c" * 300))
    told = draft(an_operation(faults=faults), tuple(row() for _ in range(50)), policy)
    assert len(told.title) <= TITLE_LIMIT
    assert told.title.endswith("…")
    assert len(told.body_markdown) <= BODY_LIMIT
    assert told.body_markdown.endswith("The rest is left out: the ticket would be too long.\n")
    assert max(len(value) for value in told.fields.values()) <= FIELD_LIMIT
    assert "How to hand the node back" in told.body_markdown


def test_long_lists_say_how_much_is_left_out() -> None:
    faults = tuple(a_fault(f"xid-{n}", gpu=KNOWN) for n in range(SHOWN + 3))
    told = draft(an_operation(faults=faults), tuple(row() for _ in range(SHOWN + 1)), a_policy())
    assert "* and 3 faults more" in told.body_markdown
    assert "* and 1 row more" in told.body_markdown


def test_a_step_without_a_time_is_told_without_one() -> None:
    step = replace(over("reset", StepState.DONE, "GPU 3 was reset."), finished_at=None)
    assert (
        "* reset (rung reboot): done. GPU 3 was reset."
        in draft(tried(about(KNOWN), step), (), a_policy()).body_markdown
    )


def test_a_comment_is_the_same_text_however_often_it_is_made() -> None:
    operation = about(KNOWN, KNOWN)
    told = comment(operation)
    assert told == comment(replace(operation, version=9, next_check_at=at(9) + timedelta(minutes=1)))
    assert (
        told
        == "xid-79, xid-80 on gpu-a01 is about the same hardware: operation op-1 of Sickbay waits for this ticket too."
    )


def test_the_blamed_card_is_the_first_that_is_known_by_name() -> None:
    assert blamed(about(Gpu(index=0), KNOWN)) == KNOWN
    assert blamed(about(None)) is None
