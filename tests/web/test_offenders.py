"""GET /api/v1/gpus/<card> and /offenders: what a card's faults add up to, and what makes the list."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from app.domain.faults import Gpu
from app.domain.history import HistoryRow
from app.domain.triage import Decision
from app.store import AlertRecord
from tests.web.conftest import NOON, Web

DAY = timedelta(days=1)


def file(web: Web, serial: str, *days_ago: float, code: str = "xid-79", class_: str = "reboot", **what: Any) -> None:
    """Faults of this card on gpu-a01, so many days ago, as alerts leave them behind."""
    gpu = Gpu(serial=serial, uuid=f"GPU-{serial}", index=3)
    for ago in days_ago:
        at = NOON - ago * DAY
        told = {"gpu": gpu, "node": "gpu-a01", "evidence": "Xid 79", **what}
        row = HistoryRow(**{**told, "code": code, "class_": class_, "at": at})
        record = AlertRecord(at=at, name="x", fingerprint="f", status="firing", decision=Decision.NOTE, reason="x")
        assert web.store.alerts.note(record, f"{serial}-{code}-{ago}", (row,), now=web.clock.now)


def test_a_card_tells_its_faults_with_what_each_adds(web: Web) -> None:
    file(web, "165", 22, 8, 1)
    file(web, "165", 2, code="xid-31", class_="application")
    file(web, "165", 3, code="xid-119", class_="reset", own_act="pause-operands")

    told = web.api("gpus/165")

    assert (told["score"], told["limit"]) == (3.0, 3.0)
    assert told["offender"] == "Serial 165 has had 3 faults in 21 days on gpu-a01, at the limit of 3.0."
    assert [(row["code"], row["weight"], row["own_act"]) for row in told["history"]] == [
        ("xid-79", 1.0, None),
        ("xid-31", 0.0, None),
        ("xid-119", 0.0, "pause-operands"),
        ("xid-79", 1.0, None),
        ("xid-79", 1.0, None),
    ]


def test_a_short_answer_is_judged_by_the_whole_history(web: Web) -> None:
    file(web, "165", 22, 8, 1)

    told = web.api("gpus/165?limit=1")

    assert (len(told["history"]), told["score"]) == (1, 3.0)


def test_offenders_are_listed_worst_first(web: Web) -> None:
    file(web, "1", 1, 2, 3)
    file(web, "2", 1, 2, 3, 4)
    file(web, "3", 1, 2)
    file(web, "4", *range(20), code="xid-31", class_="application")
    file(web, "5", 31, 32, 33)

    told = web.api("offenders")

    assert [one["gpu"]["serial"] for one in told["offenders"]] == ["2", "1"]
    assert told["offenders"][1] == {
        "gpu": {"serial": "1", "uuid": "GPU-1", "index": 3},
        "score": 3.0,
        "faults": 3,
        "nodes": ["gpu-a01"],
        "last_at": "2026-09-19T12:00:00.000000Z",
        "reason": "Serial 1 has had 3 faults in 2 days on gpu-a01, at the limit of 3.0.",
    }
    assert (told["more"], told["limit"], told["window_s"]) == (False, 3.0, 30 * 86_400)


def test_all_of_them_are_told_on_request_also_below_the_limit(web: Web) -> None:
    file(web, "1", 1, 2, 3)
    file(web, "3", 1, 2)
    file(web, "4", 1, code="xid-31", class_="application")

    told = web.api("offenders?all=true")

    assert [(one["gpu"]["serial"], one["score"], one["reason"] is None) for one in told["offenders"]] == [
        ("1", 3.0, False),
        ("3", 2.0, True),
    ]
    assert [one["gpu"]["serial"] for one in web.api("offenders?all=true&limit=1")["offenders"]] == ["1"]
    assert web.api("offenders?all=true&limit=1")["more"] is True


def test_two_gpus_of_one_serial_are_two_cards(web: Web) -> None:
    for place in range(4):
        file(web, "900", place + 0.0, gpu=Gpu(serial="900", uuid=f"GPU-{place % 2}"), code=f"xid-{79 + place % 2}")

    assert web.api("offenders")["offenders"] == []
    assert {one["gpu"]["uuid"]: one["score"] for one in web.api("offenders?all=true")["offenders"]} == {
        "GPU-0": 2.0,
        "GPU-1": 2.0,
    }


@pytest.mark.parametrize(("query", "told"), [("all=yes", "'yes' is no all"), ("limit=0", "limit must be a whole")])
def test_a_wrong_question_is_refused(web: Web, query: str, told: str) -> None:
    answer = web.client.get(f"/api/v1/offenders?{query}")

    assert answer.status_code == 400
    assert answer.json is not None
    assert told in answer.json["detail"]


def test_a_fleet_without_faults_has_no_offenders(web: Web) -> None:
    assert web.api("offenders")["offenders"] == []
