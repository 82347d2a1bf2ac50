"""Label and field selectors, as they stand in the query of a list or a watch, and as objects carry them.

Source of the grammar: k8s.io/apimachinery, pkg/labels/selector.go and pkg/fields/selector.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from simulator.api.statuses import bad_request

Matches = Callable[[dict[str, Any]], bool]

_SET_TERM = re.compile(r"^(?P<key>[\w./-]+)\s+(?P<operator>in|notin)\s*\((?P<values>[^)]*)\)$")
_EQUAL_TERM = re.compile(r"^(?P<key>[\w./-]+)\s*(?P<operator>==|=|!=)\s*(?P<value>[\w./:-]*)$")
_EXISTS_TERM = re.compile(r"^(?P<absent>!?)\s*(?P<key>[\w./-]+)$")


def labels_match(selector: str) -> Matches:
    """What `labelSelector` asks for: `a=b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `a`, `!a`, joined by commas.

    Raises:
        Refused: 400 for what is none of these.
    """
    terms = [_label_term(term.strip()) for term in re.split(r",(?![^(]*\))", selector) if term.strip()]
    return lambda an_object: all(term(an_object["metadata"].get("labels") or {}) for term in terms)


def _label_term(term: str) -> Callable[[Mapping[str, str]], bool]:
    if found := _SET_TERM.match(term):
        key = found["key"]
        values = {value.strip() for value in found["values"].split(",")}
        if found["operator"] == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if found := _EQUAL_TERM.match(term):
        key, value = found["key"], found["value"]
        if found["operator"] == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if found := _EXISTS_TERM.match(term):
        key = found["key"]
        if found["absent"]:
            return lambda labels: key not in labels
        return lambda labels: key in labels
    raise bad_request(f'unable to parse requirement: found "{term}"')


def fields_of(selector: str) -> list[tuple[str, bool, str]]:
    """The terms of a `fieldSelector`: (path, whether it must be equal, value)."""
    terms = []
    for term in filter(None, (part.strip() for part in selector.split(","))):
        path, operator, value = re.split(r"(==|!=|=)", term, maxsplit=1) if "=" in term else (term, "", "")
        if not operator:
            raise bad_request(f"invalid selector: '{term}'; can't understand '{term}'")
        terms.append((path.strip(), operator != "!=", value.strip()))
    return terms


def fields_match(selector: str) -> Matches:
    """What `fieldSelector` asks for, such as `spec.nodeName=gpu-a01,status.phase!=Failed`; absent fields are empty."""
    terms = fields_of(selector)
    return lambda an_object: all((field(an_object, path) == value) is equal for path, equal, value in terms)


def field(an_object: dict[str, Any], path: str) -> str:
    """The field at a dotted path as a word; `true` and `false` in lower case, absent is empty."""
    found: Any = an_object
    for step in path.split("."):
        found = found.get(step) if isinstance(found, dict) else None
    if isinstance(found, bool):
        return str(found).lower()
    return "" if found is None else str(found)


def selected(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Whether an object's own LabelSelector takes these labels; none takes nothing, an empty one takes everything."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_expression(term, labels) for term in selector.get("matchExpressions") or [])


def _expression(term: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    found = labels.get(term["key"])
    values = term.get("values") or []
    match term["operator"]:
        case "In":
            return found in values
        case "NotIn":
            return found not in values
        case "Exists":
            return found is not None
        case _:
            return found is None
