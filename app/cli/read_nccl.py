"""`sickbay read-nccl`: judge a stored output of an nccl-tests run, exactly as a worker would judge it.

Speed is judged against a floor only when one is given; what peers measured is known to the workers, not here.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path

import click

from app.cli.tool_output import EXIT_CODES, read_text
from app.domain.bandwidth import Bandwidth, judge_bandwidth, read_nccl
from app.domain.outcomes import Verdict


def _floor(_context: click.Context, _parameter: click.Parameter, value: float | None) -> float | None:
    if value is not None and not (math.isfinite(value) and value > 0):
        raise click.BadParameter("use a bandwidth above 0, like 440.")
    return value


@click.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--floor", type=float, callback=_floor, metavar="GB_S", help="Fail below this bus bandwidth at the largest size."
)
def command(file: Path, *, as_json: bool, floor: float | None) -> None:
    """Judge FILE, what all_reduce_perf printed or wrote with -J (- reads standard input).

    Ends with 0 for pass, 1 for fail, 2 for inconclusive, and 3 when the file cannot be read. Without --floor a pass
    means complete and correct, at whatever speed.
    """
    measured = read_nccl(read_text(file))
    verdict, reason = measured.verdict, measured.reason
    if floor is not None:
        verdict, reason = judge_bandwidth(measured, floor_gb_s=floor, peers=())
    click.echo(_as_json(measured, verdict, reason) if as_json else _as_text(measured, verdict, reason))
    raise SystemExit(EXIT_CODES[verdict])


def _as_json(measured: Bandwidth, verdict: Verdict, reason: str) -> str:
    return json.dumps(
        {
            "verdict": verdict,
            "reason": reason,
            "bus_bandwidth_gb_s": measured.bus_bandwidth_gb_s,
            "sizes": [asdict(size) for size in measured.sizes],
        }
    )


def _as_text(measured: Bandwidth, verdict: Verdict, reason: str) -> str:
    lines = [f"{verdict}: {reason}"]
    if measured.sizes:
        lines.append(f"  {'bytes':>14}  {'out of place':>12}  {'in place':>12}  {'wrong':>6}")
    for size in measured.sizes:
        speeds = (size.out_of_place_gb_s, size.in_place_gb_s)
        columns = "  ".join(f"{'-' if speed is None else f'{speed:.2f}':>12}" for speed in speeds)
        lines.append(f"  {size.bytes:>14}  {columns}  {'-' if size.wrong is None else size.wrong:>6}")
    return "\n".join(lines)
