"""Reads what `all_reduce_perf` and its siblings of nccl-tests printed: the table, or the document of `-J`.

It only reads: whether the run is complete, correct and fast is judged in `app.domain.bandwidth`. The environment that
`-J` writes along may hold secrets and is never kept.

Formats, from github.com/NVIDIA/nccl-tests (2.19.6, `src/util.cu`) and posted runs of older versions: columns are found
by the header line; older headers glue `busbw#wrong` together, the oldest have `error`, a rounding error, instead of a
count; lines of NCCL and of mpirun stand in between.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_MPIRUN_TAG = re.compile(r"^\[\d+,\d+\]<std(?:out|err)>:\s?")
_ROW = re.compile(r"\s*\d+\s+\d+\s+[a-z]")
_RANK = re.compile(r"#\s+Rank\s+(\d+)\b")
_OUT_OF_BOUNDS = re.compile(r"#\s*Out of bounds values\s*:\s*\d+\s+(OK|FAILED)\s*$")
_AVERAGE = re.compile(r"#\s*Avg bus bandwidth\s*:\s*(\S+)(?:\s+(OK|FAILED))?\s*$")
_BROKEN = re.compile(r".*\bTest (?:NCCL |CUDA )?failure\b")
_DOCUMENT = re.compile(r"^[ \t]{0,80}\{", re.MULTILINE)
_ONE_PLACE = ("time", "algbw", "busbw", "#wrong")
_ROUNDING = ("error", "res")  # Columns of older versions: the largest rounding error, not a count.
_MOST_TEXT = 200


@dataclass(frozen=True, slots=True)
class BandwidthSize:
    """One message size: its bytes and the bus bandwidths in GB/s; None is not measured.

    `wrong` counts wrong values in both places together; None when neither was checked.
    """

    bytes: int
    out_of_place_gb_s: float | None
    in_place_gb_s: float | None
    wrong: int | None


@dataclass(slots=True)
class NcclOutput:
    """All that was read."""

    sizes: list[BandwidthSize] = field(default_factory=list)
    ranks: int | None = None
    average_gb_s: float | None = None
    """The tool's own average, over all sizes and both places."""
    concluded: bool = False
    """The line on values out of bounds closes the table, so every size has been run."""
    out_of_bounds: bool = False
    too_slow: bool = False
    """The tool itself compared its average with NCCL_TESTS_MIN_BW and failed it."""
    damage: str | None = None
    """A sentence on what cannot be read, or on where the tool itself stopped."""


def read_nccl_output(text: str) -> NcclOutput:
    """Everything in the text that is a result of nccl-tests; the table, if there is one, else the document."""
    output = _read_table(text)
    opening = _DOCUMENT.search(text)
    if opening and not output.sizes and not output.concluded:
        return _read_document(text[opening.end() - 1 :])
    return output


def _read_table(text: str) -> NcclOutput:
    output = NcclOutput()
    header: list[str] = []
    ranks: set[int] = set()
    for raw in text.splitlines():
        line = _MPIRUN_TAG.sub("", raw)
        if line.startswith("#") and "busbw" in line:
            header = re.findall(r"#?[A-Za-z]+", line.removeprefix("#"))
        elif rank := _RANK.match(line):
            ranks.add(int(rank[1]))
        elif end := _OUT_OF_BOUNDS.match(line):
            output.concluded = True
            output.out_of_bounds |= end[1] == "FAILED"
        elif average := _AVERAGE.match(line):
            output.average_gb_s = _number(average[1])
            output.too_slow |= average[2] == "FAILED"
        elif _ROW.match(line):
            size = _row(line.split(), header)
            output.concluded = False  # Another run has begun in the same log.
            if size is None:
                output.damage = output.damage or f"A row cannot be read: {' '.join(line.split())[:_MOST_TEXT]}"
            else:
                output.sizes.append(size)
        elif _BROKEN.match(line):
            output.damage = output.damage or f"It stopped: {line.strip()[:_MOST_TEXT]}"
    output.ranks = len(ranks) or None
    return output


def _row(words: list[str], header: list[str]) -> BandwidthSize | None:
    columns = header or _guessed_header(words)
    if len(words) == len(columns) - len(_ONE_PLACE):
        columns = columns[: -len(_ONE_PLACE)]  # Some runs are out of place only.
    starts = [number for number, column in enumerate(columns) if column == "time"]
    if len(words) != len(columns) or len(starts) not in {1, 2}:
        return None
    ends = [*starts[1:], len(columns)]
    places = [
        dict(zip(columns[start:end], words[start:end], strict=True)) for start, end in zip(starts, ends, strict=True)
    ]
    if any("busbw" not in place for place in places):
        return None
    speeds = [_number(place["busbw"]) for place in places]
    return BandwidthSize(
        bytes=int(words[0]),
        out_of_place_gb_s=speeds[0],
        in_place_gb_s=speeds[1] if len(speeds) > 1 else None,
        wrong=_wrong(places),
    )


def _guessed_header(words: list[str]) -> list[str]:
    """The layout of a row whose header line is missing: exactly eight figures at its end, or four, else none."""
    prefix = len(words)
    while prefix and (words[prefix - 1] == "N/A" or _number(words[prefix - 1]) is not None):
        prefix -= 1
    return [""] * prefix + list(_ONE_PLACE) * 2 if len(words) - prefix == 8 else [""] * prefix + list(_ONE_PLACE)


def _wrong(places: list[dict[str, str]]) -> int | None:
    counts = []
    for place in places:
        if any(_number(place.get(column)) is not None for column in _ROUNDING):
            counts.append(0)  # The closing line says whether it is too large.
        elif (count := _number(place.get("#wrong"))) is not None:
            counts.append(int(count))  # Below 1 it is a rounding error in a table without a header.
    return sum(counts) if counts else None


def _read_document(text: str) -> NcclOutput:
    try:
        document, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return NcclOutput(damage="The document is cut off or damaged.")
    output = NcclOutput()
    results = document.get("results")
    for result in results if isinstance(results, list) else []:
        size = _result(result) if isinstance(result, dict) else None
        if size is None:
            output.damage = "A result cannot be read."
        else:
            output.sizes.append(size)
    bounds, average, config = (_object(document, key) for key in ("out_of_bounds", "average_bus_bandwidth", "config"))
    output.concluded = isinstance(bounds.get("okay"), bool)
    output.out_of_bounds = bounds.get("okay") is False or bool(_number(bounds.get("count")))
    output.average_gb_s = _number(average.get("bandwidth"))
    output.too_slow = average.get("okay") is False
    devices = config.get("devices")
    output.ranks = len(devices) if isinstance(devices, list) and devices else None
    if document.get("errors"):
        output.damage = f"It stopped: {json.dumps(document['errors'])[:_MOST_TEXT]}"
    return output


def _result(result: Mapping[str, Any]) -> BandwidthSize | None:
    size = result.get("size")
    if not isinstance(size, int) or isinstance(size, bool):
        return None
    places = [_object(result, key) for key in ("out_of_place", "in_place")]
    counts = [count for place in places if (count := _number(place.get("nwrong"))) is not None]
    return BandwidthSize(
        bytes=size,
        out_of_place_gb_s=_number(places[0].get("bus_bw")),
        in_place_gb_s=_number(places[1].get("bus_bw")),
        wrong=math.ceil(sum(counts)) if counts else None,
    )


def _object(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = document.get(key)
    return value if isinstance(value, dict) else {}


def _number(value: object) -> float | None:
    """A finite number that is not negative, from JSON or print; else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and number >= 0 else None
