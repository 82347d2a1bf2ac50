"""docs/reference/http.md names every route, and no other."""

from __future__ import annotations

import re

from app.web.webhook import COUNTED
from tests.web.conftest import ROOT, Web

PAGE = (ROOT / "docs" / "reference" / "http.md").read_text(encoding="utf-8")
SPELT = {"operation_id": "id", "filename": "file"}


def _routes(web: Web) -> set[str]:
    found = set()
    for rule in web.client.application.url_map.iter_rules():
        path = re.sub(r"<(?:[^<>:]*:)?(\w+)>", lambda name: f"<{SPELT.get(name[1], name[1])}>", rule.rule)
        found |= {f"{method} {path}" for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}}
    return found


def test_every_route_is_documented_and_no_other(web: Web) -> None:
    assert set(re.findall(r"^\| `((?:GET|POST) /[^`]*)` \|", PAGE, re.MULTILINE)) == _routes(web)


def test_every_decision_is_documented_as_it_is_counted() -> None:
    rows = re.findall(r"^\| `([a-z]+)` \| `([a-z]+)` \|", PAGE, re.MULTILINE)

    assert {(str(decision), word) for word, decisions in COUNTED.items() for decision in decisions} == set(rows)
