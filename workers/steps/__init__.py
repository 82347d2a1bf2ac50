"""The steps that plans are made of: one file each, and one line here."""

from __future__ import annotations

from typing import Any

from workers.step import Step
from workers.steps.benchmark import Benchmark
from workers.steps.cordon import Cordon
from workers.steps.diagnose import Diagnose
from workers.steps.drain import Drain
from workers.steps.evidence import Evidence
from workers.steps.reboot import Reboot
from workers.steps.release import Release

STEPS: dict[str, Step[Any]] = {
    "cordon": Cordon(),
    "evidence": Evidence(),
    "drain": Drain(),
    "reboot": Reboot(),
    "diagnose": Diagnose(),
    "benchmark": Benchmark(),
    "release": Release(),
}
