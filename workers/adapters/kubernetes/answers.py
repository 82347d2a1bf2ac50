"""Answers of the API server, and what a failed one means: try again later, or never.

Sources: k8s.io/apimachinery `pkg/api/errors`, `pkg/apis/meta/v1` (Status); the priority-and-fairness pages of
kubernetes.io for 429 and Retry-After.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

import msgspec

from app.errors import PermanentPortError, PortError, TemporaryPortError

SHOWN = 300
"""Characters of a foreign text that a sentence quotes."""
LONGEST_PAUSE = timedelta(minutes=5)
"""A server that asks for more is asked again after this."""


class Cause(msgspec.Struct):
    """One cause inside a Status."""

    reason: str | None = None
    message: str | None = None
    field: str | None = None


class Details(msgspec.Struct):
    """The details of a Status."""

    causes: list[Cause] | None = None
    retry_after: int | None = msgspec.field(default=None, name="retryAfterSeconds")


class Status(msgspec.Struct):
    """The API server's word on a request."""

    reason: str | None = None
    message: str | None = None
    details: Details | None = None
    code: int | None = None

    @property
    def causes(self) -> list[Cause]:
        """The causes, none for a null."""
        return (self.details and self.details.causes) or []


class GoneError(PermanentPortError):
    """What was asked for has left the server's history (410): asking for the same will never go well, list again."""


@dataclass(frozen=True, slots=True)
class Right:
    """What a request needs to be allowed to do, in the words of RBAC: `patch` on `nodes`."""

    verb: str
    resource: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}"


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer, read whole. Header names are lower case."""

    code: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def ok(self) -> bool:
        """Whether the request was carried out."""
        return 200 <= self.code < 300

    @property
    def status(self) -> Status:
        """The Status in its body; an empty one if a proxy or a bug put something else there."""
        try:
            return _decode_status(self.body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return Status(message=self.body[:SHOWN].decode(errors="replace").strip() or None)

    @property
    def retry_after(self) -> timedelta | None:
        """The pause that the server asks for, in the header or in the Status."""
        told = self.headers.get("retry-after", "")
        details = self.status.details
        seconds = int(told) if told.isdecimal() else (details.retry_after if details else None)
        if seconds is None or seconds <= 0:
            return None
        return min(timedelta(seconds=min(seconds, 86400)), LONGEST_PAUSE)


_decode_status = msgspec.json.Decoder(Status).decode


def error_of(answer: Answer, right: Right) -> PortError:
    """The error that a failed answer is, as a sentence that names the act and, if it is that, the missing right."""
    status = answer.status
    told = shortened(status.message or status.reason or "no reason given")
    match answer.code:
        case 401:
            # A projected token is replaced while we run: the next call may carry the new one.
            return TemporaryPortError(f"The API server does not accept our credentials to {right}: {told}.")
        case 403:
            return PermanentPortError(
                f"Sickbay may not {right}: the right {right.verb!r} on {right.resource!r} is missing ({told})."
            )
        case 410:
            return GoneError(f"What Sickbay wanted to {right} has left the API server's history: {told}.")
        case 429:
            return TemporaryPortError(
                f"The API server asks for patience with {right}: {told}.", retry_after=answer.retry_after
            )
        case 408 | 409:
            return TemporaryPortError(f"The API server could not {right} just now ({answer.code}): {told}.")
        case code if code >= 500 or code < 400:
            return TemporaryPortError(
                f"The API server failed to {right} ({code}): {told}.", retry_after=answer.retry_after
            )
        case code:
            return PermanentPortError(f"The API server refuses to {right} ({code}): {told}.")


def shortened(text: str) -> str:
    """One line of a foreign text, cut to what a sentence can hold, without its full stop."""
    line = " ".join(text.split()).rstrip(".")
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…"
