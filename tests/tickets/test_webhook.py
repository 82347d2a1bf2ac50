from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import requests
import responses

from app.domain import policies
from app.domain.tickets import TicketRef, TicketState
from app.errors import PermanentPortError, PortError, TemporaryPortError
from tests.tickets.test_contract import DRAFT, KEY
from workers.adapters.tickets.webhook import ANSWER_LIMIT, WebhookTickets

URL = "https://tickets.example/sickbay"
ONE = f"{URL}/main%3Aserial%3A9900000000103"
SECRET = b"new secret"


@pytest.fixture
def net() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock() as mock:
        yield mock


@pytest.fixture
def tickets(tmp_path: Path) -> WebhookTickets:
    secret = tmp_path / "secret"
    secret.write_bytes(SECRET + b"\nold secret\n")
    return WebhookTickets(policies.Tickets(system="webhook", url=f"{URL}/", secret_file=str(secret)), "main cluster")


def told(**fields: str) -> dict[str, str]:
    return {"key": KEY, "url": "https://desk.example/INC-7", "state": "open", **fields}


def test_a_ticket_is_opened_by_a_signed_cloud_event(tickets: WebhookTickets, net: responses.RequestsMock) -> None:
    net.post(URL, json=told(), status=201)
    assert tickets.open(DRAFT) == TicketRef(system="webhook", key=KEY, url="https://desk.example/INC-7")
    sent = net.calls[0].request
    body = sent.body
    assert isinstance(body, bytes)
    assert sent.headers["Content-Type"] == "application/cloudevents+json"
    assert sent.headers["Idempotency-Key"] == KEY
    assert sent.headers["X-Sickbay-Signature"] == f"sha256={hmac.new(SECRET, body, hashlib.sha256).hexdigest()}"
    assert json.loads(body) == {
        "specversion": "1.0",
        "type": "sickbay.ticket.open.v1",
        "source": "sickbay/main%20cluster",
        "id": KEY,
        "subject": KEY,
        "datacontenttype": "application/json",
        "data": {
            "key": KEY,
            "title": DRAFT.title,
            "body_markdown": DRAFT.body_markdown,
            "fields": {"node": "gpu-a01", "gpu_serial": "9900000000103"},
        },
    }


def test_a_question_is_signed_by_its_key(tickets: WebhookTickets, net: responses.RequestsMock) -> None:
    net.get(ONE, json=told())
    assert tickets.find(KEY) == TicketRef(system="webhook", key=KEY, url="https://desk.example/INC-7")
    signature = hmac.new(SECRET, KEY.encode(), hashlib.sha256).hexdigest()
    assert net.calls[0].request.headers["X-Sickbay-Signature"] == f"sha256={signature}"


def test_the_same_comment_has_the_same_id(tickets: WebhookTickets, net: responses.RequestsMock) -> None:
    net.post(URL, status=202)
    ref = TicketRef(system="webhook", key=KEY)
    for text in ("one", "one", "two"):
        tickets.comment(ref, text)
    ids = [json.loads(call.request.body or "")["id"] for call in net.calls]
    assert ids[0] == ids[1] != ids[2]
    assert net.calls[0].request.headers["Idempotency-Key"] == ids[0]


@pytest.mark.parametrize("body", [b"", b"ok", b"[]", b'{"key": 7}', b'{"url": "x"}'])
def test_an_answer_without_a_ticket_is_as_good(
    tickets: WebhookTickets, net: responses.RequestsMock, body: bytes
) -> None:
    net.post(URL, body=body, status=202)
    assert tickets.open(DRAFT) == TicketRef(system="webhook", key=KEY)


