"""Reads YAML into frozen dataclasses by their type hints, and says of every mistake where it is and what is right.

It looks at YAML nodes, not at loaded values: only nodes know their lines, show a key that is given twice, and keep
`yes`, `017` and `1:30` the words that somebody typed. It goes on after a mistake, so that a file is mended in one
round. What a value must keep beyond its type is told to it as `checks`; nothing here knows of policies.

Types it reads: dataclasses, `tuple[T, ...]`, `Mapping[K, T]`, `T | None`, and what `app.yaml_scalars` reads. A
record of which only the first field must be given may be written as the value of that field alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from difflib import get_close_matches
from types import NoneType
from typing import Any, Final, get_args, get_origin, get_type_hints

import yaml

from app.errors import ConfigurationError
from app.yaml_scalars import UNREAD, NotThis, described, is_null, read_scalar

_PLAIN_KEY: Final = re.compile(r"[\w-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Objection:
    """What a check has against a value: `below` is where in it (`[1]`, `.mode`), empty for the value as a whole."""

    below: str
    problem: str
    remedy: str


Check = Callable[[Any], Iterable[Objection]]


@dataclass(slots=True)
class RecordReader:
    """Reads one file, and gathers its problems and the line of every path.

    * `checks`: by dataclass and field name, what a value must keep beyond its type; an empty name checks the record.
    * `kinds`: types that the file may use where the dataclass is narrower, by dataclass and field name.
    """

    file: str
    checks: Mapping[tuple[type, str], Check] = field(default_factory=dict)
    kinds: Mapping[tuple[type, str], Any] = field(default_factory=dict)
    problems: list[ConfigurationError] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)

    def read(self, kind: Any, node: yaml.Node, path: str = "") -> Any:
        """The value of this type, or `UNREAD` and at least one problem more."""
        self.lines[path] = _line(node)
        kinds = get_args(kind)
        if NoneType in kinds:
            if is_null(node):
                return None
            (kind,) = (part for part in kinds if part is not NoneType)
        if is_null(node):
            return self._refuse(path, "Nothing stands here.", f"Write {described(kind)}, or leave the key out.")
        if is_dataclass(kind):
            return self._record(kind, node, path)
        if get_origin(kind) is tuple:
            return self._list(get_args(kind)[0], node, path)
        if get_origin(kind) is Mapping:
            key_kind, value_kind = get_args(kind)
            return self._mapping(key_kind, value_kind, node, path)
        try:
            return read_scalar(kind, node)
        except NotThis as error:
            return self._refuse(path, error.problem, error.remedy)

    def _record(self, kind: Any, node: yaml.Node, path: str) -> Any:
        known = {part.name: part for part in fields(kind)}
        alone = _first_alone(kind)
        if alone is not None and not isinstance(node, yaml.MappingNode):
            entries, places = {alone: node}, {alone: path}
        else:
            read = self._entries(node, path, tuple(known))
            if read is None:
                return UNREAD
            entries, places = read, {name: _join(path, name) for name in read}
        hints = get_type_hints(kind)
        values: dict[str, Any] = {}
        for name, value_node in entries.items():
            if name in known:
                read_as, inside = self.kinds.get((kind, name), hints[name]), places[name]
                values[name] = self._checked((kind, name), self.read(read_as, value_node, inside), inside)
        for name, part in known.items():
            if name not in entries and _is_required(part):
                self._refuse(path, f"`{name}` is missing.", f"Add `{name}:` with {described(hints[name])}.")
                values[name] = UNREAD
        if any(value is UNREAD for value in values.values()):
            return UNREAD
        return self._checked((kind, ""), kind(**values), path)

    def _list(self, kind: Any, node: yaml.Node, path: str) -> Any:
        if not isinstance(node, yaml.SequenceNode):
            return self._refuse(path, f"This is {described(node)}, not a list.", "Write it as a list: [a, b].")
        values = tuple(self.read(kind, part, f"{path}[{place}]") for place, part in enumerate(node.value))
        return UNREAD if any(value is UNREAD for value in values) else values

    def _mapping(self, key_kind: Any, kind: Any, node: yaml.Node, path: str) -> Any:
        entries = self._entries(node, path, known=None)
        if entries is None:
            return UNREAD
        values: dict[Any, Any] = {}
        for name, value_node in entries.items():
            inside = _join(path, name)
            self.lines[inside] = _line(value_node)
            try:
                key = read_scalar(key_kind, yaml.ScalarNode("tag:yaml.org,2002:str", name))
            except NotThis as error:
                key = self._refuse(inside, error.problem, error.remedy)
            values[key] = self.read(kind, value_node, inside)
        return UNREAD if UNREAD in values or any(value is UNREAD for value in values.values()) else values

    def _entries(self, node: yaml.Node, path: str, known: tuple[str, ...] | None) -> dict[str, yaml.Node] | None:
        """The value of each key. With `known`, other keys are refused; double ones always are."""
        if not isinstance(node, yaml.MappingNode):
            self._refuse(path, f"This is {described(node)}, not a mapping.", "Write `key: value`, a line each.")
            return None
        entries: dict[str, yaml.Node] = {}
        for key_node, value_node in node.value:
            line = _line(key_node)
            if not isinstance(key_node, yaml.ScalarNode):
                self._refuse(path, f"A key is {described(key_node)}.", "Write a word before the colon.", line)
                continue
            key = str(key_node.value)
            if key in entries:
                first = _line(entries[key])
                problem = f"`{key}` is given twice, first in line {first}."
                self._refuse(_join(path, key), problem, "Keep one of the two.", line)
            elif known is not None and key not in known:
                self._refuse(_join(path, key), f"`{key}` is not known here.", nearest(key, known), line)
            entries.setdefault(key, value_node)
        return entries

    def _checked(self, place: tuple[Any, str], value: Any, path: str) -> Any:
        check = self.checks.get(place)
        if check is None or value is UNREAD or value is None:
            return value
        objections = list(check(value))
        for objection in objections:
            self._refuse(f"{path}{objection.below}".removeprefix("."), objection.problem, objection.remedy)
        return UNREAD if objections else value

    def _refuse(self, path: str, problem: str, remedy: str, line: int | None = None) -> Any:
        line = self.lines.get(path) if line is None else line
        self.problems.append(ConfigurationError(problem, file=self.file, line=line, path=path or None, remedy=remedy))
        return UNREAD


def below(key: str) -> str:
    """A key as the end of a path: `.mode`, or with quotes where it is no plain word: `["nvidia.com/gpu.present"]`."""
    return f".{key}" if _PLAIN_KEY.fullmatch(key) else f'["{key[:80]}"]'


def nearest(word: str, known: Iterable[str]) -> str:
    """A remedy for a word that is not one of those known: the one that was probably meant, else all of them."""
    known = tuple(known)
    near = get_close_matches(word, known, n=1)
    return f"Did you mean `{near[0]}`?" if near else f"Known are {', '.join(f'`{name}`' for name in known)}."


def _join(path: str, key: str) -> str:
    return f"{path}{below(key)}".removeprefix(".")


def _first_alone(kind: Any) -> str | None:
    """The first field of the record if it is the only one that must be given; its value may stand for the record."""
    first, *others = fields(kind)
    return first.name if _is_required(first) and not any(map(_is_required, others)) else None


def _is_required(part: Field[Any]) -> bool:
    return part.default is MISSING and part.default_factory is MISSING


def _line(node: yaml.Node) -> int:
    return node.start_mark.line + 1 if node.start_mark else 0
