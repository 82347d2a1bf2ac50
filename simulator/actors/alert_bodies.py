"""The labels of alerts, their fingerprints, and the webhook body around them: pure functions.

The fingerprint is Prometheus' own (FNV-1a over the sorted labels, prometheus/common model.LabelSet.Fingerprint), so
the same labels have the same fingerprint in every run.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from simulator.hardware import Gpu, Machine
from simulator.kernel_lines import ACTION_CHANGED, error_message, xid_text
from simulator.objects import MODEL, address_of

Object = dict[str, Any]
Part = tuple[str, dict[str, str], dict[str, str], datetime, datetime | None]

_ENDLESS = "0001-01-01T00:00:00Z"
_GROUPED_BY = ("Hostname", "alertname")


def xid_labels(node: str, card: Gpu, exporter_pod: str, cluster: str, xid: int | None = None) -> dict[str, str]:
    """The labels of a series of DCGM_FI_DEV_XID_ERRORS (or of one with this code), as an alert on it carries them."""
    code = card.xid if xid is None else xid
    labels = {
        "alertname": "GpuXid",
        "severity": "critical",
        "gpu": str(card.index),
        "UUID": card.uuid,
        "pci_bus_id": card.bus_id,
        "device": f"nvidia{card.index}",
        "modelName": MODEL,
        "Hostname": node,
        "DCGM_FI_DEV_SERIAL": card.serial,
        "instance": f"{address_of(node)}:9400",
        "job": "nvidia-dcgm-exporter",
        "namespace": "gpu-operator",
        "pod": exporter_pod,
        "container": "nvidia-dcgm-exporter",
        "prometheus": "monitoring/k8s",
        "err_code": str(code),
        "err_msg": error_message(code),
    }
    return labels | ({"cluster": cluster} if cluster else {})


def xid_annotations(machine: Machine, card: Gpu, xid: int) -> dict[str, str]:
    """Summary and description; for 154 the description is the driver's own sentence, as a rule over logs gives it."""
    summary = f"GPU {card.index} on {machine.name}: Xid {xid}"
    if xid == ACTION_CHANGED:
        return {"summary": summary, "description": xid_text(xid, action=card.recovery_action)}
    return {"summary": summary, "description": f"{error_message(xid)} ({xid})"}


def thermal_labels(node: str, card: Gpu, exporter_pod: str, cluster: str) -> dict[str, str]:
    """An alert on clocks that are held down by heat: it names the GPU and no Xid."""
    labels = xid_labels(node, card, exporter_pod, cluster, 0)
    return {key: value for key, value in labels.items() if not key.startswith("err_")} | {
        "alertname": "GpuThermalThrottling",
        "severity": "warning",
    }


def watchdog_labels(cluster: str) -> dict[str, str]:
    """The alert that always fires."""
    labels = {"alertname": "Watchdog", "severity": "none", "prometheus": "monitoring/k8s"}
    return labels | ({"cluster": cluster} if cluster else {})


def fingerprint_of(labels: dict[str, str]) -> str:
    """16 hexadecimal digits."""
    value = 14695981039346656037
    for name in sorted(labels):
        for part in (name, labels[name]):
            for byte in (*part.encode(), 255):
                value = (value ^ byte) * 1099511628211 % 2**64
    return f"{value:016x}"


def body_of(alerts: list[Part], reason: str) -> bytes:
    """The body of one notification, its keys in Alertmanager's order, ending with a newline."""
    labels = [labels for _, labels, _, _, _ in alerts]
    group = {name: labels[0][name] for name in _GROUPED_BY if name in labels[0]}
    inner = ", ".join(f'{name}="{value}"' for name, value in group.items())
    body = {
        "receiver": "sickbay",
        "status": "firing" if any(status == "firing" for status, *_ in alerts) else "resolved",
        "alerts": [_alert(*one) for one in alerts],
        "notification_reason": reason,
        "groupLabels": group,
        "commonLabels": _common(labels),
        "commonAnnotations": _common([annotations for _, _, annotations, _, _ in alerts]),
        "routeLabels": {},
        "externalURL": "http://alertmanager.example:9093",
        "version": "4",
        "groupKey": "{}:{" + inner + "}",
        "truncatedAlerts": 0,
    }
    return (json.dumps(body, separators=(",", ":")) + "\n").encode()


def _alert(
    status: str, labels: dict[str, str], annotations: dict[str, str], starts: datetime, ends: datetime | None
) -> Object:
    return {
        "status": status,
        "labels": dict(sorted(labels.items())),
        "annotations": dict(sorted(annotations.items())),
        "startsAt": _time(starts),
        "endsAt": _time(ends) if ends else _ENDLESS,
        "generatorURL": "http://prometheus.example/graph?g0.expr=DCGM_FI_DEV_XID_ERRORS+%3E+0&g0.tab=1",
        "fingerprint": fingerprint_of(labels),
    }


def _common(sets: list[dict[str, str]]) -> dict[str, str]:
    return {key: value for key, value in sorted(sets[0].items()) if all(one.get(key) == value for one in sets[1:])}


def _time(at: datetime) -> str:
    at = at.astimezone(UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03}Z"