@pytest.mark.parametrize(
    ("state", "known"),
    [
        ("open", TicketState.OPEN),
        ("closed", TicketState.CLOSED),
        (" Closed ", TicketState.CLOSED),
        ("resolved", TicketState.UNKNOWN),
        ("", TicketState.UNKNOWN),
    ],
)
def test_only_the_word_closed_closes_it(
    tickets: WebhookTickets, net: responses.RequestsMock, state: str, known: TicketState
) -> None:
    net.get(ONE, json=told(state=state))
    assert tickets.state(TicketRef(system="webhook", key=KEY)) is known


@pytest.mark.parametrize("url", ["javascript:alert(1)", "file:///etc/passwd", "x" * 3000, ""])
def test_only_a_web_address_is_shown_to_people(tickets: WebhookTickets, net: responses.RequestsMock, url: str) -> None:
    net.get(ONE, json=told(url=url))
    found = tickets.find(KEY)
    assert found is not None
    assert found.url == ""


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (301, PermanentPortError),
        (400, PermanentPortError),
        (401, PermanentPortError),
        (403, PermanentPortError),
        (404, PermanentPortError),
        (408, TemporaryPortError),
        (409, TemporaryPortError),
        (422, PermanentPortError),
        (425, TemporaryPortError),
        (429, TemporaryPortError),
        (500, TemporaryPortError),
        (503, TemporaryPortError),
    ],
)
@pytest.mark.parametrize("act", ["open", "find"])
def test_a_refusal_is_temporary_or_permanent_and_says_the_systems_words(
    tickets: WebhookTickets, net: responses.RequestsMock, code: int, kind: type[PortError], act: str
) -> None:
    if act == "find" and code == 404:
        net.get(ONE, status=404)
        assert tickets.find(KEY) is None
        return
    net.add("POST" if act == "open" else "GET", URL if act == "open" else ONE, body="summary is too long.", status=code)
    with pytest.raises(kind, match=rf"\({code}: summary is too long\)\.$"):
        tickets.open(DRAFT) if act == "open" else tickets.find(KEY)


@pytest.mark.parametrize(
    ("told_pause", "pause"),
    [("30", timedelta(seconds=30)), ("86400", timedelta(minutes=5)), ("soon", None), ("-1", None), ("0", None)],
)
def test_the_pause_that_is_asked_for_is_kept_within_bounds(
    tickets: WebhookTickets, net: responses.RequestsMock, told_pause: str, pause: timedelta | None
) -> None:
    net.post(URL, status=503, headers={"Retry-After": told_pause})
    with pytest.raises(TemporaryPortError) as refused:
        tickets.open(DRAFT)
    assert refused.value.retry_after == pause


@pytest.mark.parametrize("error", [requests.ConnectionError(), requests.ReadTimeout(), requests.ConnectTimeout()])
def test_no_answer_is_temporary_since_the_request_may_have_arrived(
    tickets: WebhookTickets, net: responses.RequestsMock, error: Exception
) -> None:
    net.post(URL, body=error)
    with pytest.raises(TemporaryPortError, match="did not answer"):
        tickets.open(DRAFT)


@pytest.mark.parametrize(
    "body", ["<html>Sign in</html>", "", "[]", "{}", '{"key": null}', json.dumps({"key": "main:serial:other"})]
)
def test_an_answer_that_is_no_ticket_is_never_taken_for_none(
    tickets: WebhookTickets, net: responses.RequestsMock, body: str
) -> None:
    net.get(ONE, body=body)
    with pytest.raises(PermanentPortError):
        tickets.find(KEY)


def test_an_endless_answer_is_read_to_its_limit(tickets: WebhookTickets, net: responses.RequestsMock) -> None:
    net.get(ONE, body=json.dumps(told(padding="x" * 2 * ANSWER_LIMIT)))
    with pytest.raises(PermanentPortError, match="no ticket"):
        tickets.find(KEY)


def test_the_secret_is_in_no_text(tickets: WebhookTickets, net: responses.RequestsMock) -> None:
    net.post(URL, status=401, body="bad signature")
    with pytest.raises(PermanentPortError) as refused:
        tickets.open(DRAFT)
    assert "secret" not in str(refused.value)
