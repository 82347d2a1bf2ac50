"""What `dcgmi diag -r 3 -j` and `all_reduce_perf` print on an eight-GPU H100 node, made to measure for a test.

Shapes after the emitters of NVIDIA/DCGM 4.2 (dcgmi/Diag.cpp) and NVIDIA/nccl-tests 2.19 (src/util.cu).
Figures are invented.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

DIAGNOSIS_TESTS = (
    ("Deployment", "software"),
    ("Integration", "pcie"),
    ("Hardware", "memory"),
    ("Hardware", "diagnostic"),
    ("Hardware", "nvbandwidth"),
    ("Stress", "memory_bandwidth"),
    ("Stress", "targeted_stress"),
    ("Stress", "targeted_power"),
)
"""Categories and plug-ins of level 3."""
MEMORY_FAULT = {"error_id": 52, "error_category": 10, "error_severity": 2}


def diagnosis(serials: Sequence[str], *, faulty: int | None = None, skipped: bool = False) -> str:
    """A level 3 diagnosis. `faulty` is the index of a GPU with bad memory; with `skipped` nothing but software ran."""
    categories: dict[str, list[dict[str, Any]]] = {}
    for category, test in DIAGNOSIS_TESTS:
        results = [_result(test, gpu, faulty=faulty, skipped=skipped) for gpu in range(len(serials))]
        worst = next((one for one in results if one["status"] != "Pass"), results[0])
        summary = {key: worst[key] for key in ("status", "warnings") if key in worst}
        categories.setdefault(category, []).append({"name": test, "results": results, "test_summary": summary})
    entities = [{"device_id": "2330", "entity_id": gpu, "serial_num": serial} for gpu, serial in enumerate(serials)]
    whole = {
        "DCGM Diagnostic": {
            "test_categories": [{"category": name, "tests": all_} for name, all_ in categories.items()]
        },
        "entity_groups": [{"entities": entities, "entity_group": "GPU", "entity_group_id": 1}],
        "metadata": {"Driver Version Detected": "580.105.08", "version": "4.2.3"},
    }
    return json.dumps(whole, indent=1) + "\n"


def _result(test: str, gpu: int, *, faulty: int | None, skipped: bool) -> dict[str, Any]:
    result: dict[str, Any] = {"entity_group": "GPU", "entity_group_id": 1, "entity_id": gpu, "status": "Pass"}
    if skipped and test != "software":
        result["status"] = "Skip"
    elif gpu == faulty and test == "memory":
        result["status"] = "Fail"
        text = f"Found 4096 faulty memory elements on GPU {gpu} Run a field diagnostic on the GPU."
        result["warnings"] = [{"warning": text, **MEMORY_FAULT}]
    return result


def bandwidth(*, gpus: int = 8, peak: float = 478.8, wrong: int = 0) -> str:
    """An all-reduce over all GPUs of a node; `peak` is the bus bandwidth in GB/s of the largest size."""
    rows = [_row(size, peak * share, wrong, gpus) for size, share in _SHARES.items()]
    ranks = [
        f"#  Rank {rank:2d} Group  0 Pid   4242 on node device {rank:2d} [0000:{0x18 + 8 * rank:02x}:00] {_CARD}"
        for rank in range(gpus)
    ]
    average = peak * sum(_SHARES.values()) / len(_SHARES)
    lines = [
        "# nccl-tests version 2.19.6 nccl-headers=22807 nccl-library=22807",
        "# Collective test starting: all_reduce_perf",
        f"# nThread 1 nGpus {gpus} minBytes 536870912 maxBytes 8589934592 step: 2(factor) {_SETTINGS}",
        "#",
        "# Using devices",
        *ranks,
        "#",
        _HEADER_GROUPS,
        _HEADER_NAMES,
        _HEADER_UNITS,
        *rows,
        f"# Out of bounds values : {wrong * len(rows)} {'FAILED' if wrong else 'OK'}",
        f"# Avg bus bandwidth    : {average:g} ",
        "#",
        "# Collective test concluded: all_reduce_perf",
        "#",
    ]
    return "\n".join(lines) + "\n"


_SETTINGS = "warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0"
_CARD = "NVIDIA H100 80GB HBM3"
_SHARES = {2**29: 0.976, 2**30: 0.984, 2**31: 0.992, 2**32: 0.997, 2**33: 1.0}
"""Size in bytes: its bus bandwidth as a share of the largest size's."""
_HEADER_GROUPS = "#" + " " * 62 + "out-of-place" + " " * 23 + "in-place" + " " * 10
_SIDE_NAMES = "     time   algbw   busbw  #wrong"
_SIDE_UNITS = "     (us)  (GB/s)  (GB/s)        "
_HEADER_NAMES = "#       size         count      type   redop    root" + 2 * _SIDE_NAMES + " "
_HEADER_UNITS = "#        (B)    (elements)                          " + 2 * _SIDE_UNITS + " "


def _row(size: int, bus: float, wrong: int, gpus: int) -> str:
    algorithm = bus * gpus / (2 * (gpus - 1))
    micros = size / algorithm / 1000
    side = f"{micros:8.1f}  {algorithm:6.2f}  {bus:6.2f}  {wrong:6d}"
    return f"{size:12d}  {size // 4:12d}     float     sum      -1 {side} {side}"


IN_USE = """The following GPUs could not be reset:
  GPU 00000000:1A:00.0: In use by another client

1 device is currently being used by one or more other processes (e.g., Fabric Manager, CUDA application).
"""


def reset_output(uuid: str, recovery: str) -> str:
    """A reset that says it was done, and what the driver asks for after it."""
    return (
        f"GPU {uuid} was successfully reset.\nAll done.\n"
        f"    GPU Recovery Action                   : {recovery}\n"
        "    Remapped Rows\n        Pending                           : No\n"
        "        Remapping Failure Occurred        : No\n"
    )


def card_list(node: str, serials: Sequence[str], swapped: Sequence[int], recovery: str) -> str:
    """The list of a machine's GPUs; a swapped one has another serial and UUID than it began with."""
    rows, states = [], []
    for index, serial in enumerate(serials):
        new = index in swapped
        uuid, told = (f"GPU-{node}-{index}-new", f"9{serial[1:]}") if new else (f"GPU-{node}-{index}", serial)
        bus = f"00000000:{0x18 + 8 * index:02X}:00.0"
        rows.append(f"{index}, {uuid}, {told}, {bus}")
        states += [f"GPU {bus}", f"GPU Recovery Action : {recovery}", "Remapped Rows Pending : No"]
    return "\n".join([*rows, "--", *states]) + "\n"
