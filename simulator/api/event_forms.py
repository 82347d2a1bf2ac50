"""The two forms of one Event: the core API's, which is stored, and that of events.k8s.io."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

_NAMES = (
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("source", "deprecatedSource"),
    ("reportingComponent", "reportingController"),
)


def as_regarding(event: Object) -> Object:
    """The core Event in the form of events.k8s.io/v1."""
    names = dict(_NAMES)
    return {names.get(key, key): value for key, value in event.items()} | {"apiVersion": "events.k8s.io/v1"}


def as_core(event: Object) -> Object:
    """An events.k8s.io/v1 Event in the form of the core API."""
    names = {new: old for old, new in _NAMES}
    return {names.get(key, key): value for key, value in event.items()} | {"apiVersion": "v1"}
