"""`sickbay check-config`: read the policy file as web would, and show what it allows, or all that is wrong in it.

It looks at the file only: whether the cluster has such nodes is not asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from app.domain.policies import Mode, Policy, Pool
from app.domain.xids import XidClass
from app.durations import write_duration
from app.policy_file import policy_or_problems
from app.settings import Settings

NOTED = "only noted"


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
def command(file: Path | None) -> None:
    """Check the policy FILE, by default that of SICKBAY_POLICY, and show what it allows.

    Ends with 0 when the file is good. A bad one ends with 1, each mistake on a line of its own: file, line, place in
    the file, what is wrong, what would be right.
    """
    settings = Settings.from_environment()
    path = file or settings.policy
    policy = policy_or_problems(path)
    if not isinstance(policy, Policy):
        for problem in policy:
            click.echo(str(problem))
        raise SystemExit(1)
    show(policy, Mode(settings.mode) if settings.mode else None, Console(highlight=False))
    click.echo(f"{path} is good.")


def show(policy: Policy, lowered_to: Mode | None, console: Console) -> None:
    """Print the policy. With `lowered_to` (SICKBAY_MODE) each mode shows what is left of it."""
    label = f"by the alert label {policy.cluster.label}" if policy.cluster.label else "taken to be meant by every alert"
    console.print(Text(f"Cluster {policy.cluster.name}, {label}."))
    console.print(Text(f"Alerts: {', '.join(policy.alerts.xid)}. Watchdog: {_listed(policy.alerts.watchdog)}."))
    budgets = policy.budgets
    console.print(Text(f"Out at once: {budgets.cordons} cordoned, {budgets.disruptions} disrupted."))
    lowered = policy.lowered_to(lowered_to)
    for pool, now in zip(policy.pools, lowered.pools, strict=True):
        console.print(_pool(pool, now.mode))
    ladders = Table("Fault", "Answer")
    for fault, answer in _answers(policy):
        ladders.add_row(Text(fault), Text(answer))
    console.print(ladders)


def _pool(pool: Pool, mode: Mode) -> Table:
    rows = {
        "nodes": "\n".join(f"{name}={value}" for name, value in pool.selector.items()),
        "mode": mode.value if mode is pool.mode else f"{mode} (SICKBAY_MODE; the file says {pool.mode})",
        "disrupted at once": "as the cluster" if pool.disruptions is None else str(pool.disruptions),
        "between two disruptions": f"at least {write_duration(pool.cooldown)} for each node",
        "validation": _validation(pool),
        "deadlines": _deadlines(pool),
    }
    table = Table("Pool", Column(Text(pool.name), overflow="fold"))
    for name, value in rows.items():
        table.add_row(name, Text(value))
    return table


def _answers(policy: Policy) -> Iterator[tuple[str, str]]:
    for code, rungs in policy.faults.items():
        yield code, _ladder(rungs)
    for class_ in XidClass:
        yield f"Xids of class {class_}", _ladder(policy.ladders.get(class_))


def _ladder(rungs: tuple[str, ...] | None) -> str:
    if rungs is None:
        return NOTED
    tries = (f"{rung} and validate" for rung in rungs)
    return " → ".join(("cordon, drain", *tries, "else ask a person" if rungs else "ask a person"))


def _validation(pool: Pool) -> str:
    validation = pool.validation
    floor = "" if validation.bandwidth_floor is None else f", at least {validation.bandwidth_floor:g} GB/s"
    return (
        f"DCGM level {validation.diagnose_level}, bandwidth within {validation.bandwidth_tolerance:.0%} of peers{floor}"
    )


def _deadlines(pool: Pool) -> str:
    steps = ("drain", "reboot", "diagnose", "benchmark")
    return ", ".join(f"{step} {write_duration(getattr(pool.deadlines, step))}" for step in steps)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none, so a silent alerting chain goes unnoticed"
