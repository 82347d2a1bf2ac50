from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.alerts import (
    LONGEST_FINGERPRINT,
    SKEW_TOLERANCE,
    UnreadableAlertError,
    fingerprint_of,
    read_alert,
    read_time,
)
from tests.building import a_case

RECEIVED = datetime(2026, 9, 20, 10, 5, tzinfo=UTC)
START = "2026-09-20T10:00:00Z"

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def raw(**fields: Any) -> dict[str, Any]:
    told = {"status": "firing", "labels": {"alertname": "GpuXid"}, "startsAt": START, "fingerprint": "f1"}
    return {**told, **fields}


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-09-20T10:00:17Z", datetime(2026, 9, 20, 10, 0, 17, tzinfo=UTC)),
        ("2026-09-20T10:00:17.5Z", datetime(2026, 9, 20, 10, 0, 17, 500000, tzinfo=UTC)),
        ("2026-09-20T07:00:17.16095407-03:00", datetime(2026, 9, 20, 10, 0, 17, 160954, tzinfo=UTC)),
        ("2026-09-20T18:00:17.113904445+08:00", datetime(2026, 9, 20, 10, 0, 17, 113904, tzinfo=UTC)),
        ("2026-09-20 10:00:17z", datetime(2026, 9, 20, 10, 0, 17, tzinfo=UTC)),
        (" 2026-09-20T10:00:17Z\n", datetime(2026, 9, 20, 10, 0, 17, tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
        ("2026-09-20T10:00:17", None),
        ("2026-09-20T10:00:60Z", None),
        ("2026-02-30T10:00:00Z", None),
        ("2026-09-20T10:00:17+24:00", None),
        ("2026-09-20T10:00:17+99:99", None),
        ("0001-01-01T00:00:00+05:00", None),
        ("9999-12-31T23:59:59-05:00", None),
        ("not-a-time", None),
        ("", None),
        (None, None),
        (1758362417, None),
        (["2026-09-20T10:00:17Z"], None),
    ],
)
def test_a_time_is_read_in_any_offset_and_precision_or_not_at_all(text: object, utc: datetime | None) -> None:
    assert read_time(text) == utc


@given(st.datetimes(timezones=st.just(UTC)))
def test_every_time_that_python_writes_is_read_back(time: datetime) -> None:
    assert read_time(time.isoformat()) == time


def test_five_spellings_of_a_start_each_become_a_usable_time() -> None:
    case = a_case("times")
    alerts = [read_alert(one, received_at=RECEIVED) for one in case["payload"]["alerts"]]
    assert [alert.starts_at for alert in alerts] == [read_time(one) for one in case["want_starts"]]
    assert [bool(alert.remarks) for alert in alerts] == case["want_remarks"]
    assert all(alert.firing for alert in alerts)


@pytest.mark.parametrize(("early", "kept"), [(SKEW_TOLERANCE, True), (SKEW_TOLERANCE + timedelta(seconds=1), False)])
def test_a_start_may_lie_a_little_in_the_future_and_no_more(early: timedelta, kept: bool) -> None:
    start = RECEIVED + early
    alert = read_alert(raw(startsAt=start.isoformat()), received_at=RECEIVED)
    assert alert.starts_at == (start if kept else RECEIVED)
    assert bool(alert.remarks) is not kept


def test_an_end_in_the_past_does_not_make_a_firing_alert_resolved() -> None:
    alert = read_alert(raw(endsAt="2020-01-01T00:00:00Z"), received_at=RECEIVED)
    assert alert.firing


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (None, "an alert must be an object, not null"),
        ([], "an alert must be an object, not list"),
        ("firing", "an alert must be an object, not str"),
        (raw(labels=None), "an alert must have labels, an object of texts"),
        (raw(labels=[]), "an alert must have labels, an object of texts"),
        (raw(labels={"gpu": 3}), "an alert must have labels, an object of texts"),
        (raw(status="pending"), "status must be firing or resolved, not 'pending'"),
        (raw(status=None), "status must be firing or resolved, not None"),
        (raw(status=["firing"]), "status must be firing or resolved, not ['firing']"),
        (raw(status={"firing": 1}), "status must be firing or resolved, not {'firing': 1}"),
    ],
)
def test_what_is_no_alert_is_refused_with_what_is_missing(one: object, message: str) -> None:
    with pytest.raises(UnreadableAlertError) as refused:
        read_alert(one, received_at=RECEIVED)
    assert str(refused.value) == message


