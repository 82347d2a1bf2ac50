"""What a person orders: `sickbay approve|retry|skip|cancel|release ID` and `sickbay pause|resume`, over the HTTP API.

Each says first, on standard error, what it is about to do, and holds Sickbay to that: what has moved on meanwhile is
refused. Each wants a reason, which stands in the record; at a terminal a command without `--reason` asks for it.
What an order means is `app.domain.people`'s to say.
"""

from __future__ import annotations

import sys
from typing import Any, Final
from urllib.parse import quote

import click

from app.cli.client import Client
from app.domain.timeline import counted
from app.settings import Settings


def _given(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """The reason as far as it need not be asked for: a script may hand it in as a line, or is told what is missing."""
    if value is None and sys.stdin.isatty():
        return None
    reason = sys.stdin.readline().strip() if value is None else value
    if not reason:
        raise click.MissingParameter("Say why; it stands in the record.", ctx, param)
    return reason


_reason = click.option("--reason", metavar="TEXT", callback=_given, help="Why; it stands in the record.")
_id = click.argument("operation", metavar="ID")


@click.command()
@_id
@click.argument("what", required=False)
@_reason
def approve(operation: str, what: str | None, reason: str | None) -> None:
    """Allow the step that an operation asks about.

    In a pool of mode `approve` it asks before each act that ends running work, and everywhere before it evicts anything
    from a node that a person had cordoned. One approval allows one step. With WHAT, as pages write it (`reboot`),
    nothing else is approved; without it, what is asked at this moment, which is shown first.

        sickbay approve op-4k7q2m9x reboot --reason "its checkpoint is written"
    """
    _order(operation, "approve", reason, what)


@click.command()
@_id
@_reason
def retry(operation: str, reason: str | None) -> None:
    """Try the step again at which an operation is, or that failed last.

    For what has been mended meanwhile: an image that could not be pulled, a right that was missing, a budget that let
    no pod go. The step begins anew; what follows it stays to be done.

        sickbay retry op-4k7q2m9x --reason "the registry is back"
    """
    _order(operation, "retry", reason)


@click.command()
@_id
@_reason
def skip(operation: str, reason: str | None) -> None:
    """Leave out the step at which an operation is, and go on with the next.

    A skipped diagnosis proves nothing: you vouch for it, by name, in the record. The cordon and the release cannot be
    skipped; see `cancel` and `release`.

        sickbay skip op-4k7q2m9x --reason "one GPU has no peers"
    """
    _order(operation, "skip", reason)


@click.command()
@_id
@_reason
def cancel(operation: str, reason: str | None) -> None:
    """Stop an operation, and give its node back as it was before.

    What Sickbay set on the node is taken away, what was there before stays, a cordon of yours too. The fault itself is
    not repaired; when its alert fires anew, a new operation opens.

        sickbay cancel op-4k7q2m9x --reason "the exporter was updated"
    """
    _order(operation, "cancel", reason)


@click.command()
@_id
@_reason
def release(operation: str, reason: str | None) -> None:
    """Give a node back to work without further validation.

    The node takes pods again although nothing has proven it well: you vouch for it, by name, in the record.

        sickbay release op-4k7q2m9x --reason "validated by hand"
    """
    _order(operation, "release", reason)


@click.command()
@_reason
def pause(reason: str | None) -> None:
    """Start nothing more that hurts, on the whole cluster, until `sickbay resume`.

    No node is cordoned, drained, reset or rebooted. Alerts are still taken in and decided, proofs go on, and nodes that
    have passed are given back.

        sickbay pause --reason "work on the network until noon"
    """
    click.echo(_client().post("/api/v1/pause", {"reason": _asked(reason)})["sentence"])


@click.command()
@_reason
def resume(reason: str | None) -> None:
    """Go on after a pause, or after the breaker of a mass failure has tripped.

    Look for the common cause first: `sickbay status` names what the nodes have in common. What fell ill before no
    longer counts for the breaker. Operations that did nothing yet and whose alerts have all ended are dropped; the
    others are looked at now, within the budgets.

        sickbay resume --reason "rack r7 has power again"
    """
    client = _client()
    standing = client.get("/api/v1/pause")
    for held in (standing["sentence"], standing["breaker"]):
        if held:
            click.echo(f"Lifts: {held}", err=True)
    click.echo(_resumed(client.post("/api/v1/resume", {"reason": _asked(reason), "about": standing["about"]})))


_LIFTED: Final = {
    (True, False): "Sickbay goes on: the pause is lifted.",
    (False, True): "Sickbay goes on: the breaker is closed again.",
    (True, True): "Sickbay goes on: the pause is lifted, and the breaker is closed again.",
    (False, False): "Sickbay was not paused, and its breaker had not tripped.",
}
"""What a resume did, by whether Sickbay was paused and whether the breaker had tripped."""


def _resumed(answer: dict[str, Any]) -> str:
    told = _LIFTED[answer["was_paused"], answer["had_tripped"]]
    dropped = answer["dropped"]
    if dropped:
        told += f" Dropped, since their alerts have ended: {counted(len(dropped), 'operation')} ({', '.join(dropped)})."
    return told


_BEGINNINGS: Final = {
    "approve": "Approves {about} on {node}.",
    "retry": "Tries {about} on {node} again.",
    "skip": "Leaves out {about} on {node}.",
    "cancel": "Cancels the operation for {about} on {node}, and gives the node back as it was.",
    "release": "Releases {node} without further validation ({about}).",
}


def _order(operation: str, order: str, reason: str | None, what: str | None = None) -> None:
    client, path = _client(), f"/api/v1/operations/{quote(operation, safe='')}"
    found = client.get(path)
    possible = found["orders"].get(order)
    if possible is not None:
        told = _BEGINNINGS[order].format(about=what or possible, node=found["node"]["name"])
        click.echo(f"{told} It is {found['state']}: {found['reason']}", err=True)
    # One that is not possible is ordered all the same: Sickbay says why not, or it has become possible by then.
    seen = {"about": what or possible or "", "version": found["version"]}
    answer = client.post(f"{path}/{order}", {"reason": _asked(reason), **seen})
    click.echo(f"{answer['id']} on {answer['node']['name']} is {answer['state']}: {answer['reason']}")


def _asked(reason: str | None) -> str:
    """The reason; at a terminal asked for only now, when it is shown what it is for."""
    return str(click.prompt("Reason, for the record", err=True)) if reason is None else reason


def _client() -> Client:
    return Client(Settings.from_environment())
