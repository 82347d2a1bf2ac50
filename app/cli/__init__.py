"""The command line. One module a command, named here by a dotted string and imported only when it is called.

So `sickbay --help` costs nothing, the worker's libraries are not loaded for a look at the status, and commands that
live in `workers` or `simulator` need no import from here. A command's own help stands in its module; the line here is
what the list shows. Each module has a click command named `command`.

Exit codes: 0, 1 and 2 are verdicts of the commands that judge (pass, fail, inconclusive); others end with 0 or 1.
What Sickbay refuses on purpose, wrong usage included, is one sentence and 3, so that it is never taken for a verdict.
"""

from __future__ import annotations

import importlib
from typing import Any, Final

import click

from app import __version__
from app.errors import SickbayError

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "demo": ("simulator.demo:command", "Play a repair on a simulated cluster, and stay up to be looked at."),
    "web": ("app.cli.web:command", "Receive alerts; serve the page and the API."),
    "worker": ("workers.commands.worker:command", "Carry out operations. Any number may run."),
    "watch": ("workers.commands.watch:command", "Turn cluster events, and what is due, into work."),
    "doctor": ("workers.commands.doctor:command", "Check rights, store, policy, and who else repairs these nodes."),
    "status": ("app.cli.status:command", "Show what is open, and what waits for a person."),
    "history": ("app.cli.history:command", "Show what one card has been through."),
    "offenders": ("app.cli.offenders:command", "Show the cards that fail too often."),
    "baselines": ("app.cli.baselines:command", "Show what nodes measured when they last passed."),
    "approve": ("app.cli.orders:approve", "Allow the step that an operation asks about."),
    "retry": ("app.cli.orders:retry", "Try an operation's step again."),
    "skip": ("app.cli.orders:skip", "Leave an operation's step out."),
    "cancel": ("app.cli.orders:cancel", "Stop an operation; give its node back as it was."),
    "release": ("app.cli.orders:release", "Give a node back without further validation."),
    "pause": ("app.cli.orders:pause", "Start nothing more that hurts."),
    "resume": ("app.cli.orders:resume", "Go on after a pause or a mass failure."),
    "check-config": ("app.cli.check_config:command", "Read the policy file as web would, and say what is wrong."),
    "explain": ("app.cli.explain:command", "Tell what would be done about an alert or log line, and why."),
    "read-diag": ("app.cli.read_diag:command", "Judge the output of `dcgmi diag -j`."),
    "read-nccl": ("app.cli.read_nccl:command", "Judge the output of an NCCL bandwidth test."),
    "bench": ("simulator.bench:command", "Measure Sickbay on a simulated cluster."),
}
"""Name: where the command is, and what it is for in one line."""

REFUSED: Final = 3
"""The exit code of what Sickbay refuses on purpose."""


class Refusal(click.ClickException):
    """What ends a command on purpose: its sentence on standard error, and exit code 3."""

    exit_code = REFUSED


class LazyGroup(click.Group):
    """A group that knows its commands by name, and imports one when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """The names, in the order of the list."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  click's signature
        """Import the command; none if there is no such name."""
        if cmd_name not in COMMANDS:
            return None
        module_name, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module_name), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{COMMANDS[cmd_name][0]} is not a click command.")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  click's
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read what stands before the command. A wrong option there ends like any other wrong usage."""
        try:
            return super().parse_args(ctx, args)
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            raise Refusal(f"{ctx.get_usage()}\n{error.format_message()}") from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. A refusal ends in its sentence; anything else is a defect and shows its traceback."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            usage = f"{error.ctx.get_usage()}\n" if error.ctx else ""
            raise Refusal(f"{usage}{error.format_message()}") from error
        except SickbayError as error:
            raise Refusal(str(error)) from error


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="sickbay")
def root() -> None:
    """Look after GPU nodes: take a sick one out of service, repair it, prove the repair, and give it back."""


def main() -> None:
    """The `sickbay` script."""
    root(prog_name="sickbay")
