"""The shape of a step: *look* reads the world, *judge* decides from what was read. The engine does the rest.

A step never writes. What it wants done it returns as effects; what they changed, its next look sees.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Protocol, TypeVar

from app.domain.facts import NodeView
from app.domain.guards import Hurts
from app.domain.operations import Operation
from app.domain.outcomes import Act, Outcome
from app.domain.plans.planned import PlannedStep
from app.domain.policies import Policy, Pool
from workers.ports import Ports

F = TypeVar("F")


class Step(Protocol[F]):
    """One idempotent unit of a plan; one file in `workers.steps` and one line in its STEPS."""

    name: ClassVar[str]
    hurts: ClassVar[Hurts]

    def look(self, operation: Operation, node: NodeView, ports: Ports) -> F:
        """What has to be known, read now. PortError when it cannot be."""

    def judge(self, operation: Operation, facts: F, policy: Policy, now: datetime) -> Act | Outcome:
        """What is due, from these facts alone."""


def current(operation: Operation) -> PlannedStep:
    """The planned step that is being judged."""
    step = operation.current
    if step is None:
        raise ValueError(f"{operation.id} has no current step")
    return step


HOST = "/host"
"""Where a node job that enters the host finds its root file system."""


def in_driver_root(pool: Pool, script: str, *arguments: str) -> tuple[str, ...]:
    """The argv by which a node job on the host runs a script where the driver's own tools are.

    The NVIDIA runtime would bring them into a container too, but often cannot start one beside a lost GPU.
    """
    root = HOST if pool.driver_root == "/" else f"{HOST}{pool.driver_root}"
    return ("chroot", root, "/bin/sh", "-c", script, *arguments)


def node_job_name(operation: Operation, *, again: int = 0, place: int | None = None) -> str:
    """The name of this step's node job, or of the one at `place`: the same after a crash, another for each try.

    At most 63 characters, as Kubernetes asks, and from our own words only.
    """
    if place is None:
        place = next(place for place, step in enumerate(operation.plan) if not step.over)
    step = operation.plan[place]
    return f"{operation.id}-{place}-{step.step}-{step.run}" + (f"-{again}" if again else "")
