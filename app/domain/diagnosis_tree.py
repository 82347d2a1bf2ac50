"""Flattens the output of `dcgmi diag -j` into tests and results, whatever DCGM version wrote it.

It only reads: no result is judged here (`app.domain.diagnostics` does). What it cannot read it says, so that an
unreadable part is never taken for a part without findings.

Shapes, from the emitters of NVIDIA/DCGM 3.3.9 and 4.6.0 (dcgmi/Diag.cpp), its own tests, and posted captures: the root
is "DCGM GPU Diagnostic" (3.x), "DCGM Diagnostic" (4.x) or absent; results name GPUs by `gpu_id`, `gpu_ids` (a number, a
text with commas) or an entity; holes in arrays are null; warnings are texts or objects.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.domain.diagnosis_documents import find_documents

SEVERITIES = ("none", "monitor", "isolate", "unknown", "triage", "config", "reset")
"""`error_severity` 0 to 6 of dcgm_errors.h, the same in 3.3.9 and 4.x."""

_ROOTS = ("DCGM Diagnostic", "DCGM GPU Diagnostic")
_BARE_ROOT = ("test_categories", "tests", "runtime_error")
_CPU_GROUPS = (7, 8)  # DCGM_FE_CPU and DCGM_FE_CPU_CORE of dcgm_structs.h
_GPU_GROUP = 1  # DCGM_FE_GPU
_MOST_TEXT = 500


@dataclass(frozen=True, slots=True)
class Finding:
    """One warning. `severity` is a word of SEVERITIES, or None where the output gives none."""

    text: str
    severity: str | None = None
    error_id: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What one test said: `status` in lower case, as printed; `gpus` empty when it speaks of no GPU in particular."""

    gpus: tuple[int, ...]
    status: str
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportedTest:
    """One test of one run. `category` is in lower case and empty where there is none."""

    name: str
    category: str
    results: tuple[Result, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """One pass of the diagnosis over the node. `major` is DCGM's, None when unnamed; serials are as printed."""

    major: int | None
    tests: tuple[ReportedTest, ...]
    serials: Mapping[int, str]
    runtime_error: str | None = None


@dataclass(slots=True)
class Output:
    """All that was read. `torn`: parts of a diagnosis are left over that belong to no readable document."""

    runs: list[Run] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    """Sentences on parts inside a document that have no known shape."""
    overall_failed: bool = False
    torn: bool = False


def read_output(text: str) -> Output:
    """Everything in the text that is a diagnosis."""
    documents, torn = find_documents(text)
    output = Output(torn=torn)
    for document in documents:
        _read_document(document, output)
    return output


def _read_document(document: dict[str, Any], output: Output) -> None:
    if "iterations" not in document:
        _read_run(document, output)
        return
    output.overall_failed |= _text(document.get("Overall Result")).casefold() == "fail"
    for number, iteration in enumerate(_list(document["iterations"]), start=1):
        before = len(output.runs)
        if isinstance(iteration, dict):
            _read_run(iteration, output)
        if len(output.runs) == before:
            output.unreadable.append(f"Iteration {number} cannot be read.")


def _read_run(document: dict[str, Any], output: Output) -> None:
    root = next((document[name] for name in _ROOTS if name in document), None)
    if root is None and "category" not in document and any(key in document for key in _BARE_ROOT):
        root = document
    if root is None:
        return  # A log line in JSON, say.
    if not isinstance(root, dict):
        output.unreadable.append("The root of the diagnosis is no object.")
        return
    tests = [test for category in _categories(root, output) for test in _tests(category, output)]
    error = root.get("runtime_error")
    output.runs.append(
        Run(
            major=_major(document, root),
            tests=tuple(tests),
            serials=_serials(document) or _serials(root),
            runtime_error=None if error is None else _text(error),
        )
    )


def _categories(root: dict[str, Any], output: Output) -> Iterable[dict[str, Any]]:
    if "test_categories" not in root and "tests" in root:
        return [root]
    return _objects(root.get("test_categories"), "category", output)


def _tests(category: dict[str, Any], output: Output) -> Iterable[ReportedTest]:
    where = _text(category.get("category")).casefold()
    for test in _objects(category.get("tests"), "test", output):
        name = _text(test.get("name")) or "unnamed test"
        entries = _objects(test.get("results"), f"result of {name}", output)
        results = [_result(entry) for entry in entries if not _is_cpu(entry)]
        summary = test.get("test_summary")
        if len(results) == len(entries) and isinstance(summary, dict):
            # It repeats the warnings of the results, so it counts only for what no result says.
            summed = Result((), _status(summary), _findings(summary))
            if summed.status != "pass" and all(result.status != summed.status for result in results):
                results.append(summed)
        if results or not entries:  # A test on CPUs alone says nothing about GPUs.
            yield ReportedTest(name, where, tuple(results))


def _result(entry: dict[str, Any]) -> Result:
    return Result(_gpus(entry), _status(entry), _findings(entry))


def _status(entry: dict[str, Any]) -> str:
    status = entry.get("status")
    return " ".join(status.casefold().split()) if isinstance(status, str) else "without a status"


def _findings(entry: dict[str, Any]) -> tuple[Finding, ...]:
    warnings = entry.get("warnings", entry.get("warning"))
    return tuple(_finding(one) for one in _list(warnings) if one is not None)


def _finding(warning: object) -> Finding:
    if not isinstance(warning, dict):
        return Finding(_text(warning))
    # 3.x deployment tests put the text under the plural key inside the object.
    text = warning.get("warning", warning.get("warnings", ""))
    error_id = _integers(warning.get("error_id"))
    return Finding(
        text=_text(text),
        severity=_severity(warning["error_severity"]) if "error_severity" in warning else None,
        error_id=error_id[0] if error_id else None,
    )


def _severity(value: object) -> str:
    number = next(iter(_integers(value)), -1)
    return SEVERITIES[number] if 0 <= number < len(SEVERITIES) else "unknown"


def _is_cpu(entry: dict[str, Any]) -> bool:
    group = entry.get("entity_group")
    if isinstance(group, str):
        return group.strip().casefold().startswith("cpu")
    return entry.get("entity_group_id") in _CPU_GROUPS


def _is_gpu(entry: dict[str, Any]) -> bool:
    group = entry.get("entity_group")
    if isinstance(group, str):
        return group.strip().casefold() == "gpu"
    return bool(entry.get("entity_group_id", _GPU_GROUP) == _GPU_GROUP)


def _gpus(entry: dict[str, Any]) -> tuple[int, ...]:
    if "entity_id" in entry:
        return _integers(entry["entity_id"]) if _is_gpu(entry) else ()
    return _integers(entry.get("gpu_ids", entry.get("gpu_id")))


def _integers(value: object) -> tuple[int, ...]:
    """The whole numbers in 3, "3", "0,1,2" or ["0", 1]; nothing else counts, True least of all."""
    if isinstance(value, str):
        return tuple(int(part) for part in re.split(r"[,\s]+", value) if re.fullmatch(r"[0-9]{1,9}", part))
    if isinstance(value, list):
        return tuple(number for one in value if not isinstance(one, list) for number in _integers(one))
    return (value,) if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else ()


def _serials(document: dict[str, Any]) -> dict[int, str]:
    """Serial per GPU, as printed, for every GPU that the document lists; empty text where it lists none for one."""
    listed = document.get("GPU Device Serials")
    found = {
        number: _text(serial)
        for index, serial in (listed.items() if isinstance(listed, dict) else ())
        for number in _integers(index)
    }
    for group in _list(document.get("entity_groups")):
        if isinstance(group, dict) and _is_gpu(group):
            for entity in _list(group.get("entities")):
                if isinstance(entity, dict):
                    for number in _integers(entity.get("entity_id")):
                        found[number] = _text(entity.get("serial_num"))
    return found


def _major(document: dict[str, Any], root: dict[str, Any]) -> int | None:
    metadata = document.get("metadata")
    places = (metadata if isinstance(metadata, dict) else {}, document, root)
    versions = (re.match(r"\s*([0-9]{1,3})\.", _text(place.get("version"))) for place in places)
    return next((int(version[1]) for version in versions if version), None)


def _objects(value: object, what: str, output: Output) -> list[dict[str, Any]]:
    """The objects of a list. Nulls are holes; anything else is noted as unreadable."""
    entries = [entry for entry in (value if isinstance(value, list) else []) if entry is not None]
    objects = [entry for entry in entries if isinstance(entry, dict)]
    if (value is not None and not isinstance(value, list)) or len(objects) < len(entries):
        output.unreadable.append(f"A {what} has no known shape.")
    return objects


def _list(value: object) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _text(value: object) -> str:
    """A text or number as text; anything else, however deep, as nothing."""
    return str(value).strip()[:_MOST_TEXT] if isinstance(value, (str, int, float)) else ""
