from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.bandwidth import Bandwidth, BandwidthSize, judge_bandwidth, read_nccl
from app.domain.outcomes import Verdict

SAMPLES = Path(__file__).parents[1] / "samples" / "nccl_tests"
HEADER = "#  size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  #wrong\n"
ROW = "   268435456   67108864   float   sum   -1   2391.0   112.3   196.5      0   2388.4   112.4   196.7      0\n"
END = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 196.6\n"
OK_SIZE = BandwidthSize(268435456, 196.5, 196.7, 0)


def sample(name: str) -> str:
    return (SAMPLES / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "verdict", "reason"),
    [
        (
            "all_reduce_h100_ok.txt",
            "pass",
            "Complete and correct, 479 GB/s over 8 GPUs; the speed is not judged.",
        ),
        (
            "all_reduce_h100_ok.json",
            "pass",
            "Complete and correct, 479 GB/s over 8 GPUs; the speed is not judged.",
        ),
        (
            "all_reduce_h100_older_format.txt",
            "pass",
            "Complete and correct, 479 GB/s over 8 GPUs; the speed is not judged.",
        ),
        (
            "all_reduce_corruption_exit7.txt",
            "fail",
            "Values were out of bounds: the GPUs or their links corrupt what they send.",
        ),
    ],
)
def test_every_sample_is_judged_with_its_sentence(name: str, verdict: str, reason: str) -> None:
    measured = read_nccl(sample(name))
    assert (measured.verdict, measured.reason) == (verdict, reason)


@pytest.mark.parametrize("name", ["all_reduce_h100_ok.txt", "all_reduce_h100_older_format.txt"])
def test_text_and_json_of_one_run_read_alike(name: str) -> None:
    text, document = read_nccl(sample(name)), read_nccl(sample("all_reduce_h100_ok.json"))
    assert text.bus_bandwidth_gb_s == pytest.approx(document.bus_bandwidth_gb_s, abs=0.01)
    assert text.average_gb_s == pytest.approx(document.average_gb_s, abs=0.001)
    assert text.ranks == document.ranks == 8
    assert [size.bytes for size in text.sizes] == [size.bytes for size in document.sizes]
    assert [size.wrong for size in text.sizes] == [size.wrong for size in document.sizes] == [0] * 5


def test_the_figure_is_the_mean_of_both_places_at_the_largest_size() -> None:
    measured = read_nccl(sample("all_reduce_h100_ok.txt"))
    assert measured.sizes[-1] == BandwidthSize(8589934592, 478.77, 478.29, 0)
    assert measured.bus_bandwidth_gb_s == pytest.approx((478.77 + 478.29) / 2)
    assert measured.average_gb_s == 473.839


