"""Which tests of a diagnosis have to run, by what name, and what is missing of one that did not run on every GPU.

What the tests found is not looked at here (`app.domain.diagnostics`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

LEVEL_3 = frozenset(
    {"software", "pcie", "memory", "diagnostic", "memory_bandwidth", "targeted_stress", "targeted_power"}
)
"""What level 3 runs in every DCGM, by the plug-in names of 4.x; the names of 3.x are translated (`GPU Memory`)."""
LEVEL_3_SINCE_4 = LEVEL_3 | {"nvbandwidth"}

OPTIONAL = frozenset({"eud", "cpu_eud", "nccl_tests"})
"""Level 3 tries these and skips them where root, a package or a second GPU is missing: such a skip is only remarked."""

_NAMES_OF_3 = {"gpu_memory": "memory", "eud_test": "eud", "cpu_eud_test": "cpu_eud"}


@dataclass(slots=True)
class Coverage:
    """Which GPUs each test, by its canonical name, ran on and was skipped on."""

    known: set[int]
    listed: list[str] = field(default_factory=list)
    ran: dict[str, set[int]] = field(default_factory=dict)
    skipped: dict[str, set[int]] = field(default_factory=dict)


def gap(name: str, coverage: Coverage) -> str | None:
    """What is missing of this test, in words."""
    if name not in coverage.listed:
        return "not in the output"
    if name in coverage.skipped:
        return f"skipped{_on(coverage.skipped[name], coverage.known)}"
    if name not in coverage.ran:
        return "listed without a result"
    ran = coverage.ran[name]
    if not ran:
        # The deployment checks of 3.x look at the node as a whole; any other test has to name its GPUs.
        return None if name == "software" else "it names no GPU"
    missing = coverage.known - ran
    return f"not run{_on(missing, coverage.known)}" if missing else None


def _on(gpus: set[int], known: set[int]) -> str:
    if not gpus or gpus == known:
        return ""
    return f" on GPU {', '.join(str(gpu) for gpu in sorted(gpus))}"


def canonical_name(name: str, category: str) -> str:
    """The 4.x name of a test: `GPU Memory` is `memory`, and each deployment check of 3.x belongs to `software`."""
    if category == "deployment":
        return "software"
    plain = re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")
    return _NAMES_OF_3.get(plain, plain)
