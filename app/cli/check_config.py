"""`sickbay check-config`: read the policy file as web would, and show what it allows, or all that is wrong in it.

It looks at the file only: whether the cluster has such nodes is not asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import click
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from app.domain.breaker import Breaker
from app.domain.drain_rules import Do, DrainRule
from app.domain.plans.repair import UNDRAINED
from app.domain.policies import Ladder, Mode, Policy, Pool, Rung, Then, Tickets, When
from app.domain.xids import XidClass
from app.durations import write_duration
from app.policy_file import policy_and_warnings
from app.settings import Settings

NOTED = "only noted"
_NO_TICKET = "ask a person, since no ticket can be opened"
_THEN = {Then.HOLD: "ask a person", Then.DRAIN: "go on all the same"}


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
def command(file: Path | None) -> None:
    """Check the policy FILE, by default that of SICKBAY_POLICY, and show what it allows.

    Ends with 0 when the file is good, also when it warns of something that may not be meant. A bad one ends with 1,
    each mistake on a line of its own: file, line, place in the file, what is wrong, what would be right.
    """
    settings = Settings.from_environment()
    path = file or settings.policy
    policy, warnings = policy_and_warnings(path)
    if not isinstance(policy, Policy):
        for problem in policy:
            click.echo(str(problem))
        raise SystemExit(1)
    show(policy, Mode(settings.mode) if settings.mode else None, Console(highlight=False))
    for warning in warnings:
        click.echo(f"warning: {warning}")
    click.echo(f"{path} is good.")


def show(policy: Policy, lowered_to: Mode | None, console: Console) -> None:
    """Print the policy. With `lowered_to` (SICKBAY_MODE) each mode shows what is left of it."""
    label = f"by the alert label {policy.cluster.label}" if policy.cluster.label else "taken to be meant by every alert"
    console.print(Text(f"Cluster {policy.cluster.name}, {label}."))
    console.print(Text(f"Alerts: {', '.join(policy.alerts.xid)}. Watchdog: {_listed(policy.alerts.watchdog)}."))
    budgets = policy.budgets
    out = f"{budgets.cordons} cordoned, {budgets.disruptions} disrupted, {budgets.with_vendor} with a vendor"
    shared = {"rack": budgets.disruptions_per_rack, "driver version": budgets.disruptions_per_driver}
    out += "".join(f", {most} disrupted in one {name}" for name, most in shared.items() if most is not None)
    console.print(Text(f"Out at once: {out}."))
    rate = budgets.cordon_rate
    fast = f"{rate.nodes} cordoned within {write_duration(rate.within)}" if rate else "cordons as faults come"
    console.print(Text(f"How fast: {fast}."))
    lowered = policy.lowered_to(lowered_to)
    for pool, now in zip(policy.pools, lowered.pools, strict=True):
        console.print(_pool(pool, now.mode, policy))
    console.print(_table("Fault", "Answer", _answers(policy)))
    console.print(_table("Limits", "", _limits(policy)))


def _pool(pool: Pool, mode: Mode, policy: Policy) -> Table:
    rows = {
        "nodes": "\n".join(f"{name}={value}" for name, value in pool.selector.items()),
        "mode": mode.value if mode is pool.mode else f"{mode} (SICKBAY_MODE; the file says {pool.mode})",
        "disrupted at once": "as the cluster" if pool.disruptions is None else str(pool.disruptions),
        "between two disruptions": f"at least {write_duration(pool.cooldown)} for each node",
        "rungs": ", ".join(pool.capabilities) or "none, so a person is asked",
        "drain": _drain(pool),
        "validation": _validation(pool),
        "deadlines": _deadlines(pool),
    }
    return _table("Pool", pool.name, (*rows.items(), *_answers_in(pool, policy)))


def _table(first: str, second: str, rows: Iterable[tuple[str, str]]) -> Table:
    table = Table(first, Column(Text(second), overflow="fold"))
    for name, value in rows:
        table.add_row(Text(name), Text(value))
    return table


def _answers(policy: Policy) -> Iterator[tuple[str, str]]:
    for code, ladder in policy.faults.items():
        yield code, _ladder(ladder, policy, policy.pools)
    for class_ in XidClass:
        yield f"Xids of class {class_}", _ladder(policy.ladders.get(class_), policy, policy.pools)


def _answers_in(pool: Pool, policy: Policy) -> Iterator[tuple[str, str]]:
    """The pool's own, which come before those of the whole policy."""
    for code, ladder in pool.faults.items():
        yield code, _ladder(ladder, policy, (pool,))
    for class_, ladder in pool.ladders.items():
        yield f"class {class_}", _ladder(ladder, policy, (pool,))


