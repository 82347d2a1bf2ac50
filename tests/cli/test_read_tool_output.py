"""`sickbay read-diag` and `sickbay read-nccl`: exit codes, JSON, and what happens to a file that cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.cli import root, tool_output

SAMPLES = Path(__file__).parents[1] / "samples"
DIAG = SAMPLES / "dcgmi_diag"
NCCL = SAMPLES / "nccl_tests"


@pytest.mark.parametrize(
    ("command", "file", "code", "begins"),
    [
        ("read-diag", DIAG / "v4_r3_pass_8gpu.json", 0, "pass: 8 GPUs passed 8 tests."),
        ("read-diag", DIAG / "v4_r3_fail_memory_gpu3_isolate.json", 1, "fail: memory failed on GPU 3: "),
        ("read-diag", DIAG / "v4_r3_all_skip_must_not_pass.json", 2, "inconclusive: diagnostic, memory, "),
        ("read-nccl", NCCL / "all_reduce_h100_ok.txt", 0, "pass: Complete and correct, 479 GB/s over 8 GPUs"),
        ("read-nccl", NCCL / "all_reduce_corruption_exit7.txt", 1, "fail: Values were out of bounds"),
        ("read-nccl", DIAG / "v4_r3_pass_8gpu.json", 2, "inconclusive: The output holds no result"),
    ],
)
def test_the_exit_code_is_the_verdict(command: str, file: Path, code: int, begins: str) -> None:
    result = CliRunner().invoke(root, [command, str(file)])
    assert (result.exit_code, result.stdout.startswith(begins)) == (code, True)
    assert result.stderr == ""


def test_findings_skips_and_remarks_are_listed() -> None:
    run = CliRunner()
    failed = run.invoke(root, ["read-diag", str(DIAG / "v4_r3_fail_memory_gpu3_isolate.json")]).stdout
    assert "\n  failed   memory on GPU 3 (isolate): Found 4096 faulty" in failed
    assert failed.endswith("\n  skipped  diagnostic\n")
    remarked = run.invoke(root, ["read-diag", str(DIAG / "v4_r3_thermal_monitor_severity.json")]).stdout
    assert "\n  remark   targeted_stress on GPU 5: GPU 5 clocks" in remarked
    nobody = '{"tests": [{"name": "pcie", "results": [{"status": "Fail", "warning": "bad riser"}]}]}'
    unblamed = run.invoke(root, ["read-diag", "-"], input=nobody)
    assert (unblamed.exit_code, unblamed.stdout) == (
        1,
        "fail: pcie failed: bad riser (severity unknown).\n  failed   pcie (unknown): bad riser\n",
    )


def test_read_diag_prints_one_json_object() -> None:
    result = CliRunner().invoke(root, ["read-diag", "--json", str(DIAG / "v3_r3_fail_memory_gpu0.json")])
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {
        "verdict": "fail",
        "reason": "GPU Memory failed on GPU 0: Found 1 faulty memory elements on GPU 0 Run a field diagnostic on the "
        "GPU (severity isolate).",
        "failures": [
            {
                "gpu": 0,
                "test": "GPU Memory",
                "error": "Found 1 faulty memory elements on GPU 0 Run a field diagnostic on the GPU.",
                "severity": "isolate",
            }
        ],
        "skipped": [],
    }


def test_read_nccl_prints_one_json_object() -> None:
    text = "1024 256 float sum -1 10 0.5 150 0\n# Out of bounds values : 0 OK\n"
    result = CliRunner().invoke(root, ["read-nccl", "-", "--json"], input=text)
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "verdict": "pass",
        "reason": "Complete and correct, 150 GB/s; the speed is not judged.",
        "bus_bandwidth_gb_s": 150.0,
        "sizes": [{"bytes": 1024, "out_of_place_gb_s": 150.0, "in_place_gb_s": None, "wrong": 0}],
    }


def test_a_size_that_was_measured_in_one_place_shows_a_dash() -> None:
    result = CliRunner().invoke(root, ["read-nccl", "-"], input="1024 256 float sum -1 10 0.5 150 N/A\n")
    assert result.stdout.splitlines()[-1].split() == ["1024", "150.00", "-", "-"]


@pytest.mark.parametrize(
    ("floor", "code", "reason"),
    [
        ("440", 0, "479 GB/s, above the floor of 440 GB/s; compared with peers from 3 on, 0 are known so far."),
        ("500", 1, "479 GB/s is below the floor of 500 GB/s."),
    ],
)
def test_speed_is_judged_only_against_a_given_floor(floor: str, code: int, reason: str) -> None:
    arguments = ["read-nccl", str(NCCL / "all_reduce_h100_ok.json"), "--json", "--floor", floor]
    result = CliRunner().invoke(root, arguments)
    assert (result.exit_code, json.loads(result.stdout)["reason"]) == (code, reason)


@pytest.mark.parametrize("floor", ["nan", "inf", "0", "-3", "fast"])
def test_a_floor_that_is_no_bandwidth_is_refused(floor: str) -> None:
    result = CliRunner().invoke(root, ["read-nccl", str(NCCL / "all_reduce_h100_ok.txt"), "--floor", floor])
    assert (result.exit_code, result.stdout) == (3, "")
    assert "Invalid value for '--floor'" in result.stderr


@pytest.mark.parametrize("command", ["read-diag", "read-nccl"])
def test_a_file_that_cannot_be_read_is_never_a_verdict(command: str, tmp_path: Path) -> None:
    absent = CliRunner().invoke(root, [command, str(tmp_path / "absent")])
    assert (absent.exit_code, absent.stdout) == (3, "")
    assert "cannot be read (No such file or directory). Name a file, or - for standard input." in absent.stderr
    folder = CliRunner().invoke(root, [command, str(tmp_path)])
    assert (folder.exit_code, "Is a directory" in folder.stderr) == (3, True)


@pytest.mark.parametrize("command", ["read-diag", "read-nccl"])
def test_a_file_beyond_the_limit_is_refused(command: str, tmp_path: Path) -> None:
    large = tmp_path / "large"
    with large.open("wb") as stream:
        stream.truncate(tool_output.MOST_BYTES + 1)
    result = CliRunner().invoke(root, [command, str(large)])
    assert (result.exit_code, "is larger than 64 MiB" in result.stderr) == (3, True)


def test_bytes_that_are_no_text_are_inconclusive() -> None:
    assert CliRunner().invoke(root, ["read-diag", "-"], input=b"\xff\xfe\x00").exit_code == 2
