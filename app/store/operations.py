"""Operations: loaded, listed, found when due, and changed by one commit that is all or nothing."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from app.domain.budgets import Budget, Limit
from app.domain.operations import Operation, State
from app.store import attempts, baselines, breaker, outbox, places
from app.store.alerts import delivery
from app.store.connection import Link
from app.store.documents import FORMS, NewerDocumentError, micros, moment, read, read_readable, write
from app.store.keys import BOUNDS, KEYS, plain
from app.store.values import (
    Change,
    Claim,
    ClaimedBy,
    CommitResult,
    Committed,
    Conflict,
    Duplicate,
    NoPlace,
    Tripped,
)

_CHUNK = 100


class Operations:
    """`store.operations`."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._places = places.Places(link)

    def load(self, operation_id: str) -> Operation | None:
        """The operation as last committed; None when there is none of that id, or its time is over.

        Raises:
            NewerDocumentError: a later version of Sickbay has it in its hands.
        """
        text = self._link.ask("HGET", KEYS["operation"] + operation_id, "document")
        return None if text is None else read(Operation, text)

    def open_on(self, node: str) -> str | None:
        """The id of the operation that is open on this node."""
        found: str | None = self._link.ask("HGET", KEYS["on_node"], node)
        return found

    def open_on_each(self, nodes: Sequence[str]) -> list[str | None]:
        """The same for several, in one round trip."""
        return list(self._link.ask("HMGET", KEYS["on_node"], *nodes)) if nodes else []

    def claim_on(self, operation_id: str) -> Claim | None:
        """The claim as stored, valid or run out; None when nobody holds one."""
        fields = ("owner", "until", "fence")
        owner, until, fence = self._link.ask("HMGET", KEYS["operation"] + operation_id, *fields)
        return Claim(owner=owner, until=moment(until), fence=int(fence)) if owner else None

    def commit(self, change: Change) -> CommitResult:
        """Store the change with all that belongs to it, or nothing. A repeated call after a lost answer is harmless.

        Raises:
            NewerDocumentError: what is stored was written by a later version; it is not written over.
        """
        return _result(change, self._link.run("commit", _request(change)))

    def commit_each(self, changes: Sequence[Change]) -> list[CommitResult]:
        """Several changes in one round trip, each of another operation: one that is refused stops no other.

        Raises:
            StoreUnavailable: any of them may have been stored, as with one whose answer was lost.
        """
        answers = self._link.run_each("commit", [_request(change) for change in changes])
        return [_result(change, answer) for change, answer in zip(changes, answers, strict=True)]

    def due(self, now: datetime, limit: int = 100) -> list[str]:
        """Ids of operations to look at now, longest due first."""
        return list(self._link.ask("ZRANGEBYSCORE", KEYS["due"], "-inf", micros(now), "LIMIT", 0, limit))

    def claim_due(self, now: datetime, lease: timedelta, limit: int = 100) -> list[str]:
        """The same, each put off by `lease`, so that two who ask do not both get it. A commit sets its time anew."""
        times = {"now": str(micros(now)), "again_at": str(micros(now + lease))}
        return self._link.run("claim_due", {**times, "limit": limit})

    def page(
        self,
        states: Collection[State] | None = None,
        kind: str | None = None,
        node: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> tuple[list[Operation], str | None]:
        """Open and finished operations, last opened first, and the cursor of the next page, None at the end.

        One that cannot be read is left out and logged: it must not blank the page for the others.

        Raises:
            ValueError: the cursor is none of ours.
        """
        index = KEYS["open"] if states is not None and State.FINISHED not in states else KEYS["all"]
        found: list[Operation] = []
        for position, operation in self._walk(index, cursor):
            if states is not None and operation.state not in states:
                continue
            if kind not in {None, operation.kind} or node not in {None, operation.node.name}:
                continue
            found.append(operation)
            if len(found) == limit:
                return found, position
        return found, None

    def budgets(self, limits: Sequence[Limit], now: datetime) -> tuple[Budget, ...]:
        """Each budget with how far it is used up, as a commit would count it; `store.survey` for one operation."""
        return self._places.budgets(limits, now)

    def reservations(self) -> dict[str, frozenset[str]]:
        """Budget to the nodes that hold a place in it."""
        return self._places.reservations()

    def _walk(self, index: str, cursor: str | None) -> Iterator[tuple[str, Operation]]:
        score, after = _position(cursor)
        offset = 0
        while True:
            members = self._link.ask("ZREVRANGEBYSCORE", index, score, "-inf", "WITHSCORES", "LIMIT", offset, _CHUNK)
            # Equal scores come in reverse order of their ids, so that the last one given says where to go on.
            ids = [(str(name), at) for name, at in members if not (after and float(at) == score and str(name) >= after)]
            commands = [("HGET", KEYS["operation"] + name, "document") for name, _ in ids]
            for (name, at), text in zip(ids, self._link.ask_all(commands), strict=True):
                for operation in read_readable(Operation, [text]):
                    yield f"{int(at)}-{name}", operation
            if len(members) < _CHUNK:
                return
            offset += _CHUNK


def _request(change: Change) -> dict[str, Any]:
    operation = change.operation
    claim, held = change.claim, change.held_claim
    stored = replace(operation, version=change.expected_version + 1)
    times = {
        "now": change.now,
        "opened_at": operation.opened_at,
        # An open operation that names no time is looked at now, so that none is ever forgotten.
        "next_check_at": operation.next_check_at or change.now,
        "finished_at": operation.finished_at or change.now,
        "forget": change.now - timedelta(seconds=BOUNDS["finished_s"]),
    }
    return {
        **delivery(change.alert, change.occurrence, change.history, change.pending_id),
        **{name: str(micros(at)) for name, at in times.items()},
        "id": operation.id,
        "node": operation.node.name,
        "expected": change.expected_version,
        "document": write(stored),
        "schema": FORMS[Operation].version,
        "finished": operation.finished,
        "entries": [write(entry) for entry in change.entries],
        "claim": None if claim is None else {"owner": claim.owner, "until": str(micros(claim.until))},
        "held_claim": None if held is None else {"owner": held[0], "fence": held[1]},
        "drop_claim_of": change.drop_claim_of,
        "worker": change.worker,
        "places": [places.request(limit, change.now) for limit in change.places],
        "gives_back": list(change.gives_back),
        "waits_for": operation.waits_for if operation.state is State.HELD else "",
        "disrupted": change.disrupted,
        "attempt": attempts.request(change.attempt, operation),
        "ill": None if change.ill is None else breaker.request(change.ill, change.now),
        "hurts": change.hurts,
        "ticket": outbox.request(change.ticket),
        "joins": [{"uuid": plain(uuid), "serial": plain(serial)} for uuid, serial in change.joins],
        "baseline": None if change.baseline is None else baselines.request(change.baseline),
    }


def _result(change: Change, answer: Sequence[Any]) -> CommitResult:
    kind, *rest = answer
    match kind:
        case "committed":
            return Committed(version=int(rest[0]), fence=int(rest[1]))
        case "duplicate":
            return Duplicate(operation=rest[0] or None)
        case "conflict":
            return Conflict(version=int(rest[0]), open_operation=rest[1] or None)
        case "claimed":
            return ClaimedBy(owner=rest[0], until=moment(rest[1]))
        case "tripped":
            return Tripped()
        case "no place":
            return NoPlace(places.budget(change.places[int(rest[0]) - 1], rest[1]))
        case "newer":
            what = "".join((change.operation.id, *rest[1:]))
            told = f"{what} is stored in version {rest[0]} of its form; this Sickbay is older."
            raise NewerDocumentError(told)
        case _:
            raise ValueError(f"the script answered {kind!r}")


def _position(cursor: str | None) -> tuple[float, str]:
    if cursor is None:
        return math.inf, ""
    at, dash, name = cursor.partition("-")
    if not (at.isdecimal() and dash and name):
        raise ValueError(f"{cursor!r:.80} is no cursor of a page of operations.")
    return float(at), name
