"""Simulated time: how long things take in a real cluster, and how fast that time runs here.

Every duration is in one place, in the seconds that it takes in reality, so that `--speed` divides them all alike.
Timestamps in Kubernetes objects and alerts are those of the real clock: their readers know no other.
"""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """Seconds of simulated time. The figures are those that operators of H100 nodes publish."""

    pod_start: float = 10.0  # image present, container created, GPUs set up
    node_job_start: float = 4.0
    operand_start: float = 6.0
    pod_stop: float = 2.0  # a program that ends at once on SIGTERM
    reboot_down: float = 15.0  # from `systemctl reboot` until the kubelet falls silent
    reboot: float = 340.0  # until it answers again, with eight GPUs initialised: 5 to 20 minutes are common
    power_cycle: float = 420.0  # the same, with the firmware's self-test before it
    another_machine: float = 600.0  # from the order until it registers: a cloud takes 5 to 20 minutes
    gpu_reset: float = 8.0
    lease_grace: float = 40.0  # the node controller's --node-monitor-grace-period
    heartbeat: float = 300.0  # the kubelet's nodeStatusReportFrequency
    diagnose: float = 780.0  # dcgmi diag -r 3 on eight GPUs: 10 to 15 minutes
    benchmark: float = 120.0  # all_reduce_perf from 512 MB to 8 GB
    checkpoint: float = 90.0
    training_step: float = 6.0
    model_load: float = 60.0  # until an inference replica is ready
    embed: float = 2400.0
    scrape: float = 15.0  # Prometheus
    watchdog: float = 30.0
    group_interval: float = 300.0  # Alertmanager's group_interval and repeat_interval
    repeat: float = 14400.0
    webhook_retry: float = 0.5  # the first pause, growing to a minute; in real seconds, since the receiver is real


@dataclass(frozen=True, slots=True)
class Clock:
    """`speed` simulated seconds pass in one real second."""

    speed: float = 1.0
    durations: Durations = Durations()
    started: float = 0.0  # time.monotonic() at the start

    def real(self, simulated_s: float) -> float:
        """Real seconds in which so many simulated ones pass."""
        return simulated_s / self.speed

    def simulated(self) -> float:
        """Simulated seconds since the start."""
        return (time.monotonic() - self.started) * self.speed


def started(speed: float, durations: Durations | None = None) -> Clock:
    """A clock that begins now."""
    return Clock(speed, durations or Durations(), time.monotonic())
