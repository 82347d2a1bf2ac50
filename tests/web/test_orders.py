"""Orders over HTTP: who may give them, what comes of them, and that they stand in the record."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from app.domain.operations import State, ask, hold
from app.store import Change, Committed
from tests.web.conftest import NOON, Web, alert, body, gpu_node

ORDERS = ("approve", "retry", "skip", "cancel", "release")


@pytest.fixture
def opened(web: Web) -> str:
    web.know(gpu_node("gpu-a01"))
    return str(web.post(body(alert())).json["alerts"][0]["operation"])


def _asks(web: Web, operation_id: str) -> None:
    operation = web.store.operations.load(operation_id)
    assert operation is not None
    asked, entries = ask(operation, "Pool gpu asks.", asks="drain", now=web.clock.now)
    change = Change(operation=asked, expected_version=operation.version, now=web.clock.now, entries=entries)
    assert isinstance(web.store.operations.commit(change), Committed)


def test_an_approval_is_stored_with_actor_and_reason_and_told_to_a_worker(web: Web, opened: str) -> None:
    _asks(web, opened)

    answer = web.order(f"operations/{opened}/approve", "the  team\nknows", about="drain")

    assert answer.status_code == 200
    assert (answer.json["state"], answer.json["version"]) == ("running", 3)
    last = answer.json["timeline"][-1]
    assert (last["actor"], last["text"].rstrip(".")) == ("api token", "Approved drain: the team knows")
    assert web.jobs() == [("urgent", "workers.jobs.advance", [opened])] * 2


def test_a_reason_carries_nothing_that_turns_a_terminal_or_a_line_around(web: Web, opened: str) -> None:
    answer = web.order(f"operations/{opened}/cancel", "a\x1b[31mred\u202edrill\u2028Zoë\x00")

    assert answer.json["timeline"][-1]["text"].rstrip(".").endswith("a [31mred drill Zoë")


def test_a_cancelled_operation_that_touched_nothing_is_over_at_once(web: Web, opened: str) -> None:
    answer = web.order(f"operations/{opened}/cancel", "drill")

    assert (answer.json["state"], answer.json["result"]) == ("finished", "cancelled")
    assert web.order(f"operations/{opened}/cancel").status_code == 409


@pytest.mark.parametrize("order", ["approve", "retry", "skip"])
def test_an_order_that_makes_no_sense_now_is_refused_with_the_domains_sentence(
    web: Web, opened: str, order: str
) -> None:
    answer = web.order(f"operations/{opened}/{order}")

    assert answer.status_code == 409
    assert opened in answer.json["detail"]
    assert web.api(f"operations/{opened}")["version"] == 1


@pytest.mark.parametrize("path", [*(f"operations/op-x/{order}" for order in ORDERS), "pause", "resume"])
@pytest.mark.parametrize("token", [None, "wrong", "webhook-token-one"])
def test_no_order_is_taken_without_the_api_token(web: Web, path: str, token: str | None) -> None:
    assert web.order(path, token=token).status_code == 401


def test_without_a_configured_token_no_order_is_taken_at_all(make_web: Callable[..., Web]) -> None:
    answer = make_web(api_tokens=None).order("pause")

    assert answer.status_code == 403
    assert "SICKBAY_API_TOKEN_FILE" in answer.json["detail"]


@pytest.mark.parametrize("reason", ["", "   ", "\x1b\u202e", None, 7, ["x"], "x" * 501])
def test_an_order_needs_a_reason(web: Web, opened: str, reason: object) -> None:
    answer = web.order(f"operations/{opened}/cancel", reason)

    assert answer.status_code == 400
    assert answer.json["errors"][0]["pointer"] == "/reason"


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'"x"', b"null"])
def test_an_order_needs_a_json_object(web: Web, opened: str, raw: bytes) -> None:
    path, headers = f"/api/v1/operations/{opened}/cancel", {"Authorization": "Bearer api-token-number-one"}

    answer = web.client.post(path, data=raw, headers=headers, content_type="application/json")

    assert answer.status_code == 400


def test_an_order_with_a_huge_body_is_refused(web: Web, opened: str) -> None:
    assert web.order(f"operations/{opened}/cancel", "x" * 20_000).status_code == 413


def test_an_unknown_operation_or_order_is_not_found(web: Web, opened: str) -> None:
    assert web.order("operations/op-nix/cancel").status_code == 404
    assert web.order(f"operations/{opened}/cure").status_code == 404


def test_an_order_survives_a_worker_that_commits_at_the_same_moment(make_web: Callable[..., Web]) -> None:
    web = make_web()
    web.know(gpu_node("gpu-a01"))
    operation_id = web.post(body(alert())).json["alerts"][0]["operation"]
    _asks(web, operation_id)
    left = [3]

    def meddling_clock() -> datetime:
        # The clock is read between load and commit: that is where a worker comes in between.
        if left[0]:
            left[0] -= 1
            operation = web.store.operations.load(operation_id)
            assert operation is not None
            change = Change(operation=operation, expected_version=operation.version, now=NOON)
            assert isinstance(web.store.operations.commit(change), Committed)
        return NOON

    answer = make_web(now=meddling_clock).order(f"operations/{operation_id}/approve", about="drain")

    assert answer.status_code == 200
    stored = web.store.operations.load(operation_id)
    assert stored is not None
    assert (stored.approvals, stored.version) == (("drain",), 6)


def test_a_pause_is_told_everywhere_until_resume_which_wakes_what_is_held(web: Web, opened: str) -> None:
    answer = web.order("pause", "a shelf moves")
    assert answer.json["sentence"] == "Paused by api token since 2026-09-20 12:00 UTC: a shelf moves."
    assert answer.json["sentence"] in web.client.get("/").text
    operation = web.store.operations.load(opened)
    assert operation is not None
    held, _ = hold(operation, "Paused.", now=web.clock.now, after=timedelta(minutes=2))
    web.store.operations.commit(Change(operation=held, expected_version=1, now=web.clock.now))

    answer = web.order("resume", "done")

    assert answer.json == {
        "paused": False,
        "sentence": None,
        "breaker": None,
        "about": "",
        "was_paused": True,
        "had_tripped": False,
        "dropped": [],
    }
    assert web.store.pause.get() is None
    assert ("steady", "workers.jobs.advance", [opened]) in web.jobs()
    assert web.store.operations.page(states=(State.HELD,))[0] != []


def test_an_approval_says_of_what_and_of_nothing_else(web: Web, opened: str) -> None:
    _asks(web, opened)
    path = f"operations/{opened}/approve"
    told = web.api(f"operations/{opened}")
    assert (told["asks"], told["orders"]["approve"]) == ("drain", "drain")

    unnamed = web.order(path, version=told["version"])
    assert (unnamed.status_code, unnamed.json["errors"][0]["pointer"]) == (400, "/about")
    assert '{"about": "drain"}' in unnamed.json["detail"]

    other = web.order(path, about="power-cycle")
    assert other.status_code == 409
    assert other.json["detail"] == (
        "gpu-a01 has moved on: this order was for power-cycle, and gpu-a01 asks for drain now. Nothing was ordered. "
        "Now: Pool gpu asks."
    )
    assert (other.json["operation"]["asks"], other.json["operation"]["version"]) == ("drain", 2)
    assert web.api(f"operations/{opened}")["version"] == 2

    assert web.order(path, about="drain").status_code == 200


def test_a_version_alone_is_held_to_the_letter_and_beside_an_aim_it_is_not(web: Web, opened: str) -> None:
    seen = web.api(f"operations/{opened}")
    operation = web.store.operations.load(opened)
    assert operation is not None
    web.store.operations.commit(Change(operation=operation, expected_version=1, now=web.clock.now))

    stale = web.order(f"operations/{opened}/cancel", version=seen["version"])
    assert stale.status_code == 409
    assert "this order was for version 1, and version 2 stands now" in stale.json["detail"]

    about = seen["orders"]["cancel"]
    assert web.order(f"operations/{opened}/cancel", version=seen["version"], about=about).status_code == 200


@pytest.mark.parametrize(
    ("seen", "pointer"), [({"version": "1"}, "/version"), ({"version": True}, "/version"), ({"about": 1}, "/about")]
)
def test_what_was_seen_must_be_of_its_type(web: Web, opened: str, seen: dict[str, object], pointer: str) -> None:
    answer = web.order(f"operations/{opened}/cancel", **seen)  # type: ignore[arg-type]

    assert (answer.status_code, answer.json["errors"][0]["pointer"]) == (400, pointer)


def test_an_order_that_is_refused_says_what_stands_now(web: Web, opened: str) -> None:
    answer = web.order(f"operations/{opened}/approve", about="drain")

    assert answer.status_code == 409
    assert (answer.json["operation"]["id"], answer.json["operation"]["state"]) == (opened, "running")
