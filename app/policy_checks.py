"""What the values of a policy file must keep beyond their types. One dict literal, by record and field.

A check yields what it objects to, with the place below the value; `app.yaml_records` adds file and line. Each refusal
is of something that could only be a mistake: unsafe, without effect, or never to be carried out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

from app import backend_checks, drain_checks, ladder_checks
from app.domain.breaker import Breaker
from app.domain.drain_rules import DrainRule
from app.domain.offenders import Offenders
from app.domain.policies import (
    AlertNames,
    Attempts,
    Budgets,
    ClusterName,
    Deadlines,
    Hook,
    Mode,
    NodeJobs,
    Policy,
    Pool,
    Rate,
    Rung,
    Tickets,
    Validation,
)
from app.domain.remediators import REMEDIATORS
from app.durations import write_duration
from app.yaml_records import Check, Objection, below

_DNS_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_ALERT_LABEL: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_NODE_LABEL_NAME: Final = re.compile(
    r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?", re.ASCII
)
_NODE_LABEL_VALUE: Final = re.compile(r"([A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?)?", re.ASCII)
_SECRET: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_DRIVER_ROOT: Final = re.compile(r"/|(/[A-Za-z0-9_-][A-Za-z0-9._-]*){1,16}", re.ASCII)
_IMAGE: Final = re.compile(r"[\w][\w./:@-]{0,511}", re.ASCII)

SHORTEST_CORDON: Final = timedelta(minutes=1)
"""No repair gives its node back sooner: a pod has to start and end, and what was restarted has to be there again."""


def _matching(pattern: re.Pattern[str], called: str, remedy: str) -> Check:
    def check(text: str) -> Iterator[Objection]:
        if not pattern.fullmatch(text):
            yield Objection("", f"{text[:80]!r} is no {called}.", remedy)

    return check


def _between(least: Any, most: Any = None) -> Check:
    """From `least` to `most`, both allowed; numbers or durations."""

    def check(value: Any) -> Iterator[Objection]:
        if value < least or (most is not None and value > most):
            limits = f"at least {_told(least)}" + ("" if most is None else f" and at most {_told(most)}")
            yield Objection("", f"{_told(value)} is out of range.", f"Write {limits}.")

    return check


def _if_any(check: Check) -> Check:
    """The check for a text that may be empty."""
    return lambda text: check(text) if text else ()


def _told(value: Any) -> str:
    return write_duration(value) if isinstance(value, timedelta) else str(value)


def _name(text: str) -> Iterator[Objection]:
    if not text.strip() or not text.isprintable():
        yield Objection("", "This is no name.", "Write a word or a few on one line.")


def _floor(value: float) -> Iterator[Objection]:
    if value <= 0:
        yield Objection("", f"{value} GB/s is no floor.", "Write a number above 0, or null for none.")


def _limit(value: float) -> Iterator[Objection]:
    if value <= 0:
        yield Objection("", f"{value:g} would make every card an offender.", "Write a number above 0.")


def _beside(names: tuple[str, ...]) -> Iterator[Objection]:
    yield from _texts(names)
    for place, name in enumerate(names):
        if name.strip() and name not in REMEDIATORS:
            yield Objection(f"[{place}]", f"{name[:80]!r} is not known here.", f"Use: {', '.join(REMEDIATORS)}.")


def _secrets(names: tuple[str, ...]) -> Iterator[Objection]:
    yield from _texts(names)
    for place, name in enumerate(names):
        if name.strip() and not _SECRET.fullmatch(name):
            yield Objection(f"[{place}]", f"{name[:80]!r} is no name of a Secret.", "Write it as kubectl shows it.")


def _tolerance(value: float) -> Iterator[Objection]:
    if not 0 < value < 1:
        remedy = "Write a fraction above 0 and below 1: 0.1 lets a node be ten percent below its peers."
        yield Objection("", f"{value} is out of range.", remedy)


def _texts(texts: tuple[str, ...]) -> Iterator[Objection]:
    for place, text in enumerate(texts):
        if not text.strip():
            yield Objection(f"[{place}]", "This is empty.", "Write a name, or take the entry out.")
        elif text in texts[:place]:
            yield Objection(f"[{place}]", f"{text!r} is listed twice.", "Keep one of the two.")


def _xid_names(names: tuple[str, ...]) -> Iterator[Objection]:
    if not names:
        yield Objection("", "No alert name is listed, so every alert would be ignored.", "List at least one.")
    yield from _texts(names)


def _alert_names(alerts: AlertNames) -> Iterator[Objection]:
    for place, name in enumerate(alerts.watchdog):
        if alerts.is_xid(name):
            problem = f"{name!r} matches a name under `xid` too, and an alert can only be one of the two."
            yield Objection(f".watchdog[{place}]", problem, "Make the pattern under `xid` narrower.")


def _selector(selector: Mapping[str, str]) -> Iterator[Objection]:
    if not selector:
        remedy = 'Name a label of its nodes, such as `nvidia.com/gpu.present: "true"`.'
        yield Objection("", "An empty selector would select every node of the cluster.", remedy)
    for name, value in selector.items():
        if not _NODE_LABEL_NAME.fullmatch(name):
            yield Objection(below(name), f"{name[:80]!r} is no label of a node.", "Write it as kubectl shows it.")
        elif not _NODE_LABEL_VALUE.fullmatch(value):
            problem = f"{value[:80]!r} cannot be the value of a label."
            yield Objection(below(name), problem, "Write one exact value; patterns are not known here.")


def _pools(pools: tuple[Pool, ...]) -> Iterator[Objection]:
    if not pools:
        yield Objection("", "No pool is listed, so no node would ever be looked after.", "List at least one.")
    for place, pool in enumerate(pools):
        for before in pools[:place]:
            if pool.name == before.name:
                yield Objection(f"[{place}].name", f"{pool.name!r} is the name of two pools.", "Name one otherwise.")
            elif before.selector.items() <= pool.selector.items():
                problem = f"The pool {before.name!r} before it selects all of its nodes, so it would never count."
                yield Objection(f"[{place}].selector", problem, f"Move it before {before.name!r}, or narrow that one.")


def _policy(policy: Policy) -> Iterator[Objection]:
    yield from _unremembered(policy)
    yield from _within_the_clusters(policy)
    yield from backend_checks.backends(policy)
    for place, pool in enumerate(policy.pools):
        if pool.mode.rank >= Mode.APPROVE.rank and not policy.node_jobs.benchmark_image:
            problem = f"In mode {pool.mode} a repair must be proven, and there is no image for the benchmark."
            yield Objection(f"pools[{place}].mode", problem, "Set `node_jobs.benchmark_image`, or take mode cordon.")


def _breaker(breaker: Breaker) -> Iterator[Objection]:
    if breaker.least > breaker.most:
        problem = f"{breaker.least} nodes may always fall ill, and no more than {breaker.most} ever."
        # The one of the two that must have been written, so that the refusal has a line.
        where = ".least" if breaker.least > Breaker().least else ".most"
        yield Objection(where, problem, "Make `most` at least as large as `least`.")


def _budgets(budgets: Budgets) -> Iterator[Objection]:
    """What is left out is not refused, so that each refusal has a line."""
    for key in ("disruptions_per_rack", "disruptions_per_driver"):
        most = getattr(budgets, key)
        if most is not None and most > budgets.disruptions:
            problem = f"{most} can never be out, since the whole cluster allows {budgets.disruptions}."
            yield Objection(below(key), problem, f"Write at most {budgets.disruptions}, or raise `disruptions`.")
    rate = budgets.cordon_rate
    if rate is None or rate == Budgets().cordon_rate:
        return
    reached = budgets.cordons * (1 + rate.within // SHORTEST_CORDON)
    if rate.nodes > reached:
        within = write_duration(rate.within)
        problem = f"{rate.nodes} within {within} is never reached: {budgets.cordons} at once make at most {reached}."
        yield Objection(".cordon_rate", problem, f"Write at most {reached}, null for no limit, or raise `cordons`.")


def _within_the_clusters(policy: Policy) -> Iterator[Objection]:
    most = policy.budgets.disruptions
    for place, pool in enumerate(policy.pools):
        if pool.disruptions is not None and pool.disruptions > most:
            problem = f"{pool.disruptions} can never be out, since the whole cluster allows {most}."
            remedy = f"Write at most {most}, or raise `budgets.disruptions`."
            yield Objection(f"pools[{place}].disruptions", problem, remedy)


def _share(share: float) -> Iterator[Objection]:
    if not 0 < share <= 1:
        yield Objection("", f"{share:g} is no share of the nodes.", "Write a fraction such as 0.05, at most 1.")


def _unremembered(policy: Policy) -> Iterator[Objection]:
    if policy.probation > policy.attempts.window:
        longest = write_duration(policy.attempts.window)
        problem = f"A rung that was tried is remembered for {longest}, and the probation is longer."
        # The one of the two that must have been written, so that the refusal has a line.
        where = "attempts.window" if policy.attempts.window < Attempts().window else "probation"
        yield Objection(where, problem, "Make `attempts.window` at least as long as `probation`.")


_DNS_NAME: Final = _matching(_DNS_LABEL, "name of this kind", "Use up to 63 of a to z, 0 to 9 and hyphens inside.")
_IMAGE_NAME: Final = _matching(_IMAGE, "image", "Write registry/name:tag or registry/name@sha256:digest.")
_DEADLINE: Final = _between(timedelta(seconds=1), timedelta(days=7))

CHECKS: Final[dict[tuple[type, str], Check]] = {
    (ClusterName, "name"): _name,
    (ClusterName, "label"): _matching(_ALERT_LABEL, "label of an alert", "Use letters, digits and underscores."),
    (AlertNames, "xid"): _xid_names,
    (AlertNames, "watchdog"): _texts,
    (AlertNames, ""): _alert_names,
    (Budgets, "cordons"): _between(1),
    (Budgets, "with_vendor"): _between(1),
    (Budgets, "disruptions"): _between(1),
    (Budgets, "disruptions_per_rack"): _between(1),
    (Budgets, "disruptions_per_driver"): _between(1),
    (Budgets, ""): _budgets,
    (Rate, "nodes"): _between(1, 10_000),
    (Rate, "within"): _between(timedelta(minutes=1), timedelta(days=1)),
    (Breaker, "window"): _between(timedelta(minutes=1), timedelta(hours=12)),
    (Breaker, "share"): _share,
    (Breaker, "most"): _between(1),
    (Breaker, "least"): _between(1),
    (Breaker, ""): _breaker,
    (Pool, "name"): _DNS_NAME,
    (Pool, "selector"): _selector,
    (Pool, "disruptions"): _between(1),
    (Pool, "cooldown"): _between(timedelta(0), timedelta(days=7)),
    (Pool, "beside"): _beside,
    (Pool, "driver_root"): _matching(
        _DRIVER_ROOT,
        "directory on the machine",
        "Write an absolute path such as /run/nvidia/driver, or / for the host.",
    ),
    (Pool, "drain"): drain_checks.rules,
    (Pool, ""): drain_checks.in_time,
    (DrainRule, "namespaces"): drain_checks.namespaces,
    (DrainRule, "labels"): drain_checks.labels,
    (DrainRule, "after"): _DEADLINE,
    (DrainRule, "accepts"): _texts,
    (DrainRule, ""): drain_checks.rule,
    (Pool, "capabilities"): ladder_checks.capabilities,
    (Pool, "ladders"): ladder_checks.ladders,
    (Pool, "faults"): ladder_checks.faults,
    (Rung, "rung"): ladder_checks.rung_name,
    (Rung, "deadline"): _between(timedelta(seconds=1), timedelta(days=30)),
    (Rung, ""): ladder_checks.rung,
    (Validation, "diagnose_level"): _between(1, 4),
    (Validation, "required_tests"): _texts,
    (Validation, "inconclusive_tries"): _between(1, 10),
    (Validation, "bandwidth_floor"): _floor,
    (Validation, "bandwidth_tolerance"): _tolerance,
    (Deadlines, "drain"): _DEADLINE,
    (Deadlines, "completion"): _DEADLINE,
    (Deadlines, "dark"): _DEADLINE,
    (Deadlines, "reset"): _DEADLINE,
    (Deadlines, "reboot"): _DEADLINE,
    (Deadlines, "diagnose"): _DEADLINE,
    (Deadlines, "benchmark"): _DEADLINE,
    (NodeJobs, "namespace"): _DNS_NAME,
    (NodeJobs, "host_image"): _IMAGE_NAME,
    (NodeJobs, "diagnose_image"): _IMAGE_NAME,
    (NodeJobs, "benchmark_image"): _if_any(_IMAGE_NAME),
    (NodeJobs, "pull_secrets"): _secrets,
    (Attempts, "window"): _between(timedelta(minutes=1), timedelta(days=90)),
    (Attempts, "per_node"): _between(1, 50),
    (Attempts, "per_gpu"): _between(1, 50),
    (Offenders, "window"): _between(timedelta(minutes=1), timedelta(days=730)),
    (Offenders, "limit"): _limit,
    (Offenders, "weights"): ladder_checks.weights,
    (Tickets, "system"): backend_checks.ticket_system,
    (Tickets, "directory"): _if_any(backend_checks.path),
    (Tickets, "secret_file"): _if_any(backend_checks.path),
    (Tickets, "url"): _if_any(backend_checks.url),
    (Tickets, "poll"): _between(timedelta(seconds=1), timedelta(days=1)),
    (Tickets, ""): backend_checks.tickets,
    (Hook, "url"): backend_checks.url,
    (Hook, "secret_file"): backend_checks.path,
    (Policy, "pools"): _pools,
    (Policy, "ladders"): ladder_checks.ladders,
    (Policy, "faults"): ladder_checks.faults,
    (Policy, "fault_modes"): ladder_checks.fault_modes,
    (Policy, "own_acts"): ladder_checks.own_acts,
    (Policy, "probation"): _between(timedelta(0), timedelta(days=90)),
    (Policy, "observe_for"): _between(timedelta(seconds=1), timedelta(days=90)),
    (Policy, "inventory_max_age"): _between(timedelta(seconds=1), timedelta(hours=1)),
    (Policy, ""): _policy,
}
