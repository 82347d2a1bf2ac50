"""Reads `config/nvlink.yaml` and `config/sxids.yaml`, and refuses a bad one with each mistake, its line and a remedy.

Their shape is that of the dataclasses in `app.domain.nvlink` and `app.domain.switches`, read by `app.yaml_records`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from app.domain.kernel_lines import KernelTables
from app.domain.nvlink import ANALYSED, NVLINK5, Bits, NvlinkTables, Rule
from app.domain.switches import SwitchCatalogue, Sxid
from app.errors import ConfigurationError
from app.xid_file import load_xids
from app.yaml_records import Check, Objection, RecordReader

_PATTERN: Final = re.compile(r"[01-]{32}")
_WORD: Final = re.compile(r"0x[0-9a-f]{8}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Switches:
    """The file of SXids as it is written: a list, since a number is no key of a mapping of texts."""

    edition: str
    sxids: tuple[Sxid, ...]


def load_kernel_tables(directory: Path) -> KernelTables:
    """All by which kernel lines are judged, from the files in this directory. Raises `ConfigurationError`."""
    nvlink = read_nvlink(_text_of(directory / "nvlink.yaml"), file=str(directory / "nvlink.yaml"))
    switches = read_sxids(_text_of(directory / "sxids.yaml"), file=str(directory / "sxids.yaml"))
    return KernelTables(xids=load_xids(directory / "xids.yaml"), nvlink=nvlink, switches=switches)


def read_nvlink(text: str, *, file: str) -> NvlinkTables:
    """The tables in this text; `file` is only its name in errors. Raises `ConfigurationError`."""
    tables: NvlinkTables = _read(NvlinkTables, text, file)
    return tables


def read_sxids(text: str, *, file: str) -> SwitchCatalogue:
    """The catalogue in this text; `file` is only its name in errors. Raises `ConfigurationError`."""
    given: _Switches = _read(_Switches, text, file)
    return SwitchCatalogue(edition=given.edition, sxids={sxid.sxid: sxid for sxid in given.sxids})


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problem = f"The table cannot be read ({getattr(error, 'strerror', None) or error})."
        raise ConfigurationError(problem, file=str(path), remedy="Put a readable UTF-8 file there.") from error


def _read(kind: Any, text: str, file: str) -> Any:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.reader.ReaderError as error:
        at = text.count("\n", 0, error.position) + 1
        remedy = "Take the control character out."
        raise ConfigurationError("A character may not stand in YAML.", file=file, line=at, remedy=remedy) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = f"This is not YAML: {getattr(error, 'problem', None) or error}."
        line = mark.line + 1 if mark else None
        raise ConfigurationError(problem, file=file, line=line, remedy="Correct the line.") from error
    if root is None:
        raise ConfigurationError("The file is empty.", file=file, remedy="Start from the file that is shipped.")
    reader = RecordReader(file, CHECKS)
    table = reader.read(kind, root)
    if reader.problems:
        raise min(reader.problems, key=lambda problem: problem.line or 0)
    return table


def _rule(rule: Rule) -> Iterator[Objection]:
    if rule.xid not in NVLINK5:
        yield Objection(".xid", f"Xid {rule.xid} is not decoded by rules.", "Use a number from 144 to 150.")
    for name in ("before_575", "from_575"):
        if not _PATTERN.fullmatch(getattr(rule, name)):
            yield Objection(f".{name}", "This is no pattern of 32 bits.", "Write 32 characters of 0, 1 and -.")
    for place, word in enumerate(rule.status):
        if not _WORD.fullmatch(word):
            yield Objection(f".status[{place}]", f"{word[:40]!r} is no word.", 'Write it like "0x00000001".')


def _bits(row: Bits) -> Iterator[Objection]:
    if row.register not in ANALYSED:
        yield Objection(".register", f"Register {row.register} means nothing.", f"Use one of {ANALYSED}.")
    if not row.bits or any(bit not in range(32) for bit in row.bits):
        yield Objection(".bits", "These are no bits of a register.", "List numbers from 0 to 31.")


def _each_once(sxids: tuple[Sxid, ...]) -> Iterator[Objection]:
    seen: set[int] = set()
    for place, sxid in enumerate(sxids):
        if sxid.sxid in seen:
            yield Objection(f"[{place}]", f"SXid {sxid.sxid} is listed twice.", "Keep one of the two.")
        seen.add(sxid.sxid)


def _something(rows: tuple[Any, ...]) -> Iterator[Objection]:
    if not rows:
        yield Objection("", "Nothing is listed.", "Start from the file that is shipped.")


CHECKS: Final[dict[tuple[type, str], Check]] = {
    (Rule, ""): _rule,
    (Bits, ""): _bits,
    (NvlinkTables, "registers"): _something,
    (NvlinkTables, "rules"): _something,
    (_Switches, "sxids"): _each_once,
}
"""What values must keep beyond their types, by record and field."""
