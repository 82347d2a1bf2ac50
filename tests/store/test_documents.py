from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.faults import Fault, Gpu
from app.domain.history import HistoryRow
from app.domain.operations import NodeRef, Operation, Result, State
from app.domain.plans.planned import PlannedStep, StepState
from app.domain.timeline import Entry
from app.store import documents
from app.store.documents import FORMS, Form, NewerDocumentError, UnreadableDocumentError, micros, moment, read, write
from tests.store.things import NOW, operation

texts = st.text(max_size=20)
times = st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
maybe_time = st.none() | times
memos = st.dictionaries(texts, texts, max_size=3)
gpus = st.builds(Gpu, serial=st.none() | texts, uuid=st.none() | texts, index=st.none() | st.integers(0, 15))
faults = st.builds(Fault, code=texts, node=texts, gpu=st.none() | gpus, at=times, source=texts, evidence=texts)
steps = st.builds(
    PlannedStep,
    step=texts,
    rung=texts,
    state=st.sampled_from(StepState),
    attempt=st.integers(0, 99),
    started_at=maybe_time,
    finished_at=maybe_time,
    reason=texts,
    memo=memos,
)
operations = st.builds(
    Operation,
    id=texts,
    kind=texts,
    node=st.builds(NodeRef, name=texts, uid=texts),
    pool=texts,
    plan=st.lists(steps, max_size=4).map(tuple),
    faults=st.lists(faults, max_size=3).map(tuple),
    ladder=st.lists(texts, max_size=3).map(tuple),
    opened_at=times,
    state=st.sampled_from(State),
    result=st.none() | st.sampled_from(Result),
    reason=texts,
    finished_at=maybe_time,
    next_check_at=maybe_time,
    version=st.integers(0, 10_000),
    asks=texts,
    approvals=st.lists(texts, max_size=3).map(tuple),
    ending=st.sampled_from(Result),
    waits_for=texts,
)
entries = st.builds(Entry, at=times, actor=texts, text=texts)
rows = st.builds(HistoryRow, gpu=gpus, node=texts, code=texts, class_=texts, at=times, evidence=texts, operation=texts)


@given(operations | entries | rows)
def test_what_is_written_is_read_back_the_same(record: Operation | Entry | HistoryRow) -> None:
    assert read(type(record), write(record)) == record


@pytest.mark.parametrize("kind", FORMS, ids=lambda kind: str(kind.__name__))
def test_a_form_that_changed_has_a_new_version(kind: type[Any]) -> None:
    """A field that comes or goes would be dropped by older code, or be missing in older documents.

    Add an upcaster to the kind's form, then write the new fields into forms.json.
    """
    told = json.loads((Path(__file__).parent / "forms.json").read_text())[FORMS[kind].kind]
    assert {"v": FORMS[kind].version, "fields": dict(sorted(_field_names(kind).items()))} == told


def test_a_document_of_a_newer_version_is_refused_and_says_so() -> None:
    newer = json.dumps({**json.loads(write(operation())), "v": 9, "lanes": ["left"]})
    with pytest.raises(NewerDocumentError, match=r"kind operation has version 9; this Sickbay knows them up to 3\."):
        read(Operation, newer)


def test_an_older_document_is_lifted_version_by_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def said_to_text(plain: documents.Plain) -> documents.Plain:
        return {**{name: value for name, value in plain.items() if name != "said"}, "text": plain["said"]}

    def add_actor(plain: documents.Plain) -> documents.Plain:
        return {**plain, "actor": "sickbay"}

    monkeypatch.setitem(FORMS, Entry, Form("timeline entry", (said_to_text, add_actor)))
    oldest = '{"v": 1, "at": "2026-03-01T09:41:07.123456Z", "said": "Cordoned."}'
    middle = '{"v": 2, "at": "2026-03-01T09:41:07.123456Z", "text": "Cordoned."}'
    assert read(Entry, oldest) == read(Entry, middle) == Entry(NOW, "sickbay", "Cordoned.")
    assert json.loads(write(Entry(NOW, "sickbay", "Cordoned.")))["v"] == 3


def test_a_fault_of_before_rungs_were_kept_has_none() -> None:
    plain = json.loads(write(operation()))
    faults = [{name: value for name, value in fault.items() if name != "rung"} for fault in plain["faults"]]
    found = read(Operation, json.dumps({**plain, "v": 1, "faults": faults}))
    assert [fault.rung for fault in found.faults] == [""]
    assert found.id == plain["id"]


@pytest.mark.parametrize(
    "text",
    ["", "[]", "7", "{}", '{"v": "1"}', '{"v": 0}', '{"v": 1}', '{"v": 1, "at": 5, "actor": "", "text": ""}', "{"],
)
def test_what_is_no_document_is_called_unreadable(text: str) -> None:
    with pytest.raises(UnreadableDocumentError, match="kind timeline entry cannot be read"):
        read(Entry, text)


def test_a_list_leaves_out_what_it_cannot_read() -> None:
    good = write(Entry(NOW, "ana", "Approved."))
    assert documents.read_readable(Entry, ["{", None, good, '{"v": 9}']) == [Entry(NOW, "ana", "Approved.")]


@pytest.mark.parametrize(
    ("at", "written"),
    [
        (NOW, "2026-03-01T09:41:07.123456Z"),
        (NOW.replace(microsecond=0), "2026-03-01T09:41:07.000000Z"),
        (NOW.astimezone(timezone(timedelta(hours=5, minutes=30))), "2026-03-01T09:41:07.123456Z"),
    ],
)
def test_times_are_written_in_utc_with_microseconds(at: datetime, written: str) -> None:
    assert json.loads(write(Entry(at, "", "")))["at"] == written


def test_a_lone_surrogate_does_not_keep_a_record_from_being_stored() -> None:
    assert read(Entry, write(Entry(NOW, "ana", "odd \ud800 text"))).text == "odd ? text"


@given(times)
def test_microseconds_keep_a_time_exactly(at: datetime) -> None:
    assert moment(micros(at)) == moment(str(micros(at))) == moment(float(micros(at))) == at


def test_every_kind_of_document_has_its_own_name() -> None:
    kinds = [form.kind for form in FORMS.values()]
    assert len(kinds) == len(set(kinds))


def _field_names(kind: type[Any]) -> dict[str, list[str]]:
    """Record to fields, of this kind and of every record inside it."""
    found = {kind.__name__: [field.name for field in fields(kind)]}
    for hint in get_type_hints(kind).values():
        for inner in (hint, *(part for part in get_args(hint))):
            if isinstance(inner, type) and is_dataclass(inner):
                found |= _field_names(inner)
    return found
