"""Reads `config/xids.yaml` into the domain's catalogue, and refuses a bad file with its line and a remedy.

It looks at YAML nodes, not at loaded values: only nodes know their lines, keep a number given twice apart from a
number given once, and leave `no`, `0o17` and dates the words that somebody typed. What a class leads to is not
decided here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import yaml

from app.domain.xids import Catalogue, Xid, XidClass
from app.errors import ConfigurationError

_KEYS = ("edition", "xids")
_REQUIRED = ("class",)
_FIELDS = ("name", "title", "nvidia", "class", "why")
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
_NULL = "tag:yaml.org,2002:null"


def load_xids(path: Path) -> Catalogue:
    """The catalogue in this file. Raises `ConfigurationError` when it cannot be read or is wrong anywhere."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problem = f"The catalogue of Xids cannot be read ({getattr(error, 'strerror', None) or error})."
        raise ConfigurationError(problem, file=str(path), remedy="Name a readable UTF-8 file.") from error
    return read_xids(text, file=str(path))


def read_xids(text: str, *, file: str) -> Catalogue:
    """The catalogue in this text; `file` is only its name in errors. Raises `ConfigurationError`."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = f"This is not YAML: {getattr(error, 'problem', None) or error}."
        line = mark.line + 1 if mark else None
        raise ConfigurationError(problem, file=file, line=line, remedy="Correct the line.") from error
    if root is None:
        raise ConfigurationError("The file is empty.", file=file, remedy=f"Give the keys {_words(_KEYS)}.")
    top = _Place(file, "", root)
    parts = dict(top.entries(known=_KEYS, required=_KEYS))
    edition = parts["edition"].text()
    if not edition:
        parts["edition"].refuse("The edition is empty.", "Name the source of the catalogue and its date.")
    xids = {xid.number: xid for xid in map(_xid, parts["xids"].entries())}
    if not xids:
        parts["xids"].refuse("No Xid is listed.", "List them as `79: {class: reboot}`.")
    return Catalogue(edition, xids)


@dataclass(frozen=True, slots=True)
class _Place:
    """One node of the file, and where it is."""

    file: str
    path: str
    node: yaml.Node

    def refuse(self, problem: str, remedy: str) -> NoReturn:
        line = self.node.start_mark.line + 1
        raise ConfigurationError(problem, file=self.file, line=line, path=self.path or None, remedy=remedy)

    def entries(self, *, known: tuple[str, ...] = (), required: tuple[str, ...] = ()) -> Iterator[tuple[str, _Place]]:
        """Key and place of each entry. With `known`, other keys are refused; missing or double ones always are."""
        if not isinstance(self.node, yaml.MappingNode):
            self.refuse("This is not a mapping.", f"Give {_words(known)}." if known else "Write `key: value`.")
        seen: set[str] = set()
        for key_node, value in self.node.value:
            here = _Place(self.file, self.path, key_node)
            key = here.text()
            inside = _Place(self.file, f"{self.path}.{key}".removeprefix("."), value)
            if key in seen:
                here.refuse(f"{key!r} is given twice.", "Keep one of the two.")
            if known and key not in known:
                here.refuse(f"{key!r} is not known here.", f"Known are {_words(known)}.")
            seen.add(key)
            yield key, inside
        for key in required:
            if key not in seen:
                self.refuse(f"{key!r} is missing.", f"Add `{key}:`.")

    def text(self) -> str:
        if not isinstance(self.node, yaml.ScalarNode):
            self.refuse("This is not a plain value.", "Write a word, a number or a quoted sentence.")
        return "" if self.node.tag == _NULL else str(self.node.value).strip()


def _xid(entry: tuple[str, _Place]) -> Xid:
    number, place = entry
    if not _NUMBER.fullmatch(number):
        place.refuse(f"{number!r} is not the number of an Xid.", "Use a whole number from 1 up, like 79.")
    given = {key: (inside, inside.text()) for key, inside in place.entries(known=_FIELDS, required=_REQUIRED)}
    inside, word = given["class"]
    if word not in tuple(XidClass):
        inside.refuse(f"{word!r} is not a class.", f"Use one of: {', '.join(XidClass)}.")
    words = {key: text for key, (_, text) in given.items()}
    return Xid(
        number=int(number),
        name=words.get("name", ""),
        title=words.get("title", ""),
        nvidia=words.get("nvidia", ""),
        class_=XidClass(word),
        why=words.get("why", ""),
    )


def _words(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
