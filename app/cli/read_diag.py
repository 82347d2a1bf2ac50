"""`sickbay read-diag`: judge a stored output of `dcgmi diag -j`, exactly as a worker would judge it."""

from __future__ import annotations

import json
from pathlib import Path

import click

from app.cli.tool_output import EXIT_CODES, read_text
from app.domain.diagnostics import Diagnosis, read_diagnosis


@click.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(file: Path, *, as_json: bool) -> None:
    """Judge FILE, the output of `dcgmi diag -r 3 -j` by DCGM 3 or 4 (- reads standard input).

    Ends with 0 for pass, 1 for fail, 2 for inconclusive, and 3 when the file cannot be read.
    """
    diagnosis = read_diagnosis(read_text(file))
    click.echo(_as_json(diagnosis) if as_json else _as_text(diagnosis))
    raise SystemExit(EXIT_CODES[diagnosis.verdict])


def _as_json(diagnosis: Diagnosis) -> str:
    failures = [
        {"gpu": failure.gpu, "test": failure.test, "error": failure.error, "severity": failure.severity}
        for failure in diagnosis.failures
    ]
    return json.dumps(
        {
            "verdict": diagnosis.verdict,
            "reason": diagnosis.reason,
            "failures": failures,
            "skipped": list(diagnosis.skipped),
        }
    )


def _as_text(diagnosis: Diagnosis) -> str:
    lines = [f"{diagnosis.verdict}: {diagnosis.reason}"]
    for failure in diagnosis.failures:
        where = "" if failure.gpu is None else f" on GPU {failure.gpu}"
        lines.append(f"  failed   {failure.test}{where} ({failure.severity}): {failure.error}")
    lines += [f"  skipped  {test}" for test in diagnosis.skipped]
    lines += [f"  remark   {remark}" for remark in diagnosis.remarks]
    return "\n".join(lines)
