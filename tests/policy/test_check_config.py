"""`sickbay check-config`, run as a command."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli import root
from tests.policy.test_good_files import FULL, SMALLEST

WIDE = {"COLUMNS": "200"}


def check(path: Path, **environment: str) -> Result:
    return CliRunner(env={**WIDE, **environment}).invoke(root, ["check-config", str(path)])


def row(result: Result, first: str) -> str:
    """The second cell of the table's row with this first cell."""
    (line,) = [line for line in result.output.splitlines() if line.startswith(f"│ {first} ")]
    return line.split("│")[2].strip()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(SMALLEST)
    return path


def test_a_good_file_is_shown_and_ends_with_0(path: Path) -> None:
    result = check(path)
    assert result.exit_code == 0, result.output
    assert row(result, "mode") == "observe"
    assert row(result, "nodes") == "gpu=true"
    assert "Out at once: 20 cordoned, 3 disrupted." in result.output
    assert result.output.splitlines()[-1] == f"{path} is good."


def test_ladders_are_told_in_words(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(FULL)
    result = check(path)
    assert row(result, "xid-999") == "cordon, drain → reboot and validate → else ask a person"
    assert row(result, "xid-43") == "cordon, drain → ask a person"
    assert row(result, "xid-79") == "only noted"
    assert row(result, "Xids of class application") == "only noted"


def test_a_mode_that_the_environment_lowers_is_told_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(
        FULL.replace('  - name: rest\n    selector: {nvidia.com/gpu.present: "true"}\n    validation: *strict\n', "")
    )
    assert row(check(path), "mode") == "act"
    assert row(check(path, SICKBAY_MODE="cordon"), "mode") == "cordon (SICKBAY_MODE; the file says act)"


def test_each_mistake_is_a_line_and_the_end_is_1(path: Path) -> None:
    path.write_text(SMALLEST.replace("main", "1").replace("ladders: {}", "ladders: {reset: [rebot]}"))
    result = check(path)
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        f'{path}:1: cluster.name: YAML reads 1 as a number, not as a text. Put it in quotes: "1".',
        f"{path}:4: ladders.reset[0]: 'rebot' is no rung. Did you mean `reboot`?",
    ]


def test_an_absent_file_is_told_and_the_end_is_1(tmp_path: Path) -> None:
    result = check(tmp_path / "absent.yaml")
    assert result.exit_code == 1
    assert "The policy cannot be read (No such file or directory)." in result.output


def test_without_a_file_the_one_of_the_environment_is_checked(path: Path) -> None:
    result = CliRunner(env={**WIDE, "SICKBAY_POLICY": str(path)}).invoke(root, ["check-config"])
    assert result.output.endswith(f"{path} is good.\n")


def test_a_name_cannot_write_markup_to_the_terminal(path: Path) -> None:
    path.write_text(SMALLEST.replace("name: main", 'name: "[red]main[/red]"'))
    assert "Cluster [red]main[/red]," in check(path).output
