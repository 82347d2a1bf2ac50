"""What is installed is what was locked, and the domain needs none of it."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import Distribution, distributions
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LOCKS = ("requirements.lock", "requirements-tests.lock", "requirements-dev.lock")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def normal(name: str) -> str:
    """The one spelling of a package's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def named(requirements: list[object]) -> set[str]:
    return {normal(re.split(r"[\s<>=!~;\[]", item, maxsplit=1)[0]) for item in requirements if isinstance(item, str)}


def locked(lock: str) -> dict[str, str]:
    """Each requirement of the lock: its name, and the lines that belong to it."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    return {normal(entry.split("==")[0]): entry for entry in re.split(r"\n(?=[A-Za-z0-9])", text)[1:]}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_direct_dependency_is_locked(lock: str) -> None:
    groups = PROJECT["dependency-groups"]
    wanted = named(PROJECT["project"]["dependencies"]) | named(groups["build"])
    if lock == "requirements-tests.lock":
        wanted |= named(groups["tests"])
    if lock == "requirements-dev.lock":
        wanted |= {name for group in groups.values() for name in named(group)}

    assert wanted - locked(lock).keys() == set()


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_package_has_one_version_and_its_hashes(lock: str) -> None:
    without = [name for name, entry in locked(lock).items() if not re.search(r"==\S+.*\n\s+--hash=sha256:", entry)]

    assert locked(lock)
    assert without == []


def test_what_a_package_needs_with_an_extra_is_locked_with_it() -> None:
    """Else pip 23.2, which Python 3.11 brings along, takes the newest release for it and finds no hash."""
    needed = (need for found in distributions() if is_locked(found) for need in found.requires or ())
    with_extra = {normal(re.split(r"[\s<>=!~;]", need, maxsplit=1)[0]) for need in needed if is_wanted_with_extra(need)}

    assert with_extra
    assert with_extra - locked("requirements-tests.lock").keys() == set()


def is_locked(found: Distribution) -> bool:
    return normal(found.name) in locked("requirements-tests.lock")


def is_wanted_with_extra(need: str) -> bool:
    """Whether this requirement of a package names an extra of another, and is no extra itself."""
    return "[" in need.partition(";")[0] and "extra ==" not in need


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_index(lock: str) -> None:
    assert not re.search(r"://|^--?[a-z]", (ROOT / lock).read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize(("smaller", "larger"), list(pairwise(LOCKS)))
def test_each_lock_has_what_the_smaller_one_has_in_the_same_versions(smaller: str, larger: str) -> None:
    less, more = ({name: entry.split(" ")[0] for name, entry in locked(lock).items()} for lock in (smaller, larger))

    assert {name: (version, more.get(name)) for name, version in less.items() if more.get(name) != version} == {}


def test_the_package_cannot_be_uploaded() -> None:
    assert "Private :: Do Not Upload" in PROJECT["project"]["classifiers"]


@pytest.mark.parametrize("file", [str(file.relative_to(ROOT)) for file in (ROOT / "app" / "domain").rglob("*.py")])
def test_the_domain_imports_the_standard_library_only(file: str) -> None:
    imported: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(f"{'.' * node.level}{node.module or ''}")

    foreign = {
        name
        for name in imported
        if name.split(".")[0] not in sys.stdlib_module_names and not name.startswith("app.domain")
    }
    assert foreign == set()
