"""A tripped breaker over HTTP: it is told everywhere in one sentence, and a resume judges what is true now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from app.domain.breaker import Opened
from app.domain.operations import Operation, State, begin, hold
from app.domain.outcomes import Act
from app.domain.policies import Mode
from app.store import Change, Committed, FellIll
from tests.web.conftest import POLICY, Web, alert, body, gpu_node

NODES = [f"gpu-a0{number}" for number in range(6)]


def mass_failure(web: Web) -> list[Operation]:
    """Six nodes fall ill within a minute, and all that is done about it is that the breaker trips and holds them."""
    web.know(*(gpu_node(name) for name in NODES))
    answer = web.post(body(*(alert(node=name) for name in NODES)))
    found = []
    for one in answer.json["alerts"]:
        operation = web.store.operations.load(one["operation"])
        assert operation is not None
        opened = Opened(node=operation.node.name, at=web.clock.now, code="xid-79")
        held, entries = hold(operation, "The breaker.", now=web.clock.now, after=timedelta(minutes=2))
        found.append(commit(web, held, ill=FellIll(opened, POLICY.breaker), entries=entries))
    return found


def commit(web: Web, operation: Operation, **what: object) -> Operation:
    change = Change(operation=operation, expected_version=operation.version, now=web.clock.now, **what)  # type: ignore[arg-type]
    result = web.store.operations.commit(change)
    assert isinstance(result, Committed)
    return replace(operation, version=result.version)


def resolve(web: Web, *names: str) -> None:
    web.post(body(*(alert(node=name, status="resolved", endsAt="2026-09-20T12:05:00Z") for name in names)))


def states(web: Web, operations: Sequence[Operation]) -> list[tuple[str, str | None]]:
    found = [web.api(f"operations/{operation.id}") for operation in operations]
    return [(one["state"], one["result"]) for one in found]


def test_it_is_told_until_a_resume_lifts_it(web: Web) -> None:
    assert web.api("pause") == {"paused": False, "sentence": None, "breaker": None, "about": ""}
    mass_failure(web)
    told = "The breaker has tripped: 6 of 6 nodes fell ill with xid-79 within 1 min, and the limit is 3."
    assert web.api("pause")["breaker"] == told
    assert web.order("pause", "look at it").json["breaker"] == told
    assert "sickbay_breaker_tripped 1.0" in web.client.get("/metrics").text

    answer = web.order("resume", "the switch is back").json

    assert {name: answer[name] for name in ("paused", "breaker", "was_paused", "had_tripped")} == {
        "paused": False,
        "breaker": None,
        "was_paused": True,
        "had_tripped": True,
    }
    assert web.api("pause") == {"paused": False, "sentence": None, "breaker": None, "about": ""}
    assert "sickbay_breaker_tripped 0.0" in web.client.get("/metrics").text


def test_a_resume_drops_what_is_over_and_looks_at_the_rest_now(web: Web) -> None:
    held = mass_failure(web)
    resolve(web, NODES[0], NODES[1])

    answer = web.order("resume", "the switch is back").json

    assert sorted(answer["dropped"]) == sorted(operation.id for operation in held[:2])
    assert states(web, held) == [("finished", "noted")] * 2 + [("held", None)] * 4
    assert "Its alerts ended while the breaker held it" in web.api(f"operations/{held[0].id}")["reason"]
    queue, function, ids = web.jobs()[-1]
    assert (queue, function) == ("steady", "workers.jobs.advance")
    assert sorted(ids) == sorted(operation.id for operation in held[2:])


def test_an_alert_that_fires_again_is_no_end(web: Web) -> None:
    held = mass_failure(web)
    resolve(web, NODES[0])
    web.post(body(alert(node=NODES[0], startsAt="2026-09-20T12:06:00Z")))

    assert web.order("resume").json["dropped"] == []
    assert states(web, held[:1]) == [("held", None)]


def test_what_was_begun_is_never_dropped(web: Web) -> None:
    """Its node is cordoned: only a proof, or a person, gives it back."""
    held = mass_failure(web)
    begun, _ = begin(held[0], Act((), "Cordons it."), now=web.clock.now)
    commit(web, begun)
    resolve(web, NODES[0])

    assert web.order("resume").json["dropped"] == []


def test_a_resume_after_a_pause_alone_drops_nothing(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))
    web.post(body(alert()))
    web.order("pause")
    resolve(web, "gpu-a01")

    assert web.order("resume").json["dropped"] == []


def test_an_operation_that_only_observes_ends_after_its_time_and_not_now(web: Web) -> None:
    held = mass_failure(web)
    resolve(web, NODES[0])
    observing = replace(POLICY, pools=(replace(POLICY.pools[0], mode=Mode.OBSERVE),))
    web.client.application.extensions["sickbay"] = replace(web.parts, policy=observing)

    assert web.order("resume").json["dropped"] == []
    assert states(web, held[:1]) == [("held", None)]


def test_an_operation_whose_alerts_are_no_longer_remembered_is_kept(web: Web) -> None:
    held = mass_failure(web)
    web.store.alerts._link.ask("DEL", "sickbay:alerts")

    assert web.order("resume").json["dropped"] == []
    assert states(web, held) == [("held", None)] * len(held)


def test_a_resume_that_is_given_twice_does_nothing_more(web: Web) -> None:
    mass_failure(web)
    resolve(web, *NODES)
    assert len(web.order("resume").json["dropped"]) == 6

    answer = web.order("resume").json

    assert (answer["had_tripped"], answer["dropped"]) == (False, [])


@pytest.mark.parametrize("state", [State.NEEDS_HUMAN, State.FINISHED])
def test_what_a_person_has_in_hand_is_left_alone(web: Web, state: State) -> None:
    held = mass_failure(web)
    commit(web, replace(held[0], state=state))
    resolve(web, NODES[0])

    assert held[0].id not in web.order("resume").json["dropped"]


def test_a_resume_is_for_the_pause_that_was_seen_and_for_no_other(web: Web) -> None:
    first = web.order("pause", "a shelf moves").json
    web.order("resume", about=first["about"])
    web.clock.forward(timedelta(minutes=1))
    second = web.order("pause", "the power goes at one").json

    answer = web.order("resume", about=first["about"])

    assert answer.status_code == 409
    assert "Nothing was lifted. Now: Paused by api token since 2026-09-20 12:01 UTC" in answer.json["detail"]
    assert answer.json["standing"]["about"] == second["about"]
    assert web.store.pause.get() is not None
    assert web.order("resume", about=second["about"]).json["was_paused"] is True


def test_a_second_pause_is_refused_and_the_first_one_stands(web: Web) -> None:
    first = web.order("pause", "a shelf moves").json
    web.clock.forward(timedelta(minutes=1))

    second = web.order("pause", "the power goes at one")

    assert second.status_code == 409
    assert second.json["detail"] == (
        "Paused by api token since 2026-09-20 12:00 UTC: a shelf moves. That pause stands, and this one was not added: "
        "whoever resumes would lift both."
    )
    assert second.json["standing"] == first
    again = web.order("pause", "a shelf moves")  # the same once more, after an answer that was lost
    assert (again.status_code, again.json) == (200, first)


def test_a_resume_of_a_pause_closes_no_breaker_that_tripped_since(web: Web) -> None:
    seen = web.order("pause").json["about"]
    mass_failure(web)

    assert web.order("resume", about=seen).status_code == 409
    assert web.store.breaker.tripped() is not None
    assert web.store.pause.get() is not None
