"""The bridge between the domain and JSON, and the only one.

A document is the record's fields as they are named, and `v`, the version of that kind's form. Times are RFC 3339 in
UTC with microseconds. To change a form (also to add a field: older code would drop it), add a function to that kind's
`upcasters`, which makes a document of the next version from one of the last. A document newer than this code is
left alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

import msgspec
import structlog

from app.domain.breaker import Opened
from app.domain.history import HistoryRow
from app.domain.operations import Operation
from app.domain.tickets import TicketIntent
from app.domain.timeline import Entry
from app.errors import SickbayError
from app.store.values import AlertRecord, Baseline, Pause, PendingAlert, SeenNodes, Trip

log = structlog.get_logger(__name__)

Plain = dict[str, Any]
T = TypeVar("T")

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class NewerDocumentError(SickbayError):
    """A later version of Sickbay wrote this document. It is neither read by guesswork nor written over."""


class UnreadableDocumentError(SickbayError):
    """A document of a version this code knows does not have its form: somebody else wrote under our key."""


def _with_rungs(operation: Plain) -> Plain:
    """Version 2 keeps with each fault the first rung that policy answered it with."""
    return {**operation, "faults": [{**fault, "rung": ""} for fault in operation["faults"]]}


@dataclass(frozen=True, slots=True)
class Form:
    """One kind of document. `upcasters[n]` makes version n + 2 of version n + 1."""

    kind: str
    upcasters: tuple[Callable[[Plain], Plain], ...] = ()

    @property
    def version(self) -> int:
        """The version that this code writes."""
        return 1 + len(self.upcasters)


FORMS: dict[type[Any], Form] = {
    Operation: Form("operation", (_with_rungs, lambda operation: {**operation, "waits_for": ""})),
    Entry: Form("timeline entry"),
    HistoryRow: Form("history row", (lambda row: {**row, "own_act": ""},)),
    AlertRecord: Form("alert record"),
    PendingAlert: Form("pending alert"),
    SeenNodes: Form("inventory"),
    Pause: Form("pause"),
    Baseline: Form("baseline"),
    Opened: Form("node that fell ill"),
    Trip: Form("trip of the breaker"),
    TicketIntent: Form("ticket intent"),
}


def write(record: object) -> str:
    """The document of a record whose type is in FORMS."""
    fields = msgspec.to_builtins(record, builtin_types=(datetime,), str_keys=True, enc_hook=_unknown)
    document = {"v": FORMS[type(record)].version, **fields}
    text = _ENCODER.encode(document)
    return text if _SURROGATE not in text else _ENCODER.encode(_storable(document))


def read(kind: type[T], text: str) -> T:
    """The record in a document.

    Raises:
        NewerDocumentError: it has a later version than FORMS names for its kind.
        UnreadableDocumentError: it is no document of that kind.
    """
    form = FORMS[kind]
    try:
        return msgspec.convert(_lifted(json.loads(text), form), kind)
    except (ValueError, TypeError, KeyError, AttributeError, msgspec.ValidationError) as error:
        raise UnreadableDocumentError(f"A document of kind {form.kind} cannot be read: {error}.") from error


def read_readable(kind: type[T], texts: Iterable[str | None]) -> list[T]:
    """The records of those that are there and can be read: for lists, which one stranger must not hide whole.

    Each that is left out is logged.
    """
    found = []
    for text in texts:
        try:
            if text is not None:
                found.append(read(kind, text))
        except (NewerDocumentError, UnreadableDocumentError) as error:
            log.warning("document left out", kind=FORMS[kind].kind, reason=str(error))
    return found


def micros(at: datetime) -> int:
    """Microseconds since 1970: how times are compared and sorted inside Redis, exact until the year 2255."""
    return (at - _EPOCH) // timedelta(microseconds=1)


def moment(microseconds: float | str) -> datetime:
    """The time of such a number, as Redis gives it back."""
    return _EPOCH + timedelta(microseconds=int(float(microseconds)))


def _lifted(plain: Plain, form: Form) -> Plain:
    """The document's fields in the form of this code."""
    version = plain.pop("v")
    if version > form.version:
        raise NewerDocumentError(
            f"A document of kind {form.kind} has version {version}; this Sickbay knows them up to {form.version}."
        )
    if version < 1:
        raise ValueError(f"there is no version {version}")
    for upcast in form.upcasters[version - 1 :]:
        plain = upcast(plain)
    return plain


def _unknown(value: Any) -> Any:
    """What msgspec does not know: a mapping that is no dict."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is nothing that a document can hold")


def _time(value: Any) -> str:
    if not isinstance(value, datetime):
        raise TypeError(f"{type(value).__name__} is nothing that a document can hold")
    return value.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=_time)

_SURROGATE: Final = "\\ud"
"""How the encoder begins a surrogate. Nearly no text has any, paired or alone."""


def _storable(value: Any) -> Any:
    """With a question mark for each lone surrogate, which JSON can carry and UTF-8 cannot."""
    match value:
        case str():
            return value.encode(errors="replace").decode()
        case dict():
            return {_storable(key): _storable(member) for key, member in value.items()}
        case list() | tuple():
            return [_storable(member) for member in value]
        case _:
            return value
