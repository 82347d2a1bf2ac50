from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.timeline import counted, sentence, spell


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-3, "0 ms"),
        (0.041, "41 ms"),
        (4.2, "4.2 s"),
        (10, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (60, "1 min"),
        (250, "4 min 10 s"),
        (3600, "1 h"),
        (7500, "2 h 5 min"),
        (86400, "1 d"),
        (273600, "3 d 4 h"),
    ],
)
def test_a_duration_is_spelt_as_people_say_it(seconds: float, words: str) -> None:
    assert spell(timedelta(seconds=seconds)) == words


@given(st.timedeltas(min_value=timedelta(0)))
def test_every_duration_has_a_short_spelling(span: timedelta) -> None:
    assert 0 < len(spell(span)) < 24


@pytest.mark.parametrize(
    ("number", "noun", "plural", "words"),
    [(1, "pod", "", "1 pod"), (3, "pod", "", "3 pods"), (0, "pod", "", "0 pods"), (2, "body", "bodies", "2 bodies")],
)
def test_a_number_agrees_with_its_noun(number: int, noun: str, plural: str, words: str) -> None:
    assert counted(number, noun, plural) == words


@pytest.mark.parametrize(
    ("text", "ended"),
    [("works again", "works again."), ("Done.", "Done."), ("why?", "why?"), ("so… ", "so…"), ("now!\n", "now!")],
)
def test_a_sentence_ends_once(text: str, ended: str) -> None:
    assert sentence(text) == ended