def _ladder(ladder: Ladder | None, policy: Policy, pools: tuple[Pool, ...]) -> str:
    if ladder is None:
        return NOTED
    drained = not ladder or ladder[0].rung not in UNDRAINED
    told = ["cordon, drain" if drained else "cordon"]
    if ladder and ladder[0].when is When.IDLE:
        told = [f"wait until idle ({write_duration(ladder[0].deadline)}, then {_THEN[ladder[0].then]})", *told]
    for rung in ladder:
        first = "" if drained or rung.rung in UNDRAINED else "drain, "
        drained = drained or bool(first)
        told.append(f"{first}{_rung(rung, policy, pools)}")
    if told[-1] != _NO_TICKET:
        told.append("else ask a person" if ladder else "ask a person")
    return " → ".join(told)


def _rung(rung: Rung, policy: Policy, pools: tuple[Pool, ...]) -> str:
    if not any(rung.rung in pool.capabilities for pool in pools):
        return f"{rung.rung} (passed over: no pool has it)"
    if rung.rung == "ticket" and policy.tickets.system is None:
        return _NO_TICKET
    return f"{rung.rung} and validate"


def _limits(policy: Policy) -> Iterator[tuple[str, str]]:
    attempts, offenders = policy.attempts, policy.offenders
    yield (
        "repairs",
        f"{attempts.per_node} of a node and {attempts.per_gpu} of a card within {write_duration(attempts.window)}",
    )
    probation = f"for {write_duration(policy.probation)} no rung again for a card, nor a milder one"
    yield "probation", probation if policy.probation else "none"
    weights = ", ".join(f"{name} {weight:g}" for name, weight in offenders.weights.items())
    limit = f"from {offenders.limit:g} within {write_duration(offenders.window)}"
    yield "breaker", _breaker(policy.breaker)
    yield "offenders", f"{limit}, weighing {weights}" if weights else "none, since nothing weighs"
    yield "tickets", _tickets(policy.tickets)
    yield "power", policy.power.url if policy.power else "none"
    yield "provider", policy.provider.url if policy.provider else "none"
    yield "lower modes", _lines(f"{code}: at most {mode}" for code, mode in policy.fault_modes.items())
    yield "own acts", _lines(f"{step}: {', '.join(codes)}" for step, codes in policy.own_acts.items())


def _breaker(breaker: Breaker) -> str:
    limit = f"{breaker.share:.0%} of the nodes (at least {breaker.least}, at most {breaker.most})"
    return f"trips when more than {limit} fall ill within {write_duration(breaker.window)}"


def _tickets(tickets: Tickets) -> str:
    if tickets.system is None:
        return "none are opened: at the rung ticket a person is asked"
    where = f"{tickets.system}, {tickets.directory or tickets.url}"
    pods = "with" if tickets.workloads else "without"
    return f"{where}; looked at every {write_duration(tickets.poll)}, {pods} the names of pods"


def _lines(told: Iterable[str]) -> str:
    return "\n".join(told) or "none"


def _validation(pool: Pool) -> str:
    validation = pool.validation
    floor = "" if validation.bandwidth_floor is None else f", at least {validation.bandwidth_floor:g} GB/s"
    return (
        f"DCGM level {validation.diagnose_level}, bandwidth within {validation.bandwidth_tolerance:.0%} of peers{floor}"
    )


def _drain(pool: Pool) -> str:
    rows = [f"{name}: {_rule(rule)}" for name, rule in pool.drain.items()]
    asks = "waits for marked pods, evicts others, asks before anything is lost"
    return "\n".join([*rows, f"all others: {asks}" if rows else asks])


def _rule(rule: DrainRule) -> str:
    pods = [f"namespaces {', '.join(rule.namespaces)}"] if rule.namespaces else []
    pods += [f"{name}={value}" for name, value in rule.labels.items()]
    what = f"delete after {write_duration(rule.after)}" if rule.do is Do.DELETE else rule.do.value
    loses = f", losing {' and '.join(rule.accepts)}" if rule.accepts else ""
    return f"{' and '.join(pods) or 'every pod'}: {what}{loses}"


def _deadlines(pool: Pool) -> str:
    steps = ("drain", "completion", "dark", "reset", "reboot", "diagnose", "benchmark")
    return ", ".join(f"{step} {write_duration(getattr(pool.deadlines, step))}" for step in steps)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none, so a silent alerting chain goes unnoticed"
