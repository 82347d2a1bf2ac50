"""Judges the output of `dcgmi diag -j`: pass, fail or inconclusive, with the sentence that says why.

A pass has to be earned: every required test ran on every GPU, and nothing it said speaks against giving the node back.
A fail needs a finding that was read in full. Everything else is inconclusive. Exit codes, time limits and what follows
from a verdict are not decided here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from app.domain.diagnosis_coverage import LEVEL_3, LEVEL_3_SINCE_4, OPTIONAL, Coverage, canonical_name, gap
from app.domain.diagnosis_tree import Finding, Output, Result, Run, read_output
from app.domain.faults import read_serial
from app.domain.outcomes import Verdict

_NOT_RUN = frozenset({"skip", "not run"})
_HARMLESS = frozenset({"monitor", "none", None})
_MOST_LISTED = 256
_MOST_SHOWN = 8


@dataclass(frozen=True, slots=True)
class DiagnosisFailure:
    """A finding against a GPU. `gpu` is DCGM's index, None when the test blames no single one.

    `error` is DCGM's sentence, `severity` its word (isolate, reset, triage, config, none, unknown), `error_id` the
    number of dcgm_errors.h where the output gives it.
    """

    gpu: int | None
    test: str
    error: str
    severity: str
    error_id: int | None = None


@dataclass(frozen=True, slots=True)
class DiagnosedGpu:
    """A GPU that the output lists, and its serial (a text, leading zeros kept), None when the board tells none."""

    index: int
    serial: str | None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The judged output.

    `failures` are all findings that keep the node, those of severity `config` (something to set up, then to run
    again) included; `skipped` are the names of tests that were skipped somewhere; `remarks` are sentences that a
    person may want to read and that change nothing.
    """

    verdict: Verdict
    reason: str
    failures: tuple[DiagnosisFailure, ...] = ()
    skipped: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    gpus: tuple[DiagnosedGpu, ...] = ()


def read_diagnosis(
    text: str, *, expected_gpus: int | None = None, required_tests: frozenset[str] | None = None
) -> Diagnosis:
    """Judge what `dcgmi diag -j` printed; never raises, whatever the text.

    `expected_gpus`: fewer tested ones are inconclusive. `required_tests`: names of tests (of either DCGM version) that
    must have run on every GPU; any other may be skipped. None means level 3, and that nothing listed is skipped but
    what is OPTIONAL.
    """
    output = read_output(text)
    notes = _Notes()
    for run in output.runs:
        _judge_run(run, expected_gpus, required_tests, notes)
    verdict, reason = _verdict(text, output, notes)
    return Diagnosis(
        verdict=verdict,
        reason=reason,
        failures=tuple(dict.fromkeys((*notes.failures, *notes.to_set_up)))[:_MOST_LISTED],
        skipped=tuple(dict.fromkeys(notes.skipped))[:_MOST_LISTED],
        remarks=tuple(dict.fromkeys(notes.remarks))[:_MOST_LISTED],
        gpus=_gpus(output.runs),
    )


@dataclass(slots=True)
class _Notes:
    """What the runs gave, gathered while they are walked."""

    failures: list[DiagnosisFailure] = field(default_factory=list)
    to_set_up: list[DiagnosisFailure] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    tests: set[str] = field(default_factory=set)


def _verdict(text: str, output: Output, notes: _Notes) -> tuple[Verdict, str]:
    if output.torn:
        return Verdict.INCONCLUSIVE, "The output of the diagnosis is cut off or damaged."
    if not output.runs:
        return Verdict.INCONCLUSIVE, _nothing_found(text, output.unreadable)
    if notes.failures:
        return Verdict.FAIL, _sentence_on(notes.failures)
    doubts = [*notes.doubts, *output.unreadable]
    if output.overall_failed and not notes.to_set_up:
        doubts.append("The overall result is Fail, but no finding says why.")
    if doubts:
        return Verdict.INCONCLUSIVE, " ".join(list(dict.fromkeys(doubts))[:_MOST_SHOWN])
    if notes.to_set_up:
        return Verdict.INCONCLUSIVE, f"Set up and run again: {_sentence_on(notes.to_set_up)}"
    remarks = f", with {_count(len(set(notes.remarks)), 'remark')}" if notes.remarks else ""
    ran = f"{_count(len(_gpus(output.runs)), 'GPU')} passed {_count(len(notes.tests), 'test')}"
    return Verdict.PASS, f"{ran}{remarks}."


def _nothing_found(text: str, unreadable: list[str]) -> str:
    if not text.strip():
        return "The diagnosis printed nothing."
    first = "".join(letter if letter.isprintable() else " " for letter in text.strip().splitlines()[0])
    return " ".join(["The output holds no diagnosis.", *unreadable[:1], f"It begins: {first[:120]}"])


