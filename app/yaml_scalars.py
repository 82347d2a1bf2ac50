"""Reads single YAML values strictly: a number is not a text, a bare number is not a duration, `yes` is not "yes".

YAML 1.1 guesses types; what it would guess is looked at only to tell people that their text needs quotes. Where a
value stands, and what else it must keep, is `app.yaml_records`'s business.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from datetime import timedelta
from difflib import get_close_matches
from enum import StrEnum
from types import NoneType
from typing import Any, Final, get_args, get_origin

import yaml

from app.durations import read_duration

UNREAD: Final = object()
"""Stands for a value that could not be read; a problem says why."""

_TAG: Final = "tag:yaml.org,2002:"
_WHOLE: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_CAPITAL: Final = re.compile(r"(?<!^)([A-Z])")
_LONGEST_SHOWN: Final = 80
_READ_AS: Final = {"bool": "true or false", "int": "a number", "float": "a number", "timestamp": "a date"}
_WANTED: Final[dict[Any, str]] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    timedelta: "a duration like 90s, 30m or 2h",
}


class NotThis(Exception):
    """The value is not of the type: what is wrong and what would be right, each a sentence."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy


def is_null(node: yaml.Node) -> bool:
    """Whether nothing stands there: `key:`, `key: null` or `key: ~`."""
    return bool(node.tag == f"{_TAG}null")


def described(what: Any) -> str:
    """A node, or a type that is wanted, in words: "a list", "a duration like 90s"."""
    if isinstance(what, yaml.MappingNode) or is_dataclass(what) or get_origin(what) is Mapping:
        return "a mapping"
    if isinstance(what, yaml.SequenceNode) or get_origin(what) is tuple:
        return "a list"
    if isinstance(what, yaml.Node):
        return "nothing" if is_null(what) else "a single value"
    if NoneType in get_args(what):
        return described(next(part for part in get_args(what) if part is not NoneType))
    if isinstance(what, type) and issubclass(what, StrEnum):
        return f"one of: {', '.join(what)}"
    return _WANTED[what]


def read_scalar(kind: type, node: yaml.Node) -> Any:
    """The value of this type. Raises `NotThis`."""
    if not isinstance(node, yaml.ScalarNode):
        raise NotThis(f"This is {described(node)}, not {described(kind)}.", f"Write {described(kind)}.")
    if issubclass(kind, StrEnum):
        return _member(kind, str(node.value))
    return _READERS[kind](node)


def _member(kind: type[StrEnum], text: str) -> StrEnum:
    if text in tuple(kind):
        return kind(text)
    near = get_close_matches(text, tuple(kind), n=1)
    meant = f"Did you mean `{near[0]}`? " if near else ""
    called = _CAPITAL.sub(r" \1", kind.__name__).lower()
    raise NotThis(f"{_shown(text)} is no {called}.", f"{meant}Use one of: {', '.join(kind)}.")


def _text(node: yaml.ScalarNode) -> str:
    if node.tag == f"{_TAG}str":
        return str(node.value)
    read_as = _READ_AS.get(node.tag.removeprefix(_TAG), "something else")
    shown = node.value[:_LONGEST_SHOWN]
    raise NotThis(f"YAML reads {shown} as {read_as}, not as a text.", f'Put it in quotes: "{shown}".')


def _whole(node: yaml.ScalarNode) -> int:
    if node.tag == f"{_TAG}int" and _WHOLE.fullmatch(node.value):
        return int(node.value)
    raise NotThis(f"{_shown(node.value)} is not a whole number.", "Write it in plain digits, without quotes.")


def _number(node: yaml.ScalarNode) -> float:
    if node.tag in {f"{_TAG}int", f"{_TAG}float"}:
        try:
            number = float(node.value)
        except ValueError:
            number = math.nan
        if math.isfinite(number):
            return number
    raise NotThis(f"{_shown(node.value)} is not a number.", "Write it like 0.1 or 350, without a unit or quotes.")


def _flag(node: yaml.ScalarNode) -> bool:
    if node.tag == f"{_TAG}bool" and node.value in {"true", "false"}:
        return bool(node.value == "true")
    raise NotThis(f"{_shown(node.value)} is neither true nor false.", "Write true or false, without quotes.")


def _duration(node: yaml.ScalarNode) -> timedelta:
    span = read_duration(node.value)
    if span is not None:
        return span
    if _WHOLE.fullmatch(node.value):
        raise NotThis(f"{node.value} has no unit.", f"Write for example {node.value.lstrip('-')}s for seconds.")
    raise NotThis(f"{_shown(node.value)} is not a duration.", "Write it like 90s, 30m, 2h, 7d or 1h30m.")


def _shown(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…")


_READERS: Final[dict[type, Callable[[yaml.ScalarNode], Any]]] = {
    str: _text,
    int: _whole,
    float: _number,
    bool: _flag,
    timedelta: _duration,
}
