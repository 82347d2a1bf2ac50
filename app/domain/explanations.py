"""What would be done about an alert, an Xid or a kernel line, and why: decided as in mode `act`, nothing touched.

Each is explained by itself, from policy and catalogues alone: what is open on the node, what was tried before, budgets
and guards are not known here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from app.domain.alerts import Alert
from app.domain.faults import Fault, Gpu
from app.domain.folding import open_repair
from app.domain.kernel_lines import KernelFinding, KernelTables
from app.domain.operations import NodeRef
from app.domain.placement import NAME_LABELS, Inventory, NotPlaced, place
from app.domain.plans import PLANS, repair
from app.domain.policies import CONTROL_PLANE_LABELS, EXCLUDE_LABEL, Ladder, Policy, Pool
from app.domain.rungs import Tried, not_in_pool, unnamed_gpu, unreachable_by_reset
from app.domain.triage import Decision, triage
from app.domain.xids import Catalogue, XidClass


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The chain of reasons. `told` is what came in; `plan` names the steps of the first rung that may be taken."""

    told: str
    decision: Decision
    reason: str
    code: str | None = None
    xid: int | None = None
    class_: XidClass | None = None
    gpu: Gpu | None = None
    pci: str = ""
    node: str | None = None
    pool: Pool | None = None
    ladder: Ladder = ()
    plan: tuple[str, ...] = ()


def explain_xid(number: int, policy: Policy, catalogue: Catalogue, now: datetime) -> Explanation:
    """By the number alone, on a node of the first pool."""
    xid = catalogue.xid(number)
    pool = policy.pools[0]
    found = Explanation(
        told=f"Xid {number}",
        decision=Decision.NOTE,
        reason=f"{catalogue.describe(number)}: class {xid.class_}",
        code=f"xid-{number}",
        xid=number,
        class_=xid.class_,
        pool=pool,
    )
    return _answered(found, _ladder_of(found, policy), xid.why, policy, now)


def explain_finding(finding: KernelFinding, policy: Policy, tables: KernelTables, now: datetime) -> Explanation:
    """By what a kernel line reports, on a node of the first pool."""
    described = tables.xids.describe if finding.xid is not None else tables.switches.describe
    found = Explanation(
        told=finding.text,
        decision=Decision.NOTE,
        reason=f"{described(finding.number)}: class {finding.class_}",
        code=finding.code,
        xid=finding.xid,
        class_=finding.class_,
        gpu=finding.gpu,
        pci=finding.pci,
        pool=policy.pools[0],
    )
    ladder = None if finding.only_noted else _ladder_of(found, policy)
    cause = f" The driver names Xid {finding.caused_by} as its cause." if finding.caused_by is not None else ""
    return _answered(found, ladder, f"{finding.why}{cause}".strip(), policy, now)


def explain_alert(
    alert: Alert, policy: Policy, catalogue: Catalogue, inventory: Inventory | None, now: datetime
) -> Explanation:
    """An alert, on the node of this inventory that it names; without one on a node as named, of the first pool."""
    judged = triage(alert, policy, catalogue)
    told = f"alert {alert.name or 'without a name'}, {alert.status}"
    if judged.watchdog or judged.decision in {Decision.IGNORE, Decision.REFUSE}:
        return Explanation(told=told, decision=judged.decision, reason=_sentence(judged.reason))
    node, pool, doubt = _placed(alert, policy, inventory)
    judged = triage(alert, policy, catalogue, pool)
    found = Explanation(
        told=told,
        decision=Decision.NOTE,
        reason=_sentence(judged.reason),
        code=judged.code,
        xid=judged.xid,
        class_=judged.class_ if judged.code else None,
        gpu=judged.gpu,
        node=node,
        pool=pool,
    )
    if judged.decision is not Decision.REPAIR:
        return found
    if pool is None:
        return replace(found, reason=f"{found.reason} {doubt}")
    drawn = _drawn(found, judged.ladder, policy, now)
    return replace(drawn, reason=f"{drawn.reason} {doubt}") if doubt else drawn


def _placed(alert: Alert, policy: Policy, inventory: Inventory | None) -> tuple[str | None, Pool | None, str]:
    """The node, its pool, and a sentence on what speaks against it, empty if nothing does."""
    labels = alert.labels
    if inventory is None:
        named = next((labels[name] for name in (*NAME_LABELS, "instance") if labels.get(name)), None)
        if named is None:
            return None, None, "No label names a node, so nothing is done to any."
        return named, policy.pools[0], ""
    placed = place(labels, inventory)
    if isinstance(placed, NotPlaced):
        return None, None, _sentence(f"{placed.reason}, so nothing is done to any")
    node = placed.node
    pool = policy.pool_of(node.labels)
    if any(label in node.labels for label in CONTROL_PLANE_LABELS):
        return node.name, None, f"{node.name} is a control-plane node, so nothing is done to it."
    if pool is None:
        return node.name, None, f"{node.name} is in no pool of the policy, so nothing is done to it."
    if node.labels.get(EXCLUDE_LABEL) == "true":
        return node.name, pool, f"{node.name} carries {EXCLUDE_LABEL}=true, so it is held until that is gone."
    return node.name, pool, ""


def _ladder_of(found: Explanation, policy: Policy) -> Ladder | None:
    """As `Policy.ladder_of`, also for codes that are no Xid and for a class that the text of a line made another."""
    pool, code = found.pool, found.code or ""
    for by_code in (pool.faults if pool else {}, policy.faults):
        if code in by_code:
            return by_code[code]
    if found.class_ is None or found.class_ is XidClass.UNKNOWN:
        return None
    ladders = {**policy.ladders, **(pool.ladders if pool else {})}
    return ladders.get(found.class_)


def _answered(found: Explanation, ladder: Ladder | None, why: str, policy: Policy, now: datetime) -> Explanation:
    noted = "" if ladder is not None else ", which is only noted"
    told = replace(found, reason=f"{found.reason}{noted}. {why}".strip())
    return told if ladder is None else _drawn(told, ladder, policy, now)


def _drawn(found: Explanation, ladder: Ladder, policy: Policy, now: datetime) -> Explanation:
    """With its plan: up to the release by the first rung that neither pool nor hardware speaks against."""
    pool, code = found.pool or policy.pools[0], found.code or ""
    fault = Fault(code=code, node=found.node or "", gpu=found.gpu, at=now, source=found.told, evidence=found.reason)
    node = NodeRef(name=found.node or "", uid="")
    operation, _ = open_repair(fault, id="", node=node, pool=pool.name, ladder=ladder, now=now)
    rules = (not_in_pool, unreachable_by_reset) if found.xid is not None else (not_in_pool, unnamed_gpu)
    against: list[str] = []
    taken: tuple[str, ...] = ()
    for rung in operation.ladder:
        tried = Tried(rung=rung, operation=operation, pool=pool, policy=policy, attempts=(), offender=None, now=now)
        why = next((told for rule in rules if (told := rule(tried)) is not None), None)
        if why is None:
            taken = (rung,)
            break
        against.append(why)
    if not taken:
        against.append("No rung is left, so a person is asked.")
    wait = next((step for step in operation.plan if step.step == repair.WAIT), None)
    plan = PLANS["repair"](taken, wait=wait)
    return replace(
        found,
        decision=Decision.REPAIR,
        reason=" ".join((found.reason, *against)),
        ladder=ladder,
        plan=tuple(step.step for step in plan),
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
