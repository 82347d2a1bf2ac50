"""One Alertmanager alert, read without trusting any of it. What it means is decided in `app.domain.faults`.

Source of the shape: Alertmanager's webhook body, version 4 (notify/webhook, template.Data).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

SKEW_TOLERANCE = timedelta(minutes=5)
"""A start further in the future than this is taken as the receive time: hosts' clocks differ, by hours at worst."""

_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)",
)


LONGEST_FINGERPRINT = 128
"""Alertmanager's have 16 characters. A longer one is no key; one made from the labels takes its place."""


class UnreadableAlertError(ValueError):
    """This alert is no object with labels and a status; its message says what is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """An alert as it was told, times in UTC.

    `fingerprint` is Alertmanager's hash of the labels; a sender that omits it gets one made from them.
    `told_start` is the start as it was told, kept only where `starts_at` had to replace it. `remarks` hold what was
    odd about it, in sentences.
    """

    status: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    starts_at: datetime
    fingerprint: str
    generator_url: str = ""
    remarks: tuple[str, ...] = ()
    told_start: str = ""

    @property
    def name(self) -> str:
        """The rule's name, empty when the sender gave none."""
        return self.labels.get("alertname", "")

    @property
    def firing(self) -> bool:
        """Whether the alert is firing; `endsAt` never decides this."""
        return self.status == "firing"

    @property
    def occurrence(self) -> str:
        """What makes two deliveries the same event, whichever Alertmanager sent them.

        A start that was replaced by the time of receipt differs with each delivery, so what was told counts instead:
        else a sender with a wrong clock would report a new fault every few minutes.
        """
        return f"{self.fingerprint}|{self.told_start or self.starts_at.isoformat()}|{self.status}"


def read_alert(raw: object, *, received_at: datetime) -> Alert:
    """One member of `alerts` in a webhook body.

    Raises UnreadableAlertError when there is nothing to act on. An unreadable or future start is replaced by
    `received_at` and remarked, since the fault itself may be real.
    """
    if not isinstance(raw, Mapping):
        raise UnreadableAlertError(f"an alert must be an object, not {_kind(raw)}")
    labels = _texts(raw.get("labels"))
    if not labels:
        raise UnreadableAlertError("an alert must have labels, an object of texts")
    status = raw.get("status")
    if not isinstance(status, str) or status not in {"firing", "resolved"}:
        raise UnreadableAlertError(f"status must be firing or resolved, not {status!r:.40}")
    starts_at, told_start, remarks = _start(raw.get("startsAt"), received_at)
    given = raw.get("fingerprint")
    usable = isinstance(given, str) and 0 < len(given) <= LONGEST_FINGERPRINT
    return Alert(
        status=status,
        labels=labels,
        annotations=_texts(raw.get("annotations")),
        starts_at=starts_at,
        fingerprint=_storable(str(given)) if usable else fingerprint_of(labels),
        generator_url=_storable(str(raw.get("generatorURL") or "")),
        remarks=remarks,
        told_start=told_start,
    )


def read_time(text: object) -> datetime | None:
    """An RFC 3339 time in any offset and precision as UTC, fractions cut to microseconds; None when it is no time."""
    match = _TIME.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        return None
    *whole, fraction, offset = match.groups()
    year, month, day, hour, minute, second = (int(part) for part in whole)
    try:
        zone = UTC if offset in "Zz" else _offset(offset)
        local = datetime(year, month, day, hour, minute, second, int((fraction or "")[:6].ljust(6, "0")), zone)
        return local.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def fingerprint_of(labels: Mapping[str, str]) -> str:
    """A stable stand-in, 16 hex digits, for senders that leave the fingerprint out."""
    text = "\x00".join(f"{name}\x01{labels[name]}" for name in sorted(labels))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _start(given: object, received_at: datetime) -> tuple[datetime, str, tuple[str, ...]]:
    starts_at = read_time(given)
    told = f"{given!r:.60}"
    if starts_at is None or starts_at.year == 1:
        return received_at, told, (f"its start {told} is no time, so the time of receipt counts",)
    if starts_at > received_at + SKEW_TOLERANCE:
        return received_at, told, (f"its start {told} lies in the future, so the time of receipt counts",)
    return starts_at, "", ()


def _offset(text: str) -> timezone:
    sign = -1 if text[0] == "-" else 1
    return timezone(sign * timedelta(hours=int(text[1:3]), minutes=int(text[4:6])))


def _texts(given: object) -> dict[str, str]:
    if not isinstance(given, Mapping):
        return {}
    return {_storable(str(name)): _storable(value) for name, value in given.items() if isinstance(value, str)}


def _storable(text: str) -> str:
    """The text without lone surrogates, which JSON can spell and UTF-8 cannot: a hash or key of one would fail."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _kind(value: object) -> str:
    return "null" if value is None else type(value).__name__
