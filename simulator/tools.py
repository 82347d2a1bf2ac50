"""What the diagnostic tools of a machine print: `dcgmi diag -r 3 -j` and `all_reduce_perf`, in their real formats.

Sources: dcgmi/Diag.cpp and dcgm_errors.h of NVIDIA/DCGM v4 for keys, codes and exit codes; src/util.cu of
NVIDIA/nccl-tests 2.19 for the table. The figures are those of a healthy HGX H100.
"""

from __future__ import annotations

import json
from typing import Any

from simulator.hardware import BUSES, Gpu, Machine
from simulator.objects import GPUS, MODEL

Object = dict[str, Any]
Printed = tuple[str, int]  # text and exit code

# DCGM_FR_FAULTY_MEMORY: category 10 (hardware memory), severity 2 (isolate); so the tool ends with 205.
_FAULTY_MEMORY = {"error_id": 52, "error_category": 10, "error_severity": 2}
_PLAN = (
    ("Deployment", "software"),
    ("Integration", "pcie"),
    ("Hardware", "memory"),
    ("Hardware", "diagnostic"),
    ("Hardware", "nvbandwidth"),
    ("Stress", "memory_bandwidth"),
    ("Stress", "targeted_stress"),
    ("Stress", "targeted_power"),
)
_INFOS = {
    "pcie": "GPU to Host bandwidth: 54.3 GB/s, Host to GPU bandwidth: 53.9 GB/s",
    "memory": "Allocated 83540838400 bytes (98.3%)",
    "diagnostic": "Diagnostic test for GPU {gpu} calculated at approximately 20841.25 gigaflops during this test",
}
_SIZES = tuple(536870912 << doubling for doubling in range(5))
_BUS_BANDWIDTHS = (467.51, 471.36, 475.34, 477.40, 478.77)


def diagnose(machine: Machine) -> Printed:
    """The diagnosis as this machine's behaviour has it; a hang is the caller's (nothing is printed)."""
    cards = machine.seen()
    if not machine.driver_loaded:
        error = "Unable to load the NVML library: the NVIDIA driver is not loaded."
        return json.dumps({"DCGM Diagnostic": {"runtime_error": error, "version": "4.2.3"}}, indent=1) + "\n", 226
    match machine.behaviours.diagnosis:
        case "garbage":
            return 'nv-hostengine: symbol lookup error\n{\n "DCGM Diagnostic": {\n  "test_categ', 0
        case "vanish":
            return "", 0
        case "skip":
            return _report(machine, cards, skipped=True), 0
        case "fail":
            return _report(machine, cards, failed=machine.behaviours.gpu), 205
        case _:
            pass
    if faulty := [card.index for card in cards if card.fault]:
        return _report(machine, cards, failed=faulty[0]), 205
    return _report(machine, cards), 0


def _report(machine: Machine, cards: list[Gpu], *, failed: int | None = None, skipped: bool = False) -> str:
    categories: dict[str, list[Object]] = {}
    for category, test in _PLAN:
        results = [_result(test, card, failed=failed, skipped=skipped) for card in cards]
        categories.setdefault(category, []).append(
            {"name": test, "results": results, "test_summary": _summary(results)},
        )
    entities = [{"device_id": "2330", "entity_id": card.index, "serial_num": card.serial} for card in cards]
    body = {
        "DCGM Diagnostic": {
            "test_categories": [{"category": name, "tests": tests} for name, tests in categories.items()]
        },
        "entity_groups": [{"entities": entities, "entity_group": "GPU", "entity_group_id": 1}],
        "metadata": {"Driver Version Detected": machine.driver, "version": "4.2.3"},
    }
    return json.dumps(body, indent=1, separators=(",", " : ")) + "\n"


def _result(test: str, card: Gpu, *, failed: int | None, skipped: bool) -> Object:
    result: Object = {"entity_group": "GPU", "entity_group_id": 1, "entity_id": card.index, "status": "Pass"}
    if skipped and test != "software":
        return result | {"status": "Skip"}
    if card.index == failed and test == "memory":
        text = f"Found 4096 faulty memory elements on GPU {card.index} Run a field diagnostic on the GPU."
        return result | {"status": "Fail", "warnings": [{"warning": text, **_FAULTY_MEMORY}]}
    if failed == card.index and test not in ("software", "pcie"):
        return result | {"status": "Skip"}
    if test in _INFOS:
        result["info"] = [_INFOS[test].format(gpu=card.index)]
    return result


def _summary(results: list[Object]) -> Object:
    states = {result["status"] for result in results}
    state = "Fail" if "Fail" in states else "Pass" if "Pass" in states else "Skip"
    warnings = [warning for result in results for warning in result.get("warnings", ())]
    return {"status": state, **({"warnings": warnings} if warnings else {})}


def benchmark(machine: Machine) -> Printed:
    """The all-reduce table as this machine's behaviour has it; a slow machine has lost NVLink SHARP (25 %)."""
    cards = machine.seen()
    behaviour = machine.behaviours.bandwidth
    if len(cards) < GPUS:
        return "Test CUDA failure common.cu:1194 'invalid device ordinal'\n", 2
    share = 0.75 if behaviour == "slow" else 1.0
    wrong = 3 if behaviour == "wrong" else 0
    rows, measured = [], []
    for size, bus in zip(_SIZES, _BUS_BANDWIDTHS, strict=True):
        places = [_place(size, bus * share * factor) for factor in (1.0, 0.999)]
        measured += [bus * share, bus * share * 0.999]
        bad = wrong if size == _SIZES[-1] else 0
        first, second = (f"{place} {bad:>7}" for place in places)
        rows.append(f"{size:>12} {size // 4:>13}     float     sum      -1 {first} {second}")
    devices = [
        f"#  Rank {card.index:>2} Group  0 Pid   4242 on {machine.name} device {card.index:>2} "
        f"[0000:{BUSES[card.index].lower()}:00] {MODEL}"
        for card in cards
    ]
    lines = [
        "# nccl-tests version 2.19.6 nccl-headers=22807 nccl-library=22807",
        "# Collective test starting: all_reduce_perf",
        (
            f"# nThread 1 nGpus {len(cards)} minBytes {_SIZES[0]} maxBytes {_SIZES[-1]} step: 2(factor) "
            "warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0"
        ),
        "#",
        "# Using devices",
        *devices,
        "#",
        f"#{'out-of-place':>74}{'in-place':>31}          ",
        (
            "#       size         count      type   redop    root     time   algbw   busbw  #wrong"
            "     time   algbw   busbw  #wrong "
        ),
        (
            "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)        "
            "     (us)  (GB/s)  (GB/s)         "
        ),
        *rows,
        f"# Out of bounds values : {wrong} {'FAILED' if wrong else 'OK'}",
        f"# Avg bus bandwidth    : {sum(measured) / len(measured):g} ",
        "#",
        "# Collective test concluded: all_reduce_perf",
        "#",
        "",
        "",
    ]
    return "\n".join(lines), 7 if wrong else 0


def _place(size: int, bus: float) -> str:
    """Time (us), algorithm and bus bandwidth (GB/s) of one place: busbw = algbw x 2(n-1)/n."""
    algorithm = bus / (2 * (GPUS - 1) / GPUS)
    microseconds = size / algorithm / 1e3
    time = f"{microseconds:.2f}" if microseconds < 10_000 else f"{microseconds:.1f}"
    return f"{time:>8} {algorithm:>7.2f} {bus:>7.2f}"
