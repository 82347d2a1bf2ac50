"""The switch by which CI makes a skip a failure, tried on files that skip in every way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

EVERY_WAY = """
import pytest

@pytest.mark.skip(reason="by a mark")
def test_mark(): pass

@pytest.mark.skipif(True, reason="by a condition")
def test_condition(): pass

def test_late(): pytest.skip("while it runs")

@pytest.fixture
def server(): pytest.skip("by a fixture")
def test_fixture(server): pass

@pytest.mark.xfail(reason="known", strict=True)
def test_expected_failure(): assert False

def test_pass(): pass
"""
WHOLE_MODULE = "import pytest; pytest.skip('as a module', allow_module_level=True)"
REASONS = ("by a mark", "by a condition", "while it runs", "by a fixture", "as a module")


def run(directory: Path, *switches: str) -> subprocess.CompletedProcess[str]:
    (directory / "pytest.ini").write_text("[pytest]\n")
    (directory / "test_every_way.py").write_text(EVERY_WAY)
    (directory / "test_whole_module.py").write_text(WHOLE_MODULE)
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:hypothesispytest", "-p", "no:cov"]
    where = ["-c", str(directory / "pytest.ini"), "--continue-on-collection-errors", str(directory)]
    return subprocess.run([*command, *where, *switches], cwd=ROOT, capture_output=True, text=True, check=False)


def test_with_the_switch_each_skip_is_a_failure_that_names_its_reason(tmp_path: Path) -> None:
    result = run(tmp_path, "--no-skips")

    assert result.returncode == 1
    assert "1 failed, 1 passed, 1 xfailed, 4 errors" in result.stdout
    assert [reason for reason in REASONS if f"--no-skips forbids that: Skipped: {reason}" not in result.stdout] == []


@pytest.mark.thorough
def test_without_the_switch_a_skip_is_a_skip(tmp_path: Path) -> None:
    result = run(tmp_path)

    assert result.returncode == 0
    assert "1 passed, 5 skipped, 1 xfailed" in result.stdout
