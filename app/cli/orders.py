"""What a person orders: `sickbay approve|retry|skip|cancel|release ID` and `sickbay pause|resume`, over the HTTP API.

Each wants a reason, which stands in the record; a command without `--reason` asks for it. What an order means is
`app.domain.people`'s to say.
"""

from __future__ import annotations

import click

from app.cli.client import Client
from app.settings import Settings

_reason = click.option("--reason", required=True, prompt="Reason", help="Why; it stands in the timeline.")
_id = click.argument("operation", metavar="ID")


@click.command()
@_id
@_reason
def approve(operation: str, reason: str) -> None:
    """Allow the step that an operation asks about."""
    _order(operation, "approve", reason)


@click.command()
@_id
@_reason
def retry(operation: str, reason: str) -> None:
    """Try the step again at which an operation is, or that failed last."""
    _order(operation, "retry", reason)


@click.command()
@_id
@_reason
def skip(operation: str, reason: str) -> None:
    """Leave out the step at which an operation is, and go on with the next."""
    _order(operation, "skip", reason)


@click.command()
@_id
@_reason
def cancel(operation: str, reason: str) -> None:
    """Stop an operation, and give its node back as it was."""
    _order(operation, "cancel", reason)


@click.command()
@_id
@_reason
def release(operation: str, reason: str) -> None:
    """Give a node back without further validation."""
    _order(operation, "release", reason)


@click.command()
@_reason
def pause(reason: str) -> None:
    """Start nothing more that hurts; what has begun is proven and given back."""
    click.echo(_client().post("/api/v1/pause", {"reason": reason})["sentence"])


@click.command()
@_reason
def resume(reason: str) -> None:
    """Go on after a pause."""
    _client().post("/api/v1/resume", {"reason": reason})
    click.echo("Sickbay goes on.")


def _order(operation: str, order: str, reason: str) -> None:
    answer = _client().post(f"/api/v1/operations/{operation}/{order}", {"reason": reason})
    click.echo(f"{answer['id']} on {answer['node']['name']} is {answer['state']}: {answer['reason']}")


def _client() -> Client:
    return Client(Settings.from_environment())
