"""`sickbay doctor`: whether worker or watch could work here with what they were given, and whether they should."""

from __future__ import annotations

from collections.abc import Iterator

import click

from app.domain.checkup import Finding, Grade, freest
from app.domain.policies import Mode, Policy
from app.domain.rights import Component
from app.errors import ConfigurationError
from app.policy_file import load_policy
from app.settings import Settings
from app.store import connect as connect_store
from workers.checkup import of_cluster, of_store
from workers.wiring import access_of

MARKS = {Grade.GOOD: "ok     ", Grade.REMARK: "remark ", Grade.UNKNOWN: "unknown", Grade.BAD: "BAD    "}


@click.command()
@click.option(
    "--as",
    "component",
    type=click.Choice([one.value for one in Component]),
    default=Component.WORKER.value,
    show_default=True,
    help="Whose rights this process should have.",
)
def command(component: str) -> None:
    """Check policy, store, rights, dependencies, and who else repairs these nodes. Changes nothing.

    Run it where the worker runs, with its settings and its account:

        kubectl -n sickbay exec deployment/sickbay-worker -- sickbay doctor

    Ends with 0 when Sickbay may work here, with 1 when something is bad, so also in mode approve or act beside another
    remediator, and with 2 when something could not be asked.
    """
    grades = set()
    for finding in findings(Settings.from_environment(), Component(component)):
        click.echo(f"{MARKS[finding.grade]}  {finding.about}: {finding.told}")
        grades.add(finding.grade)
    raise SystemExit(1 if Grade.BAD in grades else 2 if Grade.UNKNOWN in grades else 0)


def findings(settings: Settings, component: Component) -> Iterator[Finding]:
    """All of them, as they are found."""
    try:
        policy = load_policy(settings.policy).lowered_to(Mode(settings.mode) if settings.mode else None)
    except ConfigurationError as wrong:
        yield Finding(Grade.BAD, "policy", str(wrong))
        return
    yield Finding(Grade.GOOD, "policy", f"{settings.policy} is good; the freest pool has mode {freest(policy)}.")
    yield from _store(settings)
    yield from _cluster(settings, policy, component)


def _store(settings: Settings) -> Iterator[Finding]:
    try:
        redis = connect_store(settings.require_redis_url())
    except ConfigurationError as wrong:
        yield Finding(Grade.BAD, "store", str(wrong))
        return
    yield from of_store(redis)
    redis.close()


def _cluster(settings: Settings, policy: Policy, component: Component) -> Iterator[Finding]:
    try:
        nodes, access = access_of(policy)
    except ConfigurationError as wrong:
        yield Finding(Grade.BAD, "cluster", str(wrong))
        return
    yield from of_cluster(policy, component, nodes, access, node_jobs=settings.node_jobs)