@pytest.mark.parametrize(
    ("text", "verdict", "reason"),
    [
        ("", "inconclusive", "The output holds no result of a bandwidth test."),
        (
            # One GPU: no bus. NVIDIA/nccl-tests issue 287.
            f"16777216 4194304 float none -1 11.20 1497.97 0.00 0 0.91 18436.50 0.00 N/A\n{END}",
            "inconclusive",
            "No bus bandwidth was measured at the largest size.",
        ),
        (
            # NVIDIA/nccl-tests issue 7.
            "134217728 33554432 float sum -1 1190.8 112.7 197.2 248 1186.6 113.1 197.9 0\n"
            + END.replace("0 OK", "248 FAILED"),
            "fail",
            "Wrong values: 248. The GPUs or their links corrupt what they send.",
        ),
        (
            # The column of older versions: a rounding error, 0e+00 or 1e-06. NVIDIA/nccl issue 340.
            f"67108864 8388608 float 1710.4 39.24 39.24 0e+00 1702.9 39.41 39.41 1e-06\n{END}",
            "pass",
            "Complete and correct, 39.3 GB/s; the speed is not judged.",
        ),
        (
            # A hang: the head and nothing else until the time limit. NVIDIA/nccl-tests issue 244.
            "# nThread 1 nGpus 4 minBytes 8 maxBytes 134217728 step: 2(factor)\n# Using devices\n",
            "inconclusive",
            "The output holds no result of a bandwidth test.",
        ),
        (
            # NVIDIA/nccl issue 1706.
            f"{ROW}gpu-a01:81:99 [0] NCCL INFO comm 0x55 rank 0 nranks 2 - Destroy COMPLETE\n{ROW}{END}",
            "pass",
            "Complete and correct, 197 GB/s; the speed is not judged.",
        ),
        (
            f"{HEADER}{ROW}",
            "inconclusive",
            "The test did not end: the closing line on values out of bounds is missing.",
        ),
    ],
    ids=["nothing", "one GPU", "wrong values", "rounding errors", "hang", "interleaved", "cut off"],
)
def test_outputs_of_the_field_are_judged_right(text: str, verdict: str, reason: str) -> None:
    measured = read_nccl(text)
    assert (measured.verdict, measured.reason) == (verdict, reason)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (HEADER + ROW + END, OK_SIZE),
        (ROW + END, OK_SIZE),
        ((HEADER + ROW + END).replace("busbw  #", "busbw#"), OK_SIZE),
        ("".join(f"[1,0]<stdout>:{line}\n" for line in (HEADER + ROW + END).splitlines()), OK_SIZE),
        (
            "# size count type redop root time algbw busbw #wrong\n1024 256 float sum -1 1.2e+06 0.5 1.5e+02 N/A\n",
            BandwidthSize(1024, 150.0, None, None),
        ),
        (HEADER + "1024 256 float sum -1 10.1 0.5 150 0\n" + END, BandwidthSize(1024, 150.0, None, 0)),
        ("1024 256 float sum -1 10.1 0.5 150 7\n" + END, BandwidthSize(1024, 150.0, None, 7)),
        (
            "# size count busbw time algbw #wrong\n1024 256 float 10 0.5 0\n" + END,
            None,
        ),
        (
            "#  bytes  N  type  op  time  algbw  busbw  res  time  algbw  busbw  res\n"
            "1024 256 float sum 10 0.5 150 2e+00 10 0.5 151 1e-06\n" + END,
            BandwidthSize(1024, 150.0, 151.0, 0),
        ),
        (
            "#  size count type redop time busbw algbw error time busbw algbw error\n"
            "1024 256 float sum 10 150 0.5 3e-06 10 151 0.5 N/A\n" + END,
            BandwidthSize(1024, 150.0, 151.0, 0),
        ),
        (HEADER + "1024 256 float sum -1 10 0.5 nan 0 10 0.5 151 -1\n" + END, BandwidthSize(1024, None, 151.0, 0)),
        (HEADER + ROW.replace("      0\n", "  1e+06\n") + END, BandwidthSize(268435456, 196.5, 196.7, 1000000)),
    ],
)
def test_columns_are_found_by_their_header(text: str, size: BandwidthSize | None) -> None:
    assert next(iter(read_nccl(text).sizes), None) == size


@pytest.mark.parametrize(
    ("text", "verdict", "reason"),
    [
        (HEADER + ROW + "# Out of bounds values : 3 FAILED\n", "fail", "Values were out of bounds"),
        (HEADER + ROW + "# Out of bounds values : 3 FAILED\n" + ROW + END, "fail", "Values were out of bounds"),
        (HEADER + ROW.replace("  0 ", "  9 "), "fail", "Wrong values: 9."),
        (HEADER + ROW + END + ROW, "inconclusive", "The test did not end"),
        (HEADER + ROW + "# Out of bounds values : 0", "inconclusive", "The test did not end"),
        (HEADER + ROW + "# Out of bounds values : 0 O", "inconclusive", "The test did not end"),
        (HEADER + ROW + "1024 256 float sum -1 10.1\n" + END, "inconclusive", "A row cannot be read: 1024 256 float"),
        ("1024 256 float sum -1 10.1 0.5 150 7 10.1\n" + END, "inconclusive", "A row cannot be read: 1024 256 float"),
        (
            HEADER + ROW + "1024 256 float gpu-a01:81:99 [0] NCCL INFO hello\n" + END,
            "inconclusive",
            "A row cannot be read: 1024 256 float gpu-a01:81:99 [0] NCCL INFO hello",
        ),
        (
            HEADER + ROW + "gpu-a01: Test NCCL failure common.cu:958 'unhandled system error'\n",
            "inconclusive",
            "It stopped: gpu-a01: Test NCCL failure common.cu:958 'unhandled system error'",
        ),
        (HEADER + END, "inconclusive", "The output holds no result"),
        (HEADER + ROW.replace("  0 ", " N/A ").replace("  0\n", "N/A\n") + END, "inconclusive", "The values of 1 of 1"),
        ("#  Rank  0 Group  0 Pid 1 on a\n" + HEADER + ROW + END, "inconclusive", "One GPU alone has no bus"),
        (HEADER + ROW + END.replace("196.6", "196.6 FAILED"), "fail", "197 GB/s: the test itself found it too slow"),
        (HEADER + ROW.replace("196.", "91960.") + END, "inconclusive", "91961 GB/s is more than any machine has"),
        (HEADER + ROW + END.replace("196.6", "196.6 OK"), "pass", "Complete and correct, 197 GB/s;"),
    ],
)
def test_doubts_and_failures_are_told_apart(text: str, verdict: str, reason: str) -> None:
    measured = read_nccl(text)
    assert measured.verdict == verdict
    assert measured.reason.startswith(reason)


