"""The one path of an alert, whether the web process takes it in or a worker places it later: judged, placed, stored.

Each alert is stored in one commit or not at all, so a body that failed half-way may simply be sent again. Reading the
HTTP body is `app.web.webhook`'s work; what is done about an operation is the workers'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

import structlog

from app.cases import LONGEST_NAME, Case, NodesSeen, Taken, sentence
from app.domain.alerts import Alert, UnreadableAlertError, read_alert
from app.domain.faults import Fault
from app.domain.folding import attach, join
from app.domain.operations import Operation
from app.domain.placement import Inventory, KnownNode, NotPlaced, Placed, place
from app.domain.policies import CONTROL_PLANE_LABELS, Policy
from app.domain.timeline import Entry
from app.domain.triage import Decision, triage
from app.domain.xids import Catalogue
from app.errors import StoreUnavailable
from app.openings import change_of, opening
from app.store import AlertRecord, Change, CommitResult, Committed, Duplicate, Store

log = structlog.get_logger(__name__)

TRIES: Final = 20
"""How often an alert is decided anew when others change the same node's operation meanwhile; each took microseconds."""
_NO_INVENTORY: Final = "No inventory of the nodes is there yet, so a worker places it from fresh reads."


class Intake:
    """Takes alerts in. It keeps nothing itself, so any number of threads and processes may share the work."""

    def __init__(self, store: Store, policy: Policy, catalogue: Catalogue) -> None:
        self._store = store
        self._policy = policy
        self._catalogue = catalogue

    def take(self, raw: object, seen: NodesSeen | None, now: datetime) -> Taken:
        """Store one member of a body's `alerts`, and say what became of it.

        Raises:
            StoreUnavailable: nothing of this alert was stored.
        """
        try:
            alert = read_alert(raw, received_at=now)
        except UnreadableAlertError as error:
            return self.refuse(sentence(str(error)), now, fingerprint=_fingerprint(raw))
        case = self._case(alert, now)
        judged = case.triage
        if judged.watchdog:
            self._store.watchdog.heard(now)
            return case.taken(Decision.NOTE, case.reason)
        if case.passed_by:
            # Its occurrence is not claimed: once policy or sender is mended, the next delivery counts.
            self._store.alerts.note(case.record(judged.decision, case.reason, node=None), None, now=now)
            return case.taken(judged.decision, case.reason)
        placed = self._where(case, seen)
        if not isinstance(placed, NotPlaced):
            return self._placed(case, placed.node)
        if judged.decision is Decision.NOTE:
            return self._note(case, case.reason, node=None)
        if placed.conflict:
            return self._note(case, sentence(placed.reason), node=None)
        return self._put_off(case, sentence(placed.reason))

    def open_each(self, raws: Sequence[object], seen: NodesSeen | None, now: datetime) -> dict[int, Taken]:
        """Store at once what opens operations on nodes where none is open, and say by place what became of it.

        In a storm that is nearly all. Of each node it is the first alert or none; all others are left to `take`.

        Raises:
            StoreUnavailable: any of them may have been stored; each counts once all the same when it comes again.
        """
        firsts: dict[str, tuple[int, Case, KnownNode]] = {}
        for number, raw in enumerate(raws):
            try:
                case = self._case(read_alert(raw, received_at=now), now)
            except UnreadableAlertError:
                continue
            placed = self._where(case, seen)
            if not (case.passed_by or isinstance(placed, NotPlaced)):
                firsts.setdefault(placed.node.name, (number, case, placed.node))
        open_ids = self._store.operations.open_on_each(list(firsts))
        openings: dict[int, tuple[Case, Change]] = {}
        for (number, placed_case, node), open_id in zip(firsts.values(), open_ids, strict=True):
            case = self._by_pool(placed_case, node)
            pool = self._policy.pool_of(node.labels)
            if open_id is None and pool is not None and case.triage.decision is Decision.REPAIR:
                openings[number] = case, opening(case, node, pool.name, self._policy.breaker)
        results = self._store.operations.commit_each([change for _, change in openings.values()])
        taken = {
            number: _committed(case, case.reason, Decision.REPAIR, change, result)
            for (number, (case, change)), result in zip(openings.items(), results, strict=True)
        }
        return {number: one for number, one in taken.items() if one is not None}

    def refuse(self, reason: str, now: datetime, *, fingerprint: str = "") -> Taken:
        """List an alert that cannot be read, so that its sender's mistake shows. Raises StoreUnavailable."""
        record = AlertRecord(
            at=now, name="", fingerprint=fingerprint, status="", decision=Decision.REFUSE, reason=reason
        )
        self._store.alerts.note(record, None, now=now)
        return Taken(fingerprint=fingerprint, decision=Decision.REFUSE, reason=reason)

    def place_pending(self, pending_id: str, inventory: Inventory, now: datetime) -> Taken | None:
        """Place an alert that waited, from fresh reads. None when it waits no longer.

        Safe to repeat after a crash: it leaves the waiting room in the commit that says what became of it.
        """
        waiting = self._store.pending.take(pending_id)
        if waiting is None:
            return None
        # The policy may have changed since.
        case = self._case(waiting, now, pending_id)
        judged = case.triage
        if judged.decision is not Decision.REPAIR:
            return self._note(case, case.reason, node=None, decision=judged.decision)
        placed = place(waiting.labels, inventory)
        if isinstance(placed, NotPlaced):
            told = placed.reason if placed.conflict else f"{placed.reason}, in fresh reads of the cluster either"
            return self._note(case, sentence(told), node=None)
        return self._placed(case, placed.node)

    def _case(self, alert: Alert, now: datetime, pending: str | None = None) -> Case:
        return Case(alert=alert, triage=triage(alert, self._policy, self._catalogue), now=now, pending=pending)

    def _where(self, case: Case, seen: NodesSeen | None) -> Placed | NotPlaced:
        fresh = seen is not None and case.now - seen.at <= self._policy.inventory_max_age
        return place(case.alert.labels, seen.inventory) if seen and fresh else NotPlaced(_why_unplaced(seen))

    def _by_pool(self, case: Case, node: KnownNode) -> Case:
        """Judged once more, by the rules of the node's own pool."""
        pool = self._policy.pool_of(node.labels)
        return replace(case, triage=triage(case.alert, self._policy, self._catalogue, pool))

    def _placed(self, case: Case, node: KnownNode) -> Taken:
        case = self._by_pool(case, node)
        repaired = case.triage.decision is Decision.REPAIR
        return self._repair(case, node) if repaired else self._note_fault(case, node)

    def _repair(self, case: Case, node: KnownNode) -> Taken:
        pool = self._policy.pool_of(node.labels)
        if pool is None:
            return self._note(case, f"{case.reason} {_untouchable(node)}", node=node.name)
        for _ in range(TRIES):
            open_id = self._store.operations.open_on(node.name)
            known = None if open_id is None else self._store.operations.load(open_id)
            if open_id is not None and (known is None or known.finished):
                continue
            if known is None:
                change = opening(case, node, pool.name, self._policy.breaker)
                result = self._store.operations.commit(change)
                taken = _committed(case, case.reason, Decision.REPAIR, change, result)
            elif known.node.uid != node.uid:
                told = f"{known.id} on the earlier node of the name {node.name} must end first."
                return self._put_off(case, told)
            else:
                taken = self._join(case, known)
            if taken is not None:
                return taken
        raise StoreUnavailable(f"The operation on {node.name} changed {TRIES} times while an alert was to join it.")

    def _join(self, case: Case, known: Operation) -> Taken | None:
        fault = case.triage.fault(case.alert, known.node.name)
        if self._is_own_act(known, fault):
            return self._attach(case, known, fault)
        kept = any(other.is_same_as(fault) for other in known.faults)
        if known.giving_back and not kept:  # whoever ordered that did not know of it, and nothing would come of it here
            return self._put_off(case, f"{known.id} gives {known.node.name} back by order and must end first.")
        joined = join(known, fault, ladder=case.triage.ladder, now=case.now)
        if joined is None:
            told = f"{known.id} knows this fault." if kept else f"{known.id} holds as many faults as are kept."
            return self._note(case, told, node=known.node.name, decision=Decision.REFRESH, operation=known.id)
        operation, entries = joined
        if len(operation.faults) > len(known.faults):
            return self._commit(case, operation, known.version, entries, f"{case.reason} It joins {known.id}.")
        told = f"{known.id} knows this fault, and now more of its card."
        return self._commit(case, operation, known.version, entries, told, decision=Decision.REFRESH)

    def _is_own_act(self, known: Operation, fault: Fault) -> bool:
        """Whether this is what the step that runs now is known to raise: its own result tells, not the alert."""
        step = known.current
        return step is not None and bool(step.attempt) and self._policy.is_own_act(step.step, fault.code)

    def _note_fault(self, case: Case, node: KnownNode) -> Taken:
        """A fault that is only noted. An open operation on its node tells of it: as a tail, or as an end."""
        if case.triage.code is None:
            return self._note(case, case.reason, node=node.name)
        fault = case.triage.fault(case.alert, node.name)
        for _ in range(TRIES):
            open_id = self._store.operations.open_on(node.name)
            known = None if open_id is None else self._store.operations.load(open_id)
            if known is None or known.finished:
                break
            if not case.alert.firing and not any(other.is_same_as(fault) for other in known.faults):
                break
            taken = self._attach(case, known, fault)
            if taken is not None:
                return taken
        return self._note(case, case.reason, node=node.name)

    def _attach(self, case: Case, known: Operation, fault: Fault) -> Taken | None:
        """Told in the operation's timeline; nothing else follows. None when somebody else was first."""
        if not case.alert.firing:
            told = f"{fault.alert}: {fault.evidence} is resolved; that releases nothing."
            entries: tuple[Entry, ...] = (Entry(case.now, "alert", told),)
        elif self._is_own_act(known, fault) and known.current is not None:
            case = replace(case, own_act=known.current.step)
            why = f"Sickbay's own {known.current.step} is known to raise it, so it is no new fault"
            _, entries = attach(known, fault, why, now=case.now)
        else:
            why = f"it comes with this operation's faults and changes nothing ({case.triage.class_})"
            _, entries = attach(known, fault, why, now=case.now)
        return self._commit(case, known, known.version, entries, case.reason, decision=Decision.NOTE)

    def _commit(
        self,
        case: Case,
        operation: Operation,
        expected: int,
        entries: tuple[Entry, ...],
        reason: str,
        *,
        decision: Decision = Decision.REPAIR,
    ) -> Taken | None:
        """None when somebody else was first, and it has to be decided again."""
        change = change_of(case, operation, expected, entries, reason, decision=decision)
        return _committed(case, reason, decision, change, self._store.operations.commit(change))

    def _note(
        self,
        case: Case,
        reason: str,
        *,
        node: str | None,
        decision: Decision = Decision.NOTE,
        operation: str | None = None,
    ) -> Taken:
        record = case.record(decision, reason, node=node, operation=operation)
        rows = case.rows(node=node, operation=operation or "")
        occurrence = case.alert.occurrence
        stored = self._store.alerts.note(record, occurrence, rows, now=case.now, pending_id=case.pending)
        return case.taken(decision, reason, operation=operation) if stored else _duplicate(case, operation)

    def _put_off(self, case: Case, reason: str) -> Taken:
        if case.pending is not None:
            return replace(case.taken(Decision.PENDING, reason), pending=case.pending)
        record = case.record(Decision.PENDING, reason, node=None)
        pending = self._store.pending.put(case.alert, case.alert.occurrence, record, now=case.now)
        if pending is None:
            return _duplicate(case, None)
        return replace(case.taken(Decision.PENDING, reason), pending=pending)


