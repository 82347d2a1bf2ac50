"""What a control plane runs beside its API server; beside a real one, the real ones run."""

from __future__ import annotations

from simulator.actors.actor import Party
from simulator.actors.client import ApiClient
from simulator.actors.daemons import DaemonSets
from simulator.actors.disruption import Disruption
from simulator.actors.garbage import GarbageCollector
from simulator.actors.jobs import Jobs
from simulator.actors.node_lifecycle import NodeLifecycle
from simulator.actors.replicas import Replicas
from simulator.actors.scheduler import Scheduler
from simulator.actors.view import ClusterView
from simulator.clock import Clock


def controllers(api: ApiClient, view: ClusterView, clock: Clock) -> list[Party]:
    """All of them, not started yet."""
    return [
        NodeLifecycle(api, view, clock),
        Scheduler(api, view),
        Jobs(api, view, clock),
        Replicas(api, view),
        DaemonSets(api, view),
        Disruption(api, view),
        GarbageCollector(api, view),
    ]
