"""Judges an NCCL bandwidth test: did it end, is every value right, and is it as fast as it should be.

`read_nccl` judges completeness and correctness alone; `judge_bandwidth` adds the speed, against a floor and against
what peers measured. Peers must have run the same collective over the same sizes on the same model: choosing them is
the caller's business.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.nccl_output import BandwidthSize, NcclOutput, read_nccl_output
from app.domain.outcomes import Verdict

__all__ = ["FEWEST_PEERS", "Bandwidth", "BandwidthSize", "judge_bandwidth", "read_nccl"]

FEWEST_PEERS = 3
"""A median of fewer may be one sick machine."""


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """A judged run.

    `bus_bandwidth_gb_s` is the bus bandwidth at the largest message, the mean of out of place and in place: there the
    links are saturated and latency has no part in it, it does not change with the smallest size of the sweep as the
    average does, and for a run of one size it is the tool's own average, which published limits are written for.
    `average_gb_s` is that average, over all sizes. `ranks` is the number of GPUs, None when the output does not list
    them. All figures in GB/s as nccl-tests counts them (10^9 bytes).
    """

    verdict: Verdict
    reason: str
    bus_bandwidth_gb_s: float | None = None
    sizes: tuple[BandwidthSize, ...] = ()
    ranks: int | None = None
    average_gb_s: float | None = None


def read_nccl(text: str) -> Bandwidth:
    """Judge completeness and correctness of what nccl-tests printed, as text or JSON; never raises.

    A wrong value fails, however fast it came. No closing line, no row, an unreadable row, values that nobody checked,
    or one GPU alone (which has no bus to measure) are inconclusive.
    """
    output = read_nccl_output(text)
    speed = _at_largest(output.sizes)
    verdict, reason = _verdict(output, speed)
    return Bandwidth(verdict, reason, speed, tuple(output.sizes), output.ranks, output.average_gb_s)


IMPLAUSIBLE_GB_S = 10_000.0
"""More than ten times the bus bandwidth of any node that figures are published for."""


def judge_bandwidth(
    measured: Bandwidth, *, floor_gb_s: float | None, peers: Sequence[float], tolerance: float = 0.1
) -> tuple[Verdict, str]:
    """Whether the measured run is fast enough, and the sentence that says so.

    Fails below `floor_gb_s`, or more than `tolerance` (a share of 1) below the median of `peers` (GB/s each) when there
    are at least FEWEST_PEERS. Without either it passes on correctness, and says so. A run that did not pass itself
    keeps its verdict and reason.
    """
    speed = measured.bus_bandwidth_gb_s
    if measured.verdict is not Verdict.PASS or speed is None:
        return measured.verdict, measured.reason
    if floor_gb_s is not None and not speed >= floor_gb_s:  # So that a floor of NaN does not let everything pass.
        return Verdict.FAIL, f"{_figure(speed)} GB/s is below the floor of {_figure(floor_gb_s)} GB/s."
    above = "" if floor_gb_s is None else f", above the floor of {_figure(floor_gb_s)} GB/s"
    known = [peer for peer in peers if math.isfinite(peer) and peer > 0]
    if len(known) < FEWEST_PEERS:
        so_far = f"{len(known)} {'is' if len(known) == 1 else 'are'} known so far"
        return Verdict.PASS, f"{_figure(speed)} GB/s{above}; compared with peers from {FEWEST_PEERS} on, {so_far}."
    median = statistics.median(known)
    against = f"{_figure(speed)} GB/s against {len(known)} peers, median {_figure(median)}"
    if speed < (1 - tolerance) * median:
        return Verdict.FAIL, f"{against}: more than {tolerance * 100:.0f} % slower."
    return Verdict.PASS, f"{against}{above}."


def _verdict(output: NcclOutput, speed: float | None) -> tuple[Verdict, str]:
    wrong = sum(size.wrong or 0 for size in output.sizes)
    if wrong:
        return Verdict.FAIL, f"Wrong values: {wrong}. The GPUs or their links corrupt what they send."
    if output.out_of_bounds:
        return Verdict.FAIL, "Values were out of bounds: the GPUs or their links corrupt what they send."
    doubt = _doubt(output)
    if doubt:
        return Verdict.INCONCLUSIVE, doubt
    if not speed:
        return Verdict.INCONCLUSIVE, "No bus bandwidth was measured at the largest size."
    if speed > IMPLAUSIBLE_GB_S:
        return Verdict.INCONCLUSIVE, f"{_figure(speed)} GB/s is more than any machine has: the output is mangled."
    if output.too_slow:
        return Verdict.FAIL, f"{_figure(speed)} GB/s: the test itself found it too slow (NCCL_TESTS_MIN_BW)."
    ranks = "" if output.ranks is None else f" over {output.ranks} GPUs"
    return Verdict.PASS, f"Complete and correct, {_figure(speed)} GB/s{ranks}; the speed is not judged."


def _doubt(output: NcclOutput) -> str | None:
    if output.damage:
        return output.damage
    if not output.sizes:
        return "The output holds no result of a bandwidth test."
    if not output.concluded:
        return "The test did not end: the closing line on values out of bounds is missing."
    if output.ranks == 1:
        return "One GPU alone has no bus bandwidth to measure."
    unchecked = [size.bytes for size in output.sizes if size.wrong is None]
    if unchecked:
        return f"The values of {len(unchecked)} of {len(output.sizes)} sizes were not checked."
    return None


def _at_largest(sizes: Sequence[BandwidthSize]) -> float | None:
    largest = max((size.bytes for size in sizes), default=0)
    figures = [
        figure
        for size in sizes
        if size.bytes == largest
        for figure in (size.out_of_place_gb_s, size.in_place_gb_s)
        if figure is not None
    ]
    return statistics.fmean(figures) if figures else None


def _figure(speed: float) -> str:
    return f"{speed:.0f}" if speed >= 100 else f"{speed:.1f}"
