"""The page of the schema is complete: held against the keys of the code, and those that a small life leaves behind."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from redis import Redis

from app.domain.breaker import Breaker, Opened
from app.domain.budgets import Limit
from app.domain.operations import hold
from app.domain.tickets import TicketIntent
from app.store import ClaimRequest, FellIll, Store
from app.store.documents import FORMS
from app.store.keys import BOUNDS, KEYS
from tests.store.things import (
    MINUTE,
    NOW,
    alert,
    committed,
    entry,
    finished,
    limits,
    measure,
    node,
    operation,
    record,
    row,
)

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "store.md").read_text()
ROWS = re.findall(r"^\| `(sickbay:[^`]+)` \| ([a-z ]+) \|", PAGE, re.MULTILINE)
TYPES = {"sorted set": "zset"}


def live(store: Store) -> None:
    """Two operations, one finished, with all that a store ever holds."""
    store.inventory.write([node("gpu-001", ready=False)], {"gpu-001": "train"}, {}, (), at=NOW)
    store.gpu_counts.saw([replace(node("gpu-001"), ready=True, unschedulable=False, gpu_capacity=8, gpu_allocatable=8)])
    told = {"occurrence": "x", "alert": record(), "history": (row(serial="1", uuid="GPU-a"),), "entries": (entry("."),)}
    claim = ClaimRequest(owner="worker-a", until=NOW + MINUTE)
    opened = committed(store, operation("op-1"), **told)
    places = (*limits({"cordons": 9, "disruptions": 3}), Limit(budget="cordon rate", most=9, within=MINUTE))
    begun = committed(store, opened, claim=claim, places=places, disrupted=True, attempt="reboot")
    committed(store, finished(begun))
    intent = TicketIntent(cause="main:serial:1", number=1, operation="op-2", at=NOW)
    ill = FellIll(Opened(node="gpu-001", at=NOW), Breaker(least=0))
    committed(store, operation("op-2"), places={"cordons": 9}, ticket=intent, ill=ill)
    held, _ = hold(operation("op-3", "gpu-003"), "It is full.", now=NOW, after=MINUTE, waits_for="disruptions")
    committed(store, held)
    store.pending.put(alert(), "y", record(), now=NOW)
    store.pause.set("ana", "power work", NOW)
    store.signing_key.read()
    store.watchdog.heard(NOW)
    store.heartbeats.beat("worker", "worker-a", NOW)
    measure(store, "H100", "gpu-001", 480.0, NOW)


def test_every_key_that_a_life_leaves_behind_is_on_the_page_with_its_type(store: Store, redis: Redis) -> None:
    live(store)
    patterns = {re.compile(re.sub(r"<\w+>", "[^:]+", key)): TYPES.get(kind, kind) for key, kind in ROWS}
    for key in redis.scan_iter("*"):
        kinds = [kind for pattern, kind in patterns.items() if pattern.fullmatch(key)]
        assert kinds == [redis.type(key)], f"{key} is not on the page, or is of another type there"


def test_every_key_on_the_page_is_one_that_a_life_leaves_behind(store: Store, redis: Redis) -> None:
    live(store)
    for key, _ in ROWS:
        assert list(redis.scan_iter(re.sub(r"<\w+>", "*", key))), f"nothing writes {key}"


def test_the_page_names_the_keys_of_the_code_and_no_others() -> None:
    assert sorted(re.sub(r"<\w+>", "", key) for key, _ in ROWS) == sorted(KEYS.values())


@pytest.mark.parametrize("form", FORMS.values(), ids=lambda form: str(form.kind))
def test_every_kind_of_document_is_on_the_page(form: object) -> None:
    kind = getattr(form, "kind", "")
    assert f"({kind})" in PAGE


@pytest.mark.parametrize("name", BOUNDS)
def test_every_bound_is_on_the_page(name: str) -> None:
    bound = BOUNDS[name]
    days = bound // 86_400
    said = {730: "2 years", 1: "a day"}.get(days, f"{days} days") if name.endswith("_s") else f"{bound:,}"
    assert said in PAGE
