"""Reads the body of an Alertmanager webhook so far that each alert can be judged alone. Judging is intake's work.

Source of the shape: Alertmanager, notify/webhook and docs/configuration.md. Grafana's unified alerting sends a superset
with version "1".
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import msgspec

VERSIONS: Final = ("4", "1")
"""Alertmanager's, and that of Grafana's superset."""
ALERT_LIMIT: Final = 64 * 1024
"""Bytes of one alert; real ones have one or two thousand. What is larger is refused alone."""


class NoMessageError(ValueError):
    """This is no webhook message of Alertmanager. The text says why; `pointer` where, as a JSON pointer."""

    def __init__(self, told: str, pointer: str = "") -> None:
        super().__init__(told)
        self.pointer = pointer


class UnfitAlertError(ValueError):
    """This one alert cannot even be decoded; the text says why."""


@dataclass(frozen=True, slots=True)
class Message:
    """The alerts as they came, each still undecoded, and how many the sender left out."""

    alerts: tuple[msgspec.Raw, ...]
    truncated: int


class _Body(msgspec.Struct):
    alerts: list[msgspec.Raw] | None
    version: Any = None
    truncated: Any = msgspec.field(name="truncatedAlerts", default=0)


_decode_body = msgspec.json.Decoder(_Body).decode


def read_message(body: bytes) -> Message:
    """The message in this body. Raises NoMessageError.

    An `alerts` of null is an empty list, as Go writes one.
    """
    try:
        told = _decode(body)
    except msgspec.ValidationError as error:
        at = "/alerts" if "alerts" in str(error) else ""
        raise NoMessageError(f"The body is no message of Alertmanager. {error}.", at) from error
    except (ValueError, RecursionError) as error:
        raise NoMessageError("The body is not JSON.") from error
    if told.version not in VERSIONS:
        known = " or ".join(f'"{version}"' for version in VERSIONS)
        raise NoMessageError(f"The message's version must be {known}, not {told.version!r:.40}.", "/version")
    left_out = told.truncated if isinstance(told.truncated, int) and told.truncated > 0 else 0
    return Message(tuple(told.alerts or ()), left_out)


def _decode(body: bytes) -> _Body:
    try:
        return _decode_body(body)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        # A text that is no Unicode in one alert makes the strict decoder give up on all. The lenient one keeps such
        # texts, written as escapes, so that each alert is then judged by the strict one alone.
        told = json.loads(body.decode("utf-8", "surrogateescape"), parse_constant=_no_number)
        return msgspec.convert(_with_raw_alerts(told), _Body)


def _with_raw_alerts(told: object) -> object:
    if isinstance(told, dict) and isinstance(told.get("alerts"), list):
        return {**told, "alerts": [msgspec.Raw(json.dumps(alert).encode()) for alert in told["alerts"]]}
    return told


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def read_raw(alert: msgspec.Raw) -> object:
    """One alert, decoded. Raises UnfitAlertError: a bad one never spoils its siblings."""
    size = memoryview(alert).nbytes
    if size > ALERT_LIMIT:
        raise UnfitAlertError(f"An alert of {size} bytes is beyond the limit of {ALERT_LIMIT}.")
    try:
        return msgspec.json.decode(alert)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise UnfitAlertError(f"The alert cannot be decoded: {error}.") from error