def changed_document(**changed: object) -> str:
    document: dict[str, Any] = json.loads(sample("all_reduce_h100_ok.json"))
    return json.dumps(document | changed)


@pytest.mark.parametrize(
    ("text", "verdict", "reason"),
    [
        (changed_document(), "pass", "Complete and correct"),
        ("all_reduce_perf started\n" + changed_document() + "\nbye\n", "pass", "Complete and correct"),
        (changed_document(out_of_bounds={"count": 3, "okay": False}), "fail", "Values were out of bounds"),
        (changed_document(out_of_bounds={"count": 3, "okay": True}), "fail", "Values were out of bounds"),
        (changed_document(out_of_bounds=None), "inconclusive", "The test did not end"),
        (changed_document(errors=["remote process exited"]), "inconclusive", "It stopped: "),
        (changed_document(results=None), "inconclusive", "The output holds no result"),
        (changed_document(results=[]), "inconclusive", "The output holds no result"),
        (changed_document(results=[7]), "inconclusive", "A result cannot be read."),
        (changed_document(results=[{"size": True}]), "inconclusive", "A result cannot be read."),
        (changed_document(results=[{"size": 8}]), "inconclusive", "The values of 1 of 1 sizes were not checked."),
        (
            changed_document(results=[{"size": 8, "out_of_place": {"bus_bw": 1, "nwrong": 0.2}}]),
            "fail",
            "Wrong values: 1.",
        ),
        (
            changed_document(results=[{"size": 8, "out_of_place": {"bus_bw": 1, "nwrong": "N/A"}, "in_place": None}]),
            "inconclusive",
            "The values of 1 of 1 sizes were not checked.",
        ),
        (
            changed_document(results=[{"size": 8, "in_place": {"bus_bw": [1], "nwrong": 0}}]),
            "inconclusive",
            "No bus bandwidth was measured at the largest size.",
        ),
        (
            changed_document(results=[{"size": 8, "in_place": {"bus_bw": "9" * 400, "nwrong": 0}}]),
            "inconclusive",
            "No bus bandwidth was measured at the largest size.",
        ),
        (changed_document(average_bus_bandwidth={"bandwidth": 4, "okay": False}), "fail", "479 GB/s: the test itself"),
        (changed_document(config=None), "pass", "Complete and correct, 479 GB/s;"),
        (changed_document(config={"devices": [{}]}), "inconclusive", "One GPU alone has no bus"),
    ],
)
def test_documents_are_judged_like_tables(text: str, verdict: str, reason: str) -> None:
    measured = read_nccl(text)
    assert measured.verdict == verdict
    assert measured.reason.startswith(reason)


def test_the_environment_in_a_document_is_not_kept() -> None:
    assert "hunter2" not in repr(read_nccl(changed_document(env=["PASSWORD=hunter2"])))


