"""One pod on one machine, as the kubelet knows it: in which state its program is, and since when."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Literal

from simulator.actors.view import Key
from simulator.programs import Program


@dataclass(slots=True)
class Run:
    """One pod on one machine. `at` is when (time.monotonic) the present state has run its time."""

    key: Key
    uid: str
    node: str
    program: Program
    gpus: tuple[int, ...]
    state: Literal["starting", "running", "stopping", "backoff", "over"]
    at: float
    began: float = 0.0
    started: str = ""
    restarts: int = 0
    ready: bool = False
    printed: list[str] = field(default_factory=list)
    whole: bool = False  # its grace lets it stop as it wants

    def ran_s(self, speed: float) -> float:
        """Simulated seconds since its program began."""
        return (time.monotonic() - self.began) * speed

    def log(self, speed: float) -> str:
        """What it has printed so far."""
        lines = self.program.prints(self.ran_s(speed)) if self.began else []
        return "".join(one if one.endswith("\n") or not one else one + "\n" for one in [*lines, *self.printed])