def _committed(case: Case, reason: str, decision: Decision, change: Change, result: CommitResult) -> Taken | None:
    """What came of a commit; None when somebody else was first."""
    operation = change.operation
    match result:
        case Committed():
            if change.expected_version == 0:
                log.info("operation opened", operation=operation.id, node=operation.node.name, reason=operation.reason)
            urgent = decision is Decision.REPAIR
            return case.taken(decision, reason, operation=operation.id, urgent=urgent)
        case Duplicate(led_to):
            return _duplicate(case, led_to)
        case _:
            return None


def _fingerprint(raw: object) -> str:
    given = raw.get("fingerprint") if isinstance(raw, Mapping) else None
    return given[:LONGEST_NAME] if isinstance(given, str) else ""


def _duplicate(case: Case, operation: str | None) -> Taken:
    return case.taken(Decision.DUPLICATE, "This occurrence was delivered before; it counts once.", operation=operation)


def _why_unplaced(seen: NodesSeen | None) -> str:
    if seen is None:
        return _NO_INVENTORY
    return (
        f"The inventory of the nodes is from {seen.at:%Y-%m-%d %H:%M:%S} UTC, so a worker places it from fresh reads."
    )


def _untouchable(node: KnownNode) -> str:
    if any(label in node.labels for label in CONTROL_PLANE_LABELS):
        return f"{node.name} is a control-plane node, so nothing is done to it."
    return f"{node.name} is in no pool of the policy, so nothing is done to it."
