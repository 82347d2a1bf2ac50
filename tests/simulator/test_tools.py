"""The simulated tools print what the real ones do: compared with the samples of the real formats."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from simulator.hardware import Machine, machine
from simulator.tools import benchmark, diagnose

SAMPLES = Path(__file__).parents[1] / "samples"


@pytest.fixture
def node() -> Machine:
    return machine("gpu-node-1")


def shape(value: Any) -> Any:
    """A JSON document without its values: types, keys, and the shapes that a list holds."""
    if isinstance(value, dict):
        return {key: shape(one) for key, one in value.items()}
    if isinstance(value, list):
        return sorted({json.dumps(shape(one), sort_keys=True) for one in value})
    return type(value).__name__


def test_a_passing_diagnosis_has_the_shape_of_the_sample(node: Machine) -> None:
    text, code = diagnose(node)
    sample = json.loads((SAMPLES / "dcgmi_diag" / "v4_r3_pass_8gpu.json").read_text())
    assert code == 0
    assert shape(json.loads(text)) == shape(sample)


def test_a_failing_diagnosis_reports_the_gpu_as_the_sample_does(node: Machine) -> None:
    node.behaviours.diagnosis, node.behaviours.gpu = "fail", 3
    text, code = diagnose(node)
    assert code == 205
    assert memory_results(json.loads(text)) == memory_results(
        json.loads((SAMPLES / "dcgmi_diag" / "v4_r3_fail_memory_gpu3_isolate.json").read_text())
    )


def memory_results(report: Any) -> list[Any]:
    """State and warnings of each GPU in the memory test."""
    tests = [test for category in report["DCGM Diagnostic"]["test_categories"] for test in category["tests"]]
    memory = next(test for test in tests if test["name"] == "memory")
    return [(one["entity_id"], one["status"], one.get("warnings")) for one in memory["results"]]


def test_a_gpu_that_is_off_the_bus_is_not_in_the_diagnosis(node: Machine) -> None:
    node.raise_xid(5, 79)
    report = json.loads(diagnose(node)[0])
    assert [one["entity_id"] for one in report["entity_groups"][0]["entities"]] == [0, 1, 2, 3, 4, 6, 7]


def test_a_healthy_benchmark_prints_the_samples_table(node: Machine) -> None:
    text, code = benchmark(node)
    sample = (SAMPLES / "nccl_tests" / "all_reduce_h100_ok.txt").read_text()

    def without_times(table: str) -> list[str]:
        # Times are computed from rounded bandwidths in the sample, so their last digits differ.
        return [
            re.sub(r"(?<=-1 )\s*[\d.]+|(?<=0 )\s+[\d.]+(?=\s+\d+\.\d+\s+\d+\.\d+\s+\d+$)", "", line)
            for line in table.splitlines()
        ]

    assert code == 0
    assert without_times(text) == without_times(sample)


def test_a_slow_machine_loses_the_share_that_nvlink_sharp_gives(node: Machine) -> None:
    node.behaviours.bandwidth = "slow"
    text, code = benchmark(node)
    average = float(re.findall(r"Avg bus bandwidth\s+: ([\d.]+)", text)[0])
    assert code == 0
    assert 330 < average < 360


def test_a_benchmark_without_all_gpus_fails_before_the_table(node: Machine) -> None:
    node.raise_xid(5, 79)
    text, code = benchmark(node)
    assert code == 2
    assert "Avg bus bandwidth" not in text


def test_serials_have_13_digits_and_are_the_same_in_every_run() -> None:
    names = [f"gpu-b{number:03}" for number in range(1, 201)]
    serials = [card.serial for name in names for card in machine(name).gpus]
    uuids = [card.uuid for name in names for card in machine(name).gpus]
    assert serials == [card.serial for name in names for card in machine(name).gpus]
    assert len(set(serials)) == len(set(uuids)) == 1600
    assert all(re.fullmatch(r"\d{13}", serial) for serial in serials)
