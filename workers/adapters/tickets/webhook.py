"""Tickets by webhook: signed CloudEvents to a URL of the site, which opens them wherever it likes.

The contract that such a receiver keeps is docs/reference/tickets.md: few lines, so that anybody can write one. It
answers for each key with one ticket, however often and from however many workers it is told.
Sources: CloudEvents 1.0.2 (structured JSON over HTTP), RFC 2104 (HMAC), the draft "The Idempotency-Key HTTP Header
Field" of the IETF's httpapi group, RFC 9110 on Retry-After.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec
import requests

from app.domain import policies
from app.domain.tickets import TicketDraft, TicketRef, TicketState
from app.errors import ConfigurationError, PermanentPortError, PortError, TemporaryPortError
from app.secret_files import read_secret

SYSTEM = "webhook"
OPENED = "sickbay.ticket.open.v1"
COMMENTED = "sickbay.ticket.comment.v1"
TIMEOUT = (3.0, 8.0)
"""Seconds to connect, and for each wait on an answer; together below the 15 that the engine grants a call."""
ANSWER_LIMIT = 64 * 1024
"""Bytes of an answer that are read."""
LONGEST_PAUSE = timedelta(minutes=5)
_LATER = frozenset({408, 409, 423, 425, 429})


class Told(msgspec.Struct):
    """A ticket as the receiver tells of it."""

    key: str
    url: str = ""
    state: str = ""


class WebhookTickets:
    """The port `Tickets` on `tickets.url`. The secret is read for each call, so that it can be changed at any time."""

    def __init__(self, settings: policies.Tickets, cluster: str) -> None:
        if urlsplit(settings.url).scheme not in {"http", "https"}:
            raise ConfigurationError(
                "The ticket system `webhook` needs a URL.", path="tickets.url", remedy="Use one with https."
            )
        if not settings.secret_file:
            raise ConfigurationError(
                "The ticket system `webhook` needs a secret to sign with.",
                path="tickets.secret_file",
                remedy="Name a file that holds it.",
            )
        self._url = settings.url.rstrip("/")
        self._secret_file = Path(settings.secret_file)
        self._source = f"sickbay/{quote(cluster, safe='')}"

    def find(self, key: str) -> TicketRef | None:
        """By GET of the key. Only 404 says that there is none."""
        told = self._get(key)
        return None if told is None else TicketRef(system=SYSTEM, key=key, url=told.url)

    def open(self, draft: TicketDraft) -> TicketRef:
        """By POST. The answer may name the ticket's URL; an empty one is as good."""
        content = {"title": draft.title, "body_markdown": draft.body_markdown, "fields": dict(draft.fields)}
        body = self._post(OPENED, draft.key, draft.key, {"key": draft.key, **content})
        try:
            url = msgspec.json.decode(body, type=Told).url
        except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError):
            url = ""
        return TicketRef(system=SYSTEM, key=draft.key, url=_web(url))

    def comment(self, ref: TicketRef, text: str) -> None:
        """By POST, with an id made of key and text: the receiver knows by it a comment that it has."""
        said = hashlib.sha256(f"{ref.key}\n{text}".encode()).hexdigest()
        self._post(COMMENTED, ref.key, f"comment-{said}", {"key": ref.key, "text": text})

    def state(self, ref: TicketRef) -> TicketState:
        """As the receiver tells it; any other word than `open` and `closed` is unknown."""
        told = self._get(ref.key)
        try:
            return TicketState(told.state.strip().lower()) if told else TicketState.UNKNOWN
        except ValueError:
            return TicketState.UNKNOWN

    def _post(self, kind: str, key: str, event: str, content: Mapping[str, Any]) -> bytes:
        sent = {
            "specversion": "1.0",
            "type": kind,
            "source": self._source,
            "id": event,
            "subject": key,
            "datacontenttype": "application/json",
            "data": content,
        }
        payload = json.dumps(sent, separators=(",", ":")).encode()
        headers = {"Content-Type": "application/cloudevents+json", "Idempotency-Key": event}
        code, body, pause = self._ask("POST", self._url, payload, headers, signed=payload)
        if not 200 <= code < 300:
            raise _refused(code, body, pause, "take the ticket")
        return body

    def _get(self, key: str) -> Told | None:
        url = f"{self._url}/{quote(key, safe='')}"
        code, body, pause = self._ask("GET", url, None, {"Accept": "application/json"}, signed=key.encode())
        if code == 404:
            return None
        if code != 200:
            raise _refused(code, body, pause, "tell of the ticket")
        try:
            told = msgspec.json.decode(body, type=Told)
        except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
            # A login page, another service: it must never be taken for "there is none".
            raise PermanentPortError(f"The ticket system's answer is no ticket: {error}.") from error
        if told.key != key:
            raise PermanentPortError(f"The ticket system was asked for {key} and told of {told.key[:200]}.")
        told.url = _web(told.url)
        return told

    def _ask(
        self, method: str, url: str, payload: bytes | None, headers: Mapping[str, str], *, signed: bytes
    ) -> tuple[int, bytes, timedelta | None]:
        """Code, body and the pause that was asked for. TemporaryPortError when there was no whole answer."""
        try:
            secret = read_secret(self._secret_file)
        except ConfigurationError as error:
            raise PermanentPortError(str(error)) from error
        signature = hmac.new(secret, signed, hashlib.sha256).hexdigest()
        sent = {"User-Agent": "sickbay", "X-Sickbay-Signature": f"sha256={signature}", **headers}
        try:
            with requests.request(
                method, url, data=payload, headers=sent, timeout=TIMEOUT, allow_redirects=False, stream=True
            ) as answer:
                return answer.status_code, _body(answer), _pause(answer.headers.get("Retry-After", ""))
        except requests.RequestException as error:
            # The request may have arrived all the same: only `find` tells.
            raise TemporaryPortError(f"The ticket system did not answer ({type(error).__name__}).") from error


def _body(answer: requests.Response) -> bytes:
    """The answer, as far as the limit. One that drips in for longer than a call may take is none."""
    body, until = b"", time.monotonic() + TIMEOUT[1]
    for part in answer.iter_content(16 * 1024):
        body += part
        if len(body) > ANSWER_LIMIT:
            break
        if time.monotonic() > until:
            raise requests.Timeout("the answer did not end")
    return body[:ANSWER_LIMIT]


def _refused(code: int, body: bytes, pause: timedelta | None, act: str) -> PortError:
    said = " ".join(body[:300].decode(errors="replace").split()).rstrip(".")
    text = f"The ticket system does not {act} ({code}{f': {said}' if said else ''})."
    if code in _LATER or code >= 500:
        return TemporaryPortError(text, retry_after=pause)
    return PermanentPortError(text)


def _pause(told: str) -> timedelta | None:
    seconds = int(told) if told.isascii() and told.isdecimal() and len(told) < 9 else 0
    return min(timedelta(seconds=seconds), LONGEST_PAUSE) if seconds else None


def _web(url: str) -> str:
    """The URL if a page may link to it, else nothing."""
    return url if urlsplit(url).scheme in {"http", "https"} and len(url) <= 2000 else ""
