from __future__ import annotations

import importlib
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from app import __version__, cli
from app.errors import ConfigurationError


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_can_be_imported_and_has_help(name: str) -> None:
    module_name, _, attribute = cli.COMMANDS[name][0].partition(":")

    command = getattr(importlib.import_module(module_name), attribute)

    assert isinstance(command, click.Command)
    assert command.help


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_one_line_in_the_list(name: str) -> None:
    line = cli.COMMANDS[name][1]

    assert line.endswith(".")
    assert len(line) <= 72
    assert name in CliRunner().invoke(cli.root, ["--help"]).output


def test_the_list_of_commands_imports_none_of_them() -> None:
    program = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from app import cli\n"
        "assert CliRunner().invoke(cli.root, ['--help']).exit_code == 0\n"
        "print(*({'flask', 'kubernetes', 'redis', 'rich', 'rq', 'simulator', 'workers'} & sys.modules.keys()))"
    )

    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    assert loaded.split() == []


def test_the_version_is_told() -> None:
    assert CliRunner().invoke(cli.root, ["--version"]).output == f"sickbay, version {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["cure"], "No such command 'cure'"),
        (["refuse", "--softly"], "No such option '--softly'"),
        (["refuse", "twice"], "unexpected extra argument (twice)"),
    ],
)
def test_wrong_usage_is_never_taken_for_a_verdict(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], sentence: str
) -> None:
    monkeypatch.setitem(cli.COMMANDS, "refuse", (f"{__name__}:refuse", "Refuse."))

    result = CliRunner().invoke(cli.root, arguments)

    assert result.exit_code == cli.REFUSED
    assert sentence in result.stderr


def test_a_refusal_is_its_sentence_on_standard_error_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cli.COMMANDS, "refuse", (f"{__name__}:refuse", "Refuse."))

    result = CliRunner().invoke(cli.root, ["refuse"])

    assert (result.exit_code, result.stdout) == (cli.REFUSED, "")
    assert result.stderr == "Error: SICKBAY_MODE: 'actt' is not one of its values.\n"


def test_a_name_that_is_no_command_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cli.COMMANDS, "broken", ("app.cli:COMMANDS", "Broken."))

    assert isinstance(CliRunner().invoke(cli.root, ["broken"]).exception, TypeError)


@click.command()
def refuse() -> None:
    """Refuse, as a command does that finds a wrong setting."""
    raise ConfigurationError("'actt' is not one of its values.", file="SICKBAY_MODE")


def test_a_wrong_option_before_the_command_is_no_verdict_either() -> None:
    result = CliRunner().invoke(cli.root, ["--nosuch"])
    assert result.exit_code == cli.REFUSED
    assert "No such option" in result.output


def test_without_a_command_the_help_is_shown() -> None:
    assert "Commands:" in CliRunner().invoke(cli.root, []).output
