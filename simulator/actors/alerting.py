"""Prometheus and Alertmanager in one: reads the exporters' gauges and decides which alerts fire, end and are told.

One group for each alert name and host, group_wait 0 s, as a receiver that wants Xid alerts at once configures it. The
bodies are `alert_bodies`, the way to the receiver is `alert_delivery`.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from simulator.actors.alert_bodies import (
    Part,
    body_of,
    fingerprint_of,
    thermal_labels,
    watchdog_labels,
    xid_annotations,
    xid_labels,
)
from simulator.actors.alert_delivery import Delivery, pause_after
from simulator.actors.flapping import Flap
from simulator.actors.view import ClusterView
from simulator.clock import Clock
from simulator.hardware import Machine

Object = dict[str, Any]
EXPORTER = "nvidia-dcgm-exporter"


@dataclass(slots=True)
class Alert:
    """One alert: its labels are what it is; `sent` is the status that was last delivered, empty for none."""

    labels: dict[str, str]
    annotations: dict[str, str]
    starts: datetime
    ends: datetime | None = None
    sent: str = ""
    sent_at: float = 0.0
    tries: int = 0
    next_try: float = 0.0
    fired: int = 1  # how often it has begun

    @property
    def status(self) -> str:
        """`firing` or `resolved`."""
        return "resolved" if self.ends else "firing"

    def part(self) -> Part:
        """The alert as it is now, for a body."""
        return self.status, self.labels, self.annotations, self.starts, self.ends


class Alerting:
    """A thread that scrapes, evaluates and notifies; deliveries are in `delivery`."""

    def __init__(self, machines: dict[str, Machine], view: ClusterView, clock: Clock, cluster_label: str) -> None:
        self._machines = machines
        self._view = view
        self._clock = clock
        self._cluster_label = cluster_label
        self.delivery = Delivery()
        self._began = datetime.now(UTC)
        self._alerts: dict[str, Alert] = {}
        self._called_off: set[str] = set()  # resolved by hand, though the gauge still shows them
        self._flaps: list[Flap] = []
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._next_watchdog = 0.0
        self._thread = threading.Thread(target=self._run, name="alerting", daemon=True)

    def send_to(self, url: str, token_file: Path | None = None) -> None:
        """Alerts go to this webhook from now on."""
        self.delivery.send_to(url, token_file)
        self._wake.set()

    def start(self) -> None:
        """Begins to scrape."""
        self._thread.start()

    def stop(self) -> None:
        """Stops, and waits for a delivery that is under way."""
        self._stop.set()
        self._wake.set()
        self._thread.join(timeout=12)
        self.delivery.close()

    def look_now(self) -> None:
        """Scrapes at once instead of at the next interval."""
        self._wake.set()

    def resolve_all(self) -> int:
        """Says that every Xid alert is over, whatever the gauges show; returns how many fired."""
        with self._lock:
            firing = {mark: alert for mark, alert in self._alerts.items() if alert.status == "firing"}
            for alert in firing.values():
                alert.ends = datetime.now(UTC)
            self._called_off |= set(firing)
        self._wake.set()
        return len(firing)

    def flap(self, machine: Machine, gpu: int, xid: int, *, times: int) -> None:
        """This code's alert will resolve and fire again so often, as fast as scrapes and deliveries go."""
        with self._lock:
            self._flaps.append(Flap(machine, gpu, xid, times))

    def shown(self) -> list[Object]:
        """The alerts, for the state page."""
        with self._lock:
            return [
                {"labels": one.labels, "status": one.status, "sent": one.sent, "fired": one.fired, "fingerprint": mark}
                for mark, one in self._alerts.items()
            ]

    def _run(self) -> None:
        interval = max(0.05, self._clock.real(self._clock.durations.scrape))
        while not self._stop.is_set():
            self._evaluate()
            if self.delivery.wanted:
                self._notify()
                self._go_on_flapping()
            self._wake.wait(interval)
            self._wake.clear()

    def _go_on_flapping(self) -> None:
        with self._lock:
            told = {
                (one.labels.get("Hostname", ""), one.labels.get("gpu", ""), one.labels.get("err_code", "")): one.sent
                for one in self._alerts.values()
            }
            self._flaps = [one for one in self._flaps if not one.look(told)]

    def _evaluate(self) -> None:
        """Firing for each gauge that shows an Xid; over when the series is gone or shows another code."""
        now = datetime.now(UTC)
        seen = self._gauges(now)
        with self._lock:
            self._called_off &= set(seen)
            for mark, alert in seen.items():
                known = self._alerts.get(mark)
                if known is None or (known.ends and mark not in self._called_off):
                    alert.fired = known.fired + 1 if known else 1
                    self._alerts[mark] = alert
            for mark, alert in self._alerts.items():
                if alert.ends is None and mark not in seen:
                    alert.ends = now

    def _gauges(self, now: datetime) -> dict[str, Alert]:
        exporters = self._exporters()
        seen = {}
        for machine in self._machines.values():
            if not machine.up or (exporters is not None and machine.name not in exporters):
                continue
            pod = exporters[machine.name] if exporters is not None else f"{EXPORTER}-none0"
            for card in machine.gpus:
                for xid in card.codes:
                    labels = xid_labels(machine.name, card, pod, self._cluster_label, xid)
                    seen[fingerprint_of(labels)] = Alert(labels, xid_annotations(machine, card, xid), now)
            if machine.hot:
                labels = thermal_labels(machine.name, machine.gpus[machine.behaviours.gpu], pod, self._cluster_label)
                seen[fingerprint_of(labels)] = Alert(labels, {"summary": f"{machine.name} throttles."}, now)
        return seen

    def _exporters(self) -> dict[str, str] | None:
        """Node → pod of the running exporters; None when the cluster has none at all (then the gauges are read)."""
        if not any(one["metadata"]["name"] == EXPORTER for one in self._view.all("daemonsets")):
            return None
        pods = [one for one in self._view.all("pods") if (one["metadata"].get("labels") or {}).get("app") == EXPORTER]
        running = [one for one in pods if (one.get("status") or {}).get("phase") == "Running"]
        return {one["spec"]["nodeName"]: one["metadata"]["name"] for one in running}

    def _notify(self) -> None:
        now = time.monotonic()
        if now >= self._next_watchdog:
            self._next_watchdog = now + self._clock.real(self._clock.durations.watchdog)
            text = {"summary": "This alert always fires: it shows that alerts arrive."}
            watchdog = Alert(watchdog_labels(self._cluster_label), text, self._began)
            self.delivery.post(body_of([watchdog.part()], "repeat interval elapsed"))
        groups: dict[tuple[str, str], list[Alert]] = {}
        with self._lock:
            for alert in self._alerts.values():
                # One that ended before anybody was told of it is never told.
                if alert.sent != "resolved" and (alert.sent or alert.status == "firing"):
                    groups.setdefault((alert.labels["alertname"], alert.labels.get("Hostname", "")), []).append(alert)
        for alerts in groups.values():
            self._notify_group(alerts, now)

    def _notify_group(self, alerts: list[Alert], now: float) -> None:
        repeat = self._clock.real(self._clock.durations.repeat)
        changed = any(one.status != one.sent and now >= one.next_try for one in alerts)
        if not changed and not any(now - one.sent_at >= repeat for one in alerts if one.sent == one.status):
            return
        with self._lock:
            parts = [one.part() for one in alerts]
            reason = _reason(alerts)
        code = self.delivery.post(body_of(parts, reason))
        for one, (status, *_) in zip(alerts, parts, strict=True):
            if 200 <= code < 300:
                one.sent, one.sent_at, one.tries, one.next_try = status, now, 0, 0.0
            else:
                one.tries += 1
                one.next_try = now + pause_after(code, one.tries, self._clock)


def _reason(alerts: list[Alert]) -> str:
    """Why this notification is sent, in Alertmanager's words."""
    if all(one.status == "resolved" for one in alerts):
        return "all alerts resolved"
    if not any(one.sent for one in alerts):
        return "first notification"
    if any(not one.sent for one in alerts):
        return "new alerts added"
    if any(one.status != one.sent for one in alerts):
        return "some alerts resolved"
    return "repeat interval elapsed"
