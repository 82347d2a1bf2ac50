"""What a person can set, see or name is on a page of docs/reference. One line here for each kind of name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.cli import COMMANDS
from app.settings import READERS
from workers.steps import STEPS

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference"

# The page, the names that must stand on it in backquotes, and what such a name looks like there at the start of a
# table row, so that a name that is gone from the code does not stay on the page.
PAGES = (
    ("settings.md", tuple(READERS), r"SICKBAY_[A-Z_]+"),
    ("commands.md", tuple(COMMANDS), r"[a-z][a-z-]*"),
    ("steps.md", tuple(STEPS), r"[a-z][a-z-]*"),
)


@pytest.mark.parametrize(("page", "name"), [(page, name) for page, names, _ in PAGES for name in names])
def test_every_name_is_documented(page: str, name: str) -> None:
    assert f"\n| `{name}` |" in (REFERENCE / page).read_text(encoding="utf-8")


@pytest.mark.parametrize(("page", "names", "pattern"), PAGES, ids=[page for page, _, _ in PAGES])
def test_nothing_is_documented_that_does_not_exist(page: str, names: tuple[str, ...], pattern: str) -> None:
    rows = re.findall(rf"^\| `({pattern})` \|", (REFERENCE / page).read_text(encoding="utf-8"), re.MULTILINE)

    assert sorted(rows) == sorted(names)


@pytest.mark.parametrize(
    "page", [str(page.relative_to(ROOT)) for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"))]
)
def test_every_link_to_a_file_leads_to_one(page: str) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", (ROOT / page).read_text(encoding="utf-8"))

    assert [link for link in links if "://" not in link and not ((ROOT / page).parent / link).exists()] == []


@pytest.mark.parametrize(("page", "least"), [("failures.md", 30), ("drain.md", 30)])
def test_every_test_that_a_page_names_exists(page: str, least: int) -> None:
    named = re.findall(r"`(tests/\S+\.py)::(test_\w+)`", (ROOT / "docs" / page).read_text(encoding="utf-8"))

    assert len(named) > least
    assert [
        (file, test)
        for file, test in named
        if not (ROOT / file).exists() or f"def {test}(" not in (ROOT / file).read_text(encoding="utf-8")
    ] == []


def test_every_row_about_the_drain_names_a_test() -> None:
    rows = [
        row for row in (ROOT / "docs" / "drain.md").read_text(encoding="utf-8").splitlines() if row.startswith("| ")
    ]
    heads = [row for row in rows if row.endswith("| shown by |")]

    assert len(heads) == 3
    assert [row for row in rows if row not in heads and "::test_" not in row] == []