def test_a_document_cut_anywhere_never_passes() -> None:
    text = sample("all_reduce_h100_ok.json").rstrip()
    for end in range(0, len(text), 37):
        assert read_nccl(text[:end]).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("name", ["all_reduce_h100_ok.txt", "all_reduce_corruption_exit7.txt"])
def test_a_table_cut_before_its_closing_line_never_passes(name: str) -> None:
    text = sample(name)
    closing = text.index("# Out of bounds values : ") + len("# Out of bounds values : 0 O")
    for end in range(0, closing, 11):
        assert read_nccl(text[:end]).verdict is Verdict.INCONCLUSIVE


def test_a_corrupt_run_with_holes_never_passes() -> None:
    text = sample("all_reduce_corruption_exit7.txt")
    chance = random.Random(7)
    for _ in range(500):
        begin = chance.randrange(len(text))
        assert read_nccl(text[:begin] + text[begin + chance.randrange(1, 200) :]).verdict is not Verdict.PASS


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    assert read_nccl(text).verdict is Verdict.INCONCLUSIVE


def test_a_long_output_of_nothing_is_read_in_linear_time() -> None:
    assert read_nccl("\n" * 100_000).verdict is Verdict.INCONCLUSIVE  # A quadratic search would meet the time limit.


def run_at(speed: float) -> Bandwidth:
    return Bandwidth(Verdict.PASS, "Complete and correct.", bus_bandwidth_gb_s=speed)


@pytest.mark.parametrize(
    ("speed", "floor", "peers", "verdict", "sentence"),
    [
        (478.0, None, [477.0] * 22, "pass", "478 GB/s against 22 peers, median 477."),
        (478.0, 440.0, [477.0] * 22, "pass", "478 GB/s against 22 peers, median 477, above the floor of 440 GB/s."),
        (367.0, 440.0, [477.0] * 22, "fail", "367 GB/s is below the floor of 440 GB/s."),
        (367.0, None, [477.0] * 22, "fail", "367 GB/s against 22 peers, median 477: more than 10 % slower."),
        (90.0, None, [90.0, 100.0, 110.0], "pass", "90.0 GB/s against 3 peers, median 100."),
        (89.9, None, [90.0, 100.0, 110.0], "fail", "89.9 GB/s against 3 peers, median 100: more than 10 % slower."),
        (200.0, None, [477.0, 478.0], "pass", "200 GB/s; compared with peers from 3 on, 2 are known so far."),
        (200.0, None, [477.0], "pass", "200 GB/s; compared with peers from 3 on, 1 is known so far."),
        (
            440.0,
            440.0,
            [],
            "pass",
            "440 GB/s, above the floor of 440 GB/s; compared with peers from 3 on, 0 are known so far.",
        ),
        (
            200.0,
            None,
            [477.0, 478.0, float("nan"), float("inf"), 0.0, -1.0],
            "pass",
            "200 GB/s; compared with peers from 3 on, 2 are known so far.",
        ),
        (200.0, float("nan"), [], "fail", "200 GB/s is below the floor of nan GB/s."),
    ],
)
def test_speed_is_judged_against_floor_and_peers(
    speed: float, floor: float | None, peers: list[float], verdict: str, sentence: str
) -> None:
    assert judge_bandwidth(run_at(speed), floor_gb_s=floor, peers=peers) == (verdict, sentence)


def test_the_tolerance_is_a_choice() -> None:
    peers = [100.0] * 3
    assert judge_bandwidth(run_at(96.0), floor_gb_s=None, peers=peers, tolerance=0.02)[0] is Verdict.FAIL
    assert judge_bandwidth(run_at(71.0), floor_gb_s=None, peers=peers, tolerance=0.3)[0] is Verdict.PASS


def test_a_run_that_did_not_pass_keeps_its_verdict_however_fast_it_was() -> None:
    for name in ("all_reduce_corruption_exit7.txt", "absent"):
        measured = read_nccl(sample(name) if name != "absent" else "")
        judged = judge_bandwidth(measured, floor_gb_s=1.0, peers=[1.0] * 9)
        assert judged == (measured.verdict, measured.reason)
        assert judged[0] is not Verdict.PASS