@given(anything | st.fixed_dictionaries(dict.fromkeys(("status", "labels", "startsAt", "fingerprint"), anything)))
def test_whatever_json_holds_is_an_alert_or_refused_and_never_an_accident(one: object) -> None:
    try:
        alert = read_alert(one, received_at=RECEIVED)
    except UnreadableAlertError:
        return
    assert alert.occurrence.encode()


def test_labels_that_are_no_texts_are_left_out_and_the_others_kept() -> None:
    alert = read_alert(raw(labels={"alertname": "GpuXid", "gpu": 3, "x": None}), received_at=RECEIVED)
    assert alert.labels == {"alertname": "GpuXid"}


@pytest.mark.parametrize("given", [None, "", 7, "x" * (LONGEST_FINGERPRINT + 1)])
def test_a_fingerprint_that_is_none_is_made_from_the_labels(given: object) -> None:
    alert = read_alert(raw(fingerprint=given), received_at=RECEIVED)
    assert alert.fingerprint == fingerprint_of({"alertname": "GpuXid"})
    assert len(alert.fingerprint) == 16


def test_a_made_fingerprint_does_not_depend_on_the_order_of_labels_and_tells_names_from_values() -> None:
    assert fingerprint_of({"a": "1", "b": "2"}) == fingerprint_of({"b": "2", "a": "1"})
    assert fingerprint_of({"a": "b"}) != fingerprint_of({"ab": ""})


def test_a_lone_surrogate_that_json_can_spell_can_be_stored() -> None:
    one = json.loads('{"status": "firing", "labels": {"a\\ud800": "\\udfff"}, "fingerprint": "\\ud800"}')
    alert = read_alert(one, received_at=RECEIVED)
    assert json.dumps([dict(alert.labels), alert.occurrence], ensure_ascii=False).encode()


def test_two_deliveries_of_one_event_are_one_occurrence_in_whatever_offset() -> None:
    utc = read_alert(raw(), received_at=RECEIVED)
    elsewhere = read_alert(raw(startsAt="2026-09-20T12:00:00+02:00"), received_at=RECEIVED + timedelta(minutes=5))
    assert utc.occurrence == elsewhere.occurrence


@pytest.mark.parametrize("change", [{"startsAt": "2026-09-20T10:00:01Z"}, {"status": "resolved"}, {"fingerprint": "g"}])
def test_another_start_status_or_fingerprint_is_another_occurrence(change: dict[str, str]) -> None:
    same, other = read_alert(raw(), received_at=RECEIVED), read_alert(raw(**change), received_at=RECEIVED)
    assert same.occurrence != other.occurrence


@pytest.mark.parametrize("start", ["not-a-time", "2026-09-20T14:31:00Z", "0001-01-01T00:00:00Z"])
def test_a_sender_with_a_wrong_clock_reports_one_event_once_however_often_it_repeats(start: str) -> None:
    first = read_alert(raw(startsAt=start), received_at=RECEIVED)
    again = read_alert(raw(startsAt=start), received_at=RECEIVED + timedelta(minutes=5))
    assert first.starts_at != again.starts_at
    assert first.occurrence == again.occurrence


def test_an_alert_without_a_name_has_an_empty_one() -> None:
    assert read_alert(raw(labels={"gpu": "3"}), received_at=RECEIVED).name == ""
