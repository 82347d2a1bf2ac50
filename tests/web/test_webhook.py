"""POST /webhook/alertmanager at its door: who is let in, what is a message, and what is answered."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis
from structlog.testing import capture_logs

from app.store.keys import KEYS
from tests.web.conftest import API_TOKEN, TOKEN, Web, alert, body, decisions, gpu_node


def test_an_alert_about_a_known_node_opens_an_operation(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))

    answer = web.post(body(alert()))

    assert answer.status_code == 202
    operation = answer.json["alerts"][0]["operation"]
    assert answer.json == {
        "accepted": 1,
        "pending": 0,
        "noted": 0,
        "ignored": 0,
        "duplicates": 0,
        "refused": 0,
        "alerts": [
            {
                "fingerprint": "gpu-a01-79-3",
                "decision": "repair",
                "reason": "Xid 79, GPU has fallen off the bus: class reboot.",
                "operation": operation,
            }
        ],
    }
    assert web.jobs() == [("urgent", "workers.jobs.advance", [operation])]


def test_each_alert_is_answered_in_the_order_of_the_message(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))
    message = body(
        alert(xid="31", fingerprint="noted"),
        alert(xid="79", fingerprint="repaired", startsAt="2026-09-20T11:00:00Z"),
        alert(node="nowhere", fingerprint="put off", startsAt="2026-09-20T10:00:00Z"),
        "no alert",
        alert(fingerprint="ignored", labels={"alertname": "KubePodCrashLooping"}),
    )

    answer = web.post(message)

    assert [one["fingerprint"] for one in answer.json["alerts"]] == ["noted", "repaired", "put off", "", "ignored"]
    assert decisions(answer) == ["note", "repair", "pending", "refuse", "ignore"]
    assert {name: answer.json[name] for name in answer.json if name != "alerts"} == {
        "accepted": 1,
        "pending": 1,
        "noted": 1,
        "ignored": 1,
        "duplicates": 0,
        "refused": 1,
    }


def test_one_body_makes_one_job_a_queue_and_names_an_operation_once(web: Web) -> None:
    web.know(gpu_node("gpu-a01"), gpu_node("gpu-a02"))
    answer = web.post(body(alert(), alert(gpu="4"), alert(node="gpu-a02"), alert(node="gpu-x", startsAt="")))

    first, _, third, _ = (one["operation"] for one in answer.json["alerts"])
    pending = [waiting for waiting, _ in web.store.pending.since()]
    assert web.jobs() == [
        ("urgent", "workers.jobs.advance", [first, third]),
        ("urgent", "workers.jobs.place", pending),
    ]


@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN + "x", TOKEN[:-1], API_TOKEN, "tökén"])
def test_a_wrong_token_opens_nothing(web: Web, token: str | None) -> None:
    web.know(gpu_node("gpu-a01"))

    answer = web.post(body(alert()), token=token)

    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert answer.content_type == "application/problem+json"
    assert web.api("operations")["operations"] == []


NEW, OLD = "the-new-long-token", "the-old-long-token"


def test_two_tokens_are_valid_while_one_takes_the_place_of_the_other(web: Web) -> None:
    web.tokens.write_text(f"{NEW}\n{OLD}\n")
    assert [web.post(body(), token=token).status_code for token in (NEW, OLD, TOKEN)] == [202, 202, 401]

    web.tokens.write_text(f"{NEW}\n")
    assert [web.post(body(), token=token).status_code for token in (NEW, OLD)] == [202, 401]


def test_a_token_file_that_is_gone_asks_alertmanager_to_come_again(web: Web) -> None:
    web.tokens.unlink()

    answer = web.post(body(alert()))

    assert answer.status_code == 503
    assert str(web.tokens) not in answer.text


@pytest.mark.parametrize(
    ("raw", "told", "pointer"),
    [
        (b"", "The body is not JSON.", None),
        (b"{", "The body is not JSON.", None),
        (b"\xff\xfe", "The body is not JSON.", None),
        (b'{"version": "4", "alerts": ' + b"[" * 200_000, "The body is not JSON.", None),
        (b'{"version": "4", "alerts": [{"labels": NaN}]}', "The body is not JSON.", None),
        (b"null", "The body is no message of Alertmanager.", None),
        (b"[]", "The body is no message of Alertmanager.", None),
        (b'{"version": "4"}', "The body is no message of Alertmanager.", "/alerts"),
        (b'{"version": "4", "alerts": {}}', "The body is no message of Alertmanager.", "/alerts"),
        (b'{"version": "4", "alerts": "none"}', "The body is no message of Alertmanager.", "/alerts"),
        (b'{"alerts": []}', 'version must be "4" or "1", not None', "/version"),
        (b'{"version": "3", "alerts": []}', 'version must be "4" or "1", not \'3\'', "/version"),
        (b'{"version": 4, "alerts": []}', "not 4", "/version"),
        (b'{"version": {"x": 1}, "alerts": []}', "not {'x': 1}", "/version"),
    ],
)
def test_what_is_no_message_is_refused_with_the_place_that_is_wrong(
    web: Web, raw: bytes, told: str, pointer: str | None
) -> None:
    answer = web.post(raw)

    assert answer.status_code == 400
    assert answer.content_type == "application/problem+json"
    assert (answer.json["status"], answer.json["instance"]) == (400, "/webhook/alertmanager")
    assert told in answer.json["detail"]
    assert (answer.json["errors"][0]["pointer"] if pointer else answer.json.get("errors")) == pointer


@pytest.mark.parametrize(
    "message",
    [
        {"version": "4", "alerts": []},
        {"version": "4", "alerts": None},
        {"version": "4", "alerts": [], "truncatedAlerts": None},
        {"version": "4", "alerts": [], "truncatedAlerts": "many", "receiver": 7, "routeLabels": []},
        {"version": "1", "alerts": [], "orgId": 1, "title": "t", "state": "ok", "message": "m"},
    ],
)
def test_an_empty_message_is_fine_whatever_else_stands_in_it(web: Web, message: dict[str, Any]) -> None:
    answer = web.post(message)

    assert answer.status_code == 202
    assert answer.json["alerts"] == []


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("null", "An alert must be an object, not null."),
        ("7", "An alert must be an object"),
        ("[]", "An alert must be an object"),
        ("{}", "An alert must have labels"),
        ('{"labels": {"alertname": 7}, "status": "firing"}', "An alert must have labels"),
        ('{"labels": {"alertname": "GPUXid"}, "status": "on"}', "Status must be firing or resolved, not 'on'."),
        ('{"labels": {"alertname": "\\ud800"}, "status": "firing"}', "The alert cannot be decoded"),
        ('{"labels": {"a": "' + "x" * 70_000 + '"}, "status": "firing"}', "is beyond the limit of 65536"),
        ("[" * 900 + "]" * 900, ""),
    ],
)
def test_one_bad_alert_never_spoils_its_siblings(web: Web, bad: str, told: str) -> None:
    web.know(gpu_node("gpu-a01"))
    raw = f'{{"version": "4", "alerts": [{bad}, {json.dumps(alert())}]}}'.encode()

    answer = web.post(raw)

    assert decisions(answer) == ["refuse", "repair"]
    assert told in answer.json["alerts"][0]["reason"]
    assert {record["decision"] for record in web.api("alerts")["alerts"]} == {"repair", "refuse"}


def test_bytes_that_are_no_text_spoil_one_alert_alone(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))
    good, bad = json.dumps(alert()).encode(), json.dumps(alert(fingerprint="?")).encode().replace(b"?", b"\xff")

    answer = web.post(b'{"version": "4", "alerts": [' + bad + b"," + good + b"]}")

    assert decisions(answer) == ["refuse", "repair"]


def _redis(web: Web) -> Redis:
    return web.store._link._redis


@pytest.mark.parametrize("document", ['{"v": 999}', '{"v": 1}', "no document"])
def test_an_operation_that_cannot_be_read_keeps_no_other_alert_out(web: Web, document: str) -> None:
    web.know(gpu_node("gpu-a01"), gpu_node("gpu-a02"))
    stuck = web.post(body(alert())).json["alerts"][0]["operation"]
    kept = str(_redis(web).hget(KEYS["operation"] + stuck, "document"))
    _redis(web).hset(KEYS["operation"] + stuck, "document", document)
    message = body(alert(gpu="4", startsAt="2026-09-20T11:00:00Z"), alert(node="gpu-a02"))

    first = web.post(message)

    assert first.status_code == 503
    (behind,) = web.api("operations")["operations"]
    assert behind["node"]["name"] == "gpu-a02"
    assert web.jobs()[-1] == ("urgent", "workers.jobs.advance", [behind["id"]])
    _redis(web).hset(KEYS["operation"] + stuck, "document", kept)
    assert decisions(web.post(message)) == ["repair", "duplicate"]


def test_an_operation_that_never_keeps_still_keeps_no_other_alert_out(web: Web) -> None:
    web.know(gpu_node("gpu-a01"), gpu_node("gpu-a02"))
    _redis(web).hset(KEYS["on_node"], "gpu-a01", "op-gone")

    answer = web.post(body(alert(), alert(node="gpu-a02")))

    assert answer.status_code == 503
    assert "The operation on gpu-a01 changed 20 times" in answer.json["detail"]
    assert [one["node"]["name"] for one in web.api("operations")["operations"]] == ["gpu-a02"]


def test_a_store_that_takes_nothing_is_not_asked_for_each_alert(web: Web) -> None:
    web.know(gpu_node("gpu-a01"), gpu_node("gpu-a02"))
    _redis(web).config_set("maxmemory", 1)
    try:
        with capture_logs() as logs:
            answer = web.post(body(alert(), alert(node="gpu-a02")))
    finally:
        _redis(web).config_set("maxmemory", 0)

    assert answer.status_code == 503
    (told,) = [entry for entry in logs if entry["event"] == "body not stored whole"]
    assert (told["stored"], told["failed"], told["alerts"]) == (0, 1, 2)


def test_a_body_beyond_the_limit_is_refused_and_one_at_the_limit_taken(make_web: Callable[..., Web]) -> None:
    raw = json.dumps(body(alert())).encode()
    assert make_web(body_limit=len(raw)).post(raw).status_code == 202

    answer = make_web(body_limit=len(raw) - 1).post(raw)

    assert answer.status_code == 413
    assert answer.json["detail"] == f"The body is larger than {len(raw) - 1} bytes, the limit here."


def test_a_stranger_is_turned_away_before_his_body_is_looked_at(make_web: Callable[..., Web]) -> None:
    assert make_web(body_limit=10).post(b"x" * 1000, token="wrong").status_code == 401


def test_only_post_is_for_the_webhook(web: Web) -> None:
    answer = web.client.get("/webhook/alertmanager")

    assert answer.status_code == 405
    assert set(answer.headers["Allow"].split(", ")) == {"OPTIONS", "POST"}
    assert answer.content_type == "application/problem+json"


def test_what_alertmanager_left_out_is_counted(web: Web) -> None:
    web.post(body(truncatedAlerts=9995))

    assert "sickbay_alerts_truncated_total 9995.0" in web.client.get("/metrics").text
