"""Prometheus and Alertmanager in one: reads the exporters' gauges and posts webhook bodies of version 4.

Source of the form: prometheus/alertmanager 0.34, notify/webhook/webhook.go and template/template.go. Delivery is as
there: 2xx is done, 5xx and transport errors come again with a growing pause, anything else is dropped.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import urllib3

from simulator.actors.alert_bodies import body_of, fingerprint_of, watchdog_labels, xid_labels
from simulator.actors.view import ClusterView
from simulator.clock import Clock
from simulator.hardware import XID_TEXTS, Machine

Object = dict[str, Any]
EXPORTER = "nvidia-dcgm-exporter"


@dataclass(slots=True)
class Alert:
    """One alert: its labels are what it is; `sent` is the status that was last delivered."""

    labels: dict[str, str]
    annotations: dict[str, str]
    starts: datetime
    ends: datetime | None = None
    sent: str = ""
    sent_at: float = 0.0
    tries: int = 0
    next_try: float = 0.0

    @property
    def status(self) -> str:
        return "resolved" if self.ends else "firing"


@dataclass(slots=True)
class _Receiver:
    url: str
    token_file: Path | None
    deliveries: list[tuple[float, int]] = field(default_factory=list)  # wall clock and answer's code, 0 for none


class Alerting:
    """A thread that scrapes, evaluates and notifies. One group for each alert name and host, `group_wait` 0 s."""

    def __init__(self, machines: dict[str, Machine], view: ClusterView, clock: Clock, cluster_label: str) -> None:
        self._machines = machines
        self._view = view
        self._clock = clock
        self._cluster_label = cluster_label
        self._receiver: _Receiver | None = None
        self._alerts: dict[str, Alert] = {}
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._stopped = False
        self._next_watchdog = 0.0
        self._http = urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(total=10))
        self._thread = threading.Thread(target=self._run, name="alerting", daemon=True)

    def send_to(self, url: str, token_file: Path | None = None) -> None:
        """Alerts go to this webhook from now on."""
        self._receiver = _Receiver(url, token_file)
        self._wake.set()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped = True
        self._wake.set()
        self._thread.join(timeout=12)
        self._http.clear()

    def look_now(self) -> None:
        """Scrapes at once instead of at the next interval."""
        self._wake.set()

    def resolve_all(self) -> int:
        """Says that every Xid alert is over, whatever the gauges show; returns how many there were."""
        with self._lock:
            firing = [alert for alert in self._alerts.values() if alert.status == "firing" and "gpu" in alert.labels]
            for alert in firing:
                alert.ends = datetime.now(UTC)
        self._wake.set()
        return len(firing)

    def shown(self) -> list[Object]:
        """The alerts, for the state page."""
        with self._lock:
            return [
                {"labels": one.labels, "status": one.status, "sent": one.sent, "fingerprint": mark}
                for mark, one in self._alerts.items()
            ]

    def _run(self) -> None:
        interval = max(0.05, self._clock.real(self._clock.durations.scrape))
        while not self._stopped:
            self._wake.wait(interval)
            self._wake.clear()
            if self._stopped:
                return
            self._evaluate()
            self._notify()

    def _evaluate(self) -> None:
        """Firing for each gauge that shows an Xid; over when the series is gone or shows another code."""
        now = datetime.now(UTC)
        exporters = self._exporters()
        seen: dict[str, Alert] = {}
        for machine in self._machines.values():
            if not machine.up or (exporters is not None and machine.name not in exporters):
                continue
            for card in machine.gpus:
                if card.xid:
                    pod = exporters[machine.name] if exporters is not None else f"{EXPORTER}-none0"
                    labels = xid_labels(machine.name, card, pod, self._cluster_label)
                    word = XID_TEXTS.get(card.xid, ("Unknown Error", ""))[0]
                    annotations = {
                        "summary": f"GPU {card.index} on {machine.name}: Xid {card.xid}",
                        "description": f"{word} ({card.xid})",
                    }
                    seen[fingerprint_of(labels)] = Alert(labels, annotations, now)
        with self._lock:
            for mark, alert in seen.items():
                known = self._alerts.get(mark)
                if known is None or (known.ends and known.sent == "resolved" and self._fresh(known)):
                    self._alerts[mark] = alert
            for mark, alert in self._alerts.items():
                if alert.ends is None and mark not in seen:
                    alert.ends = now

    def _fresh(self, known: Alert) -> bool:
        """Whether the fault was seen again after its alert had been resolved because the gauge went away."""
        return not known.labels.get("held")

    def _exporters(self) -> dict[str, str] | None:
        """Node → pod of the running exporters; None when the cluster has none at all (then the gauges are read)."""
        if not any(one["metadata"]["name"] == EXPORTER for one in self._view.all("daemonsets")):
            return None
        pods = [one for one in self._view.all("pods") if (one["metadata"].get("labels") or {}).get("app") == EXPORTER]
        running = [one for one in pods if (one.get("status") or {}).get("phase") == "Running"]
        return {one["spec"]["nodeName"]: one["metadata"]["name"] for one in running}

    def _notify(self) -> None:
        receiver = self._receiver
        if receiver is None:
            return
        now = time.monotonic()
        if now >= self._next_watchdog:
            self._next_watchdog = now + self._clock.real(self._clock.durations.watchdog)
            labels = watchdog_labels(self._cluster_label)
            text = {"summary": "This alert always fires: it shows that alerts arrive."}
            self._post(receiver, [Alert(labels, text, self._watchdog_began)], "repeat interval elapsed")
        groups: dict[tuple[str, str], list[Alert]] = {}
        with self._lock:
            for alert in self._alerts.values():
                groups.setdefault((alert.labels["alertname"], alert.labels.get("Hostname", "")), []).append(alert)
        for alerts in groups.values():
            self._notify_group(receiver, alerts, now)

    _watchdog_began = datetime.now(UTC)

    def _notify_group(self, receiver: _Receiver, alerts: list[Alert], now: float) -> None:
        pending = [one for one in alerts if one.status != one.sent]
        repeat = self._clock.real(self._clock.durations.repeat)
        repeated = [one for one in alerts if one.status == one.sent == "firing" and now - one.sent_at >= repeat]
        due = [one for one in pending if now >= one.next_try]
        if not due and not repeated:
            return
        told = [one for one in alerts if one.status == "firing" or one.sent != "resolved"]
        statuses = {one.status: one.status for one in told}
        delivered = self._post(receiver, told, _reason(alerts, due))
        for one in told:
            if delivered:
                one.sent, one.sent_at, one.tries = statuses[one.status], now, 0
            else:
                one.tries += 1
                one.next_try = now + min(60.0, self._clock.durations.webhook_retry * 1.5 ** (one.tries - 1))

    def _post(self, receiver: _Receiver, alerts: list[Alert], reason: str) -> bool:
        """Posts one body; returns whether the matter is settled (delivered, or refused for good)."""
        body = body_of(
            [
                (one.status, one.labels, one.annotations, one.starts, one.ends)
                for one in alerts
            ],
            reason,
        )
        headers = {"Content-Type": "application/json", "User-Agent": "Alertmanager/0.34.0"}
        if receiver.token_file is not None:
            headers["Authorization"] = f"Bearer {receiver.token_file.read_text().strip()}"
        try:
            answer = self._http.request("POST", receiver.url, body=body, headers=headers)
            code = answer.status
        except urllib3.exceptions.HTTPError:
            code = 0
        receiver.deliveries.append((time.time(), code))
        return 0 < code < 500


def _reason(alerts: list[Alert], due: list[Alert]) -> str:
    if all(one.status == "resolved" for one in alerts):
        return "all alerts resolved"
    if all(one.sent == "" for one in alerts):
        return "first notification"
    if any(one.status == "firing" and not one.sent for one in due):
        return "new alerts added"
    if due:
        return "some alerts resolved"
    return "repeat interval elapsed"