def _sentence_on(failures: list[DiagnosisFailure]) -> str:
    distinct = list(dict.fromkeys(failures))
    first = distinct[0]
    on = "" if first.gpu is None else f" on GPU {first.gpu}"
    more = f" {_count(len(distinct) - 1, 'more finding')} of this kind." if len(distinct) > 1 else ""
    return f"{first.test} failed{on}: {first.error.rstrip('.')} (severity {first.severity}).{more}"


def _judge_run(run: Run, expected_gpus: int | None, required: frozenset[str] | None, notes: _Notes) -> None:
    if run.runtime_error is not None:
        notes.doubts.append(f"The diagnosis did not run: {run.runtime_error.rstrip('.') or 'no error is named'}.")
        return
    coverage = Coverage(known=set(run.serials))
    for test in run.tests:
        name = canonical_name(test.name, test.category)
        coverage.listed.append(name)
        for result in test.results:
            coverage.known.update(result.gpus)
            _judge_result(test.name, result, notes)
            if result.status in _NOT_RUN:
                notes.skipped.append(test.name)
                coverage.skipped.setdefault(name, set()).update(result.gpus)
            else:
                notes.tests.add(test.name)
                coverage.ran.setdefault(name, set()).update(result.gpus)
    if required is None:
        since_4 = run.major is not None and run.major >= 4
        required = (LEVEL_3_SINCE_4 if since_4 else LEVEL_3) | (set(coverage.listed) - OPTIONAL)
    else:
        required = frozenset(canonical_name(name, "") for name in required)
    _judge_coverage(coverage, required, expected_gpus, notes)


def _judge_result(test: str, result: Result, notes: _Notes) -> None:
    gpu = result.gpus[0] if len(result.gpus) == 1 else None
    on = "" if gpu is None else f" on GPU {gpu}"
    severities = {finding.severity for finding in result.findings}
    if result.status == "fail":
        findings = result.findings or (Finding("no message"),)
        if severities and severities <= {"monitor"}:
            notes.remarks.extend(f"{test}{on}: {finding.text}" for finding in findings)
            return
        failures = [
            DiagnosisFailure(gpu, test, finding.text or "no message", finding.severity or "unknown", finding.error_id)
            for finding in findings
            if finding.severity != "monitor"
        ]
        (notes.to_set_up if severities <= {"config", "monitor"} and severities else notes.failures).extend(failures)
        return
    notes.remarks.extend(f"{test}{on}: {finding.text}" for finding in result.findings)
    if result.status != "pass" and result.status not in _NOT_RUN:
        notes.doubts.append(f"{test}{on}: the result {result.status[:40]!r} is not known.")
    elif not severities <= _HARMLESS:
        notes.doubts.append(f"{test}{on}: it says {result.status}, but warns of something grave.")


def _judge_coverage(coverage: Coverage, required: frozenset[str], expected_gpus: int | None, notes: _Notes) -> None:
    if not coverage.ran:
        notes.doubts.append("No test ran.")
    per_gpu = [gpus for name, gpus in coverage.ran.items() if name in required and gpus]
    tested = set.intersection(*per_gpu) if per_gpu else set().union(*coverage.ran.values())
    if not tested:
        notes.doubts.append("No GPU was tested in full.")
    if expected_gpus is not None and len(tested) < expected_gpus:
        notes.doubts.append(f"{len(tested)} of {_count(expected_gpus, 'expected GPU')} were tested in full.")
    gaps: dict[str, list[str]] = {}
    for name in sorted(required | set(coverage.skipped)):
        missing = gap(name, coverage)
        if missing and name in required:
            gaps.setdefault(missing, []).append(name)
        elif missing:
            notes.remarks.append(f"{name}: {missing}.")
    notes.doubts.extend(f"{', '.join(names)}: {missing}." for missing, names in gaps.items())


def _gpus(runs: Iterable[Run]) -> tuple[DiagnosedGpu, ...]:
    """Every GPU that any run lists or tested. DCGM prints <<<NOT_SUPPORTED>>> and its like where there is no serial."""
    found: dict[int, str | None] = {}
    for run in runs:
        for index in {index for test in run.tests for result in test.results for index in result.gpus}:
            found.setdefault(index, None)
        for index, serial in run.serials.items():
            found[index] = (None if serial.startswith("<<<") else read_serial(serial)) or found.get(index)
    return tuple(DiagnosedGpu(index, serial) for index, serial in sorted(found.items())[:_MOST_LISTED])


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
