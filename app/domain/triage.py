"""What an alert is worth before anything is looked up in the cluster: repair, note, ignore or refuse, and why."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.domain.alerts import Alert
from app.domain.faults import Fault, Gpu, read_serial
from app.domain.policies import ClusterName, Ladder, Policy, Pool
from app.domain.xids import Catalogue, UnreadableXid, XidClass, read_xid

UUID_LABELS = ("UUID", "uuid", "gpu_uuid")
SERIAL_LABELS = ("DCGM_FI_DEV_SERIAL", "serial")
INDEX_LABELS = ("gpu",)
_INDEX = re.compile(r"[0-9]{1,3}")


class Decision(StrEnum):
    """What became of one alert; the words of the webhook's answer."""

    REPAIR = "repair"
    """It opened an operation or joined one."""
    PENDING = "pending"
    """Stored; a worker places it from fresh reads."""
    NOTE = "note"
    """Stored in the history, nothing is done."""
    IGNORE = "ignore"
    """Not for Sickbay."""
    REFUSE = "refuse"
    """It cannot be understood or trusted; its sender must mend it."""
    DUPLICATE = "duplicate"
    """This very occurrence was delivered before."""
    REFRESH = "refresh"
    """The fault is known in an open operation; nothing new follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Triage:
    """`decision` is repair, note, ignore or refuse. `ladder` holds the rungs when it is repair.

    `code`, `gpu` and `class_` are set when the alert names a fault, also one that is only noted.
    """

    decision: Decision
    reason: str
    code: str | None = None
    xid: int | None = None
    class_: XidClass = XidClass.UNKNOWN
    gpu: Gpu | None = None
    ladder: Ladder = ()
    evidence: str = ""
    watchdog: bool = False

    def fault(self, alert: Alert, node: str) -> Fault:
        """The fault on that node. Only for a triage that names a code."""
        if self.code is None:
            raise ValueError("this alert names no fault")
        return Fault(
            code=self.code,
            node=node,
            gpu=self.gpu,
            at=alert.starts_at,
            source=f"alert {alert.name}",
            evidence=self.evidence,
            rung=min(self.ladder, key=lambda rung: rung.gravity).rung if self.ladder else "",
        )


def triage(alert: Alert, policy: Policy, catalogue: Catalogue, pool: Pool | None = None) -> Triage:
    """The worth of one alert by policy and catalogue alone; `pool` is that of its node, once it is known."""
    stranger = _other_cluster(alert, policy.cluster)
    if stranger is not None:
        return stranger
    if policy.alerts.is_watchdog(alert.name):
        heard = "the watchdog is heard" if alert.firing else "the watchdog's end is no news: its silence is"
        return Triage(decision=Decision.NOTE, reason=heard, watchdog=alert.firing)
    if not policy.alerts.is_xid(alert.name):
        return Triage(decision=Decision.IGNORE, reason=f"alerts named {alert.name!r:.80} are not in the policy's list")
    number = read_xid(alert.labels)
    if isinstance(number, UnreadableXid):
        return Triage(
            decision=Decision.NOTE,
            reason=f"its Xid label holds {number.value!r}, which is no Xid",
            gpu=read_gpu(alert.labels),
        )
    if number is None:
        text = "no label names an Xid, and none is guessed from text or value"
        return Triage(decision=Decision.NOTE, reason=text, gpu=read_gpu(alert.labels))
    return _judge(alert, number, policy, catalogue, pool)


def read_gpu(labels: Mapping[str, str]) -> Gpu | None:
    """The card that the labels name by serial, UUID or DCGM index; None when they name none."""
    serial = next((found for name in SERIAL_LABELS if (found := read_serial(labels.get(name)))), None)
    uuid = next((labels[name] for name in UUID_LABELS if labels.get(name, "").startswith("GPU-")), None)
    index = next((int(labels[name]) for name in INDEX_LABELS if _INDEX.fullmatch(labels.get(name, ""))), None)
    gpu = Gpu(serial=serial, uuid=uuid, index=index)
    return None if gpu == Gpu() else gpu


def _judge(alert: Alert, number: int, policy: Policy, catalogue: Catalogue, pool: Pool | None) -> Triage:
    xid = catalogue.xid(number)
    gpu = read_gpu(alert.labels)
    told = catalogue.describe(number)
    evidence = f"{told} on {gpu}" if gpu else told
    ladder = policy.ladder_of(xid, pool)
    if not alert.firing:
        decision, reason = Decision.NOTE, f"{told} is resolved, which proves no repair and releases nothing"
    elif ladder is None:
        decision, reason = Decision.NOTE, f"{told}: class {xid.class_}, which the policy only notes"
    else:
        decision, reason = Decision.REPAIR, f"{told}: class {xid.class_}"
    return Triage(
        decision=decision,
        reason=f"{reason}. {xid.why}" if xid.why else reason,
        code=f"xid-{number}",
        xid=number,
        class_=xid.class_,
        gpu=gpu,
        ladder=ladder if ladder and decision is Decision.REPAIR else (),
        evidence=evidence,
    )


def _other_cluster(alert: Alert, cluster: ClusterName) -> Triage | None:
    if cluster.label is None:
        return None
    named = alert.labels.get(cluster.label, "")
    if not named:
        text = f"it lacks the label {cluster.label!r}, which must name the cluster {cluster.name!r}"
        return Triage(decision=Decision.REFUSE, reason=text)
    if named != cluster.name:
        return Triage(
            decision=Decision.IGNORE, reason=f"it is about the cluster {named!r:.80}, this is {cluster.name!r}"
        )
    return None
