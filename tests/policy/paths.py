"""Every key that the policy file may have, drawn from the dataclasses that it becomes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import timedelta
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from app.durations import write_duration


def keys_of(record: Any, path: str = "") -> Iterator[tuple[str, str | None]]:
    """Each key as `pools[].mode`, and its default as the file spells it; None for a key that must be given.

    A section comes before its keys, with the default "section", or "null" where it may be left out as a whole.
    """
    hints = get_type_hints(record)
    for part in fields(record):
        kind = hints[part.name]
        inside = f"{path}.{part.name}".removeprefix(".")
        of_list = next((arg for arg in get_args(kind) if is_dataclass(arg)), None)
        if of_list and NoneType in get_args(kind):
            yield inside, spelt(part.default)
            yield from keys_of(of_list, inside)
        elif of_list and get_origin(kind) is Mapping:  # records under free names, whose keys have tables of their own
            yield inside, "{}"
        elif is_dataclass(kind) or of_list:
            yield inside, "section"
            yield from keys_of(of_list or kind, f"{inside}[]" if of_list else inside)
        elif part.default is not MISSING:
            yield inside, spelt(part.default)
        elif part.default_factory is not MISSING:
            yield inside, spelt(part.default_factory())
        else:
            yield inside, None


def spelt(value: Any) -> str:
    """A default as the file would spell it."""
    if value is None:
        return "null"
    if isinstance(value, timedelta):
        return write_duration(value)
    if isinstance(value, tuple):
        return f"[{', '.join(value)}]"
    if isinstance(value, bool):
        return str(value).lower()
    if is_dataclass(value):
        value = {part.name: getattr(value, part.name) for part in fields(value)}
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {spelt(part)}' for key, part in value.items())}}}"
    return str(value) or '""'
