"""What the web process measures: its own receiver, and the fleet as the store tells it at scrape time.

All names begin with `sickbay_`, units are seconds, nodes and jobs, and labels come from closed sets; ids and node names
never become labels. docs/reference/metrics.md describes each, and a test holds the two together.
"""

from __future__ import annotations

import math
from collections import Counter as Tally
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app import __version__
from app.domain.budgets import CORDON_RATE, CORDONS, DISRUPTIONS, WITH_VENDOR
from app.domain.operations import Operation, State
from app.domain.plans import PLANS
from app.domain.plans.planned import StepState
from app.domain.policies import Policy
from app.domain.triage import Decision
from app.errors import SickbayError
from app.queue import WorkQueues
from app.store import Store
from app.vitals import Vitals, read_vitals

BODY_STATUSES: Final = (202, 400, 401, 413, 503)
OPEN_STATES: Final = tuple(state for state in State if state is not State.FINISHED)
_BUDGETS: Final = {
    CORDONS: "cordons",
    CORDON_RATE: "cordon-rate",
    WITH_VENDOR: "with-vendor",
    DISRUPTIONS: "disruptions",
}
_LATENCIES: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_DELAYS: Final = (1, 5, 15, 30, 60, 120, 300, 900, 3600)


class WebMetrics:
    """The receiver's own counters, on a registry of their own. One per web process."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # half as many series, and nobody asks when one began
        self.registry = CollectorRegistry()
        self.bodies = Counter(
            "sickbay_webhook_bodies",
            "Bodies that Alertmanager delivered, by the status they were answered with.",
            ["status"],
            registry=self.registry,
        )
        self.duration = Histogram(
            "sickbay_webhook_duration_seconds",
            "Time to answer a body that was let in, storing it included.",
            buckets=_LATENCIES,
            registry=self.registry,
        )
        self.alerts = Counter("sickbay_alerts", "Alerts, by what became of them.", ["decision"], registry=self.registry)
        self.delay = Histogram(
            "sickbay_alert_delay_seconds",
            "From an alert's own start until its repair was stored: rule, group_wait and delivery.",
            buckets=_DELAYS,
            registry=self.registry,
        )
        self.truncated = Counter(
            "sickbay_alerts_truncated",
            "Alerts that Alertmanager left out of a body because of its max_alerts.",
            registry=self.registry,
        )
        self.not_enqueued = Counter(
            "sickbay_enqueue_failures",
            "Times that stored work could not be enqueued and was left to the due index.",
            registry=self.registry,
        )
        # A series that starts at its first event hides that event from `increase`.
        for status in BODY_STATUSES:
            self.bodies.labels(str(status))
        for decision in Decision:
            self.alerts.labels(decision)


class FleetCollector(Collector):
    """Reads the store anew at each scrape. If it is down, the scrape still answers, with `sickbay_store_up 0`."""

    def __init__(self, store: Store, queues: WorkQueues, policy: Policy, now: Callable[[], datetime]) -> None:
        self._store = store
        self._queues = queues
        self._policy = policy
        self._now = now

    def describe(self) -> list[Metric]:
        """Nothing: registering must not read the store."""
        return []

    def collect(self) -> Iterator[Metric]:
        """All figures of one moment."""
        build = GaugeMetricFamily("sickbay_build_info", "1, with the version that runs.", labels=["version"])
        build.add_metric([__version__], 1)
        yield build
        try:
            vitals = read_vitals(self._store, self._queues, self._policy, self._now())
            operations, _ = self._store.operations.page(states=OPEN_STATES, limit=10_000)
        except SickbayError:
            yield GaugeMetricFamily("sickbay_store_up", "1 when the store answers, else 0.", value=0)
            return
        yield GaugeMetricFamily("sickbay_store_up", "1 when the store answers, else 0.", value=1)
        yield from _of_operations(operations)
        yield from _of_budgets(vitals)
        yield from _of_queues(vitals)
        yield from _of_life(vitals)


def _of_operations(operations: list[Operation]) -> Iterator[Metric]:
    by_state = Tally((operation.kind, operation.state) for operation in operations)
    family = GaugeMetricFamily("sickbay_operations", "Open operations.", labels=["kind", "state"])
    for kind in PLANS:
        for state in OPEN_STATES:
            family.add_metric([kind, state], by_state[kind, state])
    yield family
    steps = Tally((step.step, step.state) for operation in operations for step in operation.plan)
    family = GaugeMetricFamily("sickbay_steps", "Steps in the plans of open operations.", labels=["step", "state"])
    for name in sorted({name for name, _ in steps}):
        for step_state in StepState:
            family.add_metric([name, step_state], steps[name, step_state])
    yield family


def _of_budgets(vitals: Vitals) -> Iterator[Metric]:
    used = GaugeMetricFamily(
        "sickbay_budget_used_nodes",
        "Nodes that use a budget up; pool is empty for the whole cluster.",
        labels=["budget", "pool"],
    )
    limit = GaugeMetricFamily("sickbay_budget_limit_nodes", "The budget's limit.", labels=["budget", "pool"])
    for budget in vitals.budgets:
        told = budget.limit
        name = DISRUPTIONS if told.group else _BUDGETS[told.budget]
        labels = [name, told.group.removeprefix("pool ")]
        used.add_metric(labels, budget.used)
        limit.add_metric(labels, told.most)
    yield used
    yield limit


def _of_queues(vitals: Vitals) -> Iterator[Metric]:
    jobs = GaugeMetricFamily("sickbay_queue_jobs", "Jobs that wait.", labels=["queue"])
    oldest = GaugeMetricFamily(
        "sickbay_queue_oldest_age_seconds", "How long the first job has waited, 0 for an empty queue.", labels=["queue"]
    )
    for depth in vitals.depths:
        jobs.add_metric([depth.queue], depth.jobs)
        oldest.add_metric([depth.queue], 0 if depth.oldest is None else _age(vitals, depth.oldest))
    yield jobs
    yield oldest


def _of_life(vitals: Vitals) -> Iterator[Metric]:
    figures: tuple[tuple[str, str, float], ...] = (
        ("sickbay_workers_alive", "Workers that beat lately.", len(vitals.workers)),
        ("sickbay_watches_alive", "Watches that beat lately.", len(vitals.watches)),
        (
            "sickbay_watchdog_age_seconds",
            "Since the always-firing alert came; +Inf: never.",
            _age(vitals, vitals.watchdog),
        ),
        ("sickbay_inventory_age_seconds", "Since the nodes were read; +Inf: never.", _age(vitals, vitals.inventory)),
        ("sickbay_pending_alerts", "Alerts that wait for a worker to place them.", vitals.pending),
        ("sickbay_breaker_tripped", "1 while the breaker of a mass failure holds, else 0.", vitals.breaker is not None),
        ("sickbay_paused", "1 while a person has paused Sickbay, else 0.", vitals.pause is not None),
    )
    for name, told, value in figures:
        yield GaugeMetricFamily(name, told, value=value)


def _age(vitals: Vitals, at: datetime | None) -> float:
    # Never heard is worse than late: with +Inf the same alerting rule sees both.
    return math.inf if at is None else max((vitals.now - at).total_seconds(), 0.0)
