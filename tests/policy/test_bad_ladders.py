"""Mistakes in ladders, in what carries them out, and in what is said by step, code or class."""

from __future__ import annotations

import pytest

from tests.policy.test_bad_files import GOOD, problems_in

# fmt: off
LADDERS = [
    # What is written as a ladder, the place in it, what is wrong, what would be right.
    ("[[reboot]]", "[0]", "This is a list, not a text.", "Write a text"),
    ("[17]", "[0]", "YAML reads 17 as a number", "in quotes"),
    ("[null]", "[0]", "Nothing stands here", "leave the key out"),
    ("[{when: idle}]", "[0]", "`rung` is missing", "Add `rung:`"),
    ("[{rung: rest}]", "[0].rung", "'rest' is no rung.", "`reset`?"),
    ("[{rung: reset, wen: idle}]", "[0].wen", "not known", "`when`?"),
    ("[{rung: reset, when: idl}]", "[0].when", "'idl' is no when", "`idle`"),
    ("[{rung: reset, when: idle, then: wait}]", "[0].then", "'wait' is no then", "Use one of: hold, drain."),
    ("[{rung: reset, when: idle, deadline: 0s}]", "[0].deadline", "0s is out of range", "at least 1s and at most 30d"),
    ("[{rung: reset, deadline: 2h}]", "[0].deadline", "this one is taken at once", "Add `when: idle`"),
    ("[{rung: reset, then: drain}]", "[0].then", "taken at once", "idle"),
    ("[reset, {rung: reboot, when: idle}]", "[1]", "Only the first rung", "give it to `reset`"),
    ("[pray]", "[0]", "'pray' is no rung.", "Known are `restart-plugin`, `reset`, `reboot`, `power-cycle`, `replace`"),
    ("[reset, reset]", "[1]", "'reset' is on this ladder twice", "keep one"),
    ("[reboot, reset]", "[1]", "'reset' is milder than 'reboot'", "before `reboot`"),
    ("[reset, ticket, reboot]", "[2]", "'reboot' is milder than 'ticket'", "before `ticket`"),
]

IN_A_POOL = [
    # What is written in a pool.
    ("ladders: {unknown: [reset]}", "ladders.unknown", "only ever noted", ""),
    ("ladders: {reset: null}", "ladders.reset", "Nothing stands here", "out"),
    ("faults: {79: [reset]}", "faults.79", "is no fault code", "`xid-79`"),
    ("capabilities: [rest]", "capabilities[0]", "'rest' is no rung", "`reset`"),
    ("capabilities: [reset, reset]", "capabilities[1]", "twice", "Keep one"),
    ("capabilities: [reset, power-cycle]", "capabilities[1]",
     "could carry out 'power-cycle'", "Set `power`, or take 'power-cycle' out"),
    ("capabilities: [replace]", "capabilities[0]", "could carry out 'replace'", "Set `provider`"),
]

BESIDE_POOLS = [
    # What is written at the left margin.
    ("power: {url: http://bmc}", "power", "`secret_file` is missing", "Add `secret_file:`"),
    ("power: http://bmc", "power", "a single value, not a mapping", "`key: value`"),
    ('provider: {url: http://p, secret_file: " "}', "provider.secret_file", "no path", "path"),
    ('power: {url: "bmc.example/power", secret_file: s}', "power.url", "is no URL", "Write it like https://"),
    ('power: {url: "ftp://bmc", secret_file: s}', "power.url", "is no URL", "https://"),
    ('power: {url: "http://", secret_file: s}', "power.url", "is no URL", "https://"),
    ('power: {url: "http://[bmc", secret_file: s}', "power.url", "is no URL", "https://"),
    ('power: {url: "http://bmc:99999/", secret_file: s}', "power.url", "is no URL", "https://"),
    ('power: {url: "http://bmc:0/", secret_file: s}', "power.url", "is no URL", "https://"),
    ('power: {url: "http://b mc/", secret_file: s}', "power.url", "is no URL", "https://"),
    ('power: {url: "http://me:secret@bmc/", secret_file: s}', "power.url", "seen by everybody", "`secret_file`"),
    ('power: {url: "http://bmc/?a=b", secret_file: s}', "power.url", "does not end with its path", "Take out"),
    ('power: {url: "http://bmc/#a", secret_file: s}', "power.url", "does not end with its path", "Take out"),
    ("tickets: {system: jira}", "tickets.system", "'jira' is no ticket system", "`webhook`"),
    ("tickets: {system: file}", "tickets.system", "'file' needs `directory`", "Add `directory:`"),
    ("tickets: {system: webhook, url: http://t}", "tickets.system", "needs `secret_file`", "Add"),
    ("tickets: {system: webhook, secret_file: s}", "tickets.system", "needs `url`", "Add"),
    ("tickets: {directory: /t}", "tickets.directory", "Nothing reads `directory`", "`system: file`"),
    ("tickets: {system: file, directory: /t, url: http://t}", "tickets.url",
     "Nothing reads `url`", "Set `system: webhook`"),
    ('tickets: {system: file, directory: " "}', "tickets.directory", "is no path", "path"),
    ('tickets: {system: webhook, url: http://t, secret_file: "\\t"}', "tickets.secret_file",
     "is no path", "as the worker sees it"),
    ("tickets: {system: webhook, url: t, secret_file: s}", "tickets.url", "is no URL", "https"),
    ("tickets: {poll: 2d}", "tickets.poll", "2d is out of range", "at least 1s and at most 1d"),
    ("tickets: {workloads: yes}", "tickets.workloads", "neither true nor false", "true or false"),
    ('tickets: {workloads: "true"}', "tickets.workloads", "neither true nor", "without quotes"),
    ("fault_modes: {94: act}", "fault_modes.94", "'94' is no fault code", "`xid-94`"),
    ("fault_modes: {xid-94: ask}", "fault_modes.xid-94", "'ask' is no mode", "observe, cordon"),
    ("offenders: {weights: {rest: 1}}", "offenders.weights.rest", "neither a class", "`reset`?"),
    ("offenders: {weights: {reset: -1}}", "offenders.weights.reset", "-1 would make up", "0 or"),
    ("offenders: {weights: {reset: x}}", "offenders.weights.reset", "'x' is not a number", ""),
    ("offenders: {weights: {application: 1}}", "offenders.weights.application", "never weighs anything", "Take it out"),
    ("offenders: {limit: 0}", "offenders.limit", "every card an offender", "above 0"),
    ("breaker: {least: 11}", "breaker.least", "11 nodes may always fall ill, and no more than 10 ever", "at least as"),
    ("breaker: {most: 2}", "breaker.most", "3 nodes may always fall ill, and no more than 2 ever", "at least as large"),
    ("breaker: {share: 0}", "breaker.share", "0 is no share of the nodes", "a fraction such as 0.05"),
    ("breaker: {share: 5}", "breaker.share", "5 is no share of the nodes", "at most 1"),
    ("breaker: {most: 0}", "breaker.most", "0 is out of range", "Write at least 1."),
    ("breaker: {least: 0}", "breaker.least", "0 is out of range", "Write at least 1."),
    ("breaker: {window: 1s}", "breaker.window", "1s is out of range", "at least 1m"),
    ("breaker: {dimensions: [zone]}", "breaker.dimensions[0]", "'zone' is no dimension", "rack, driver, code"),
    ("offenders: {window: 800d}", "offenders.window", "800d is out of range", "at most 730d"),
    ("offenders: {window: 59s}", "offenders.window", "59s is out of range", "at least 1m"),
    ("attempts: {per_node: 0}", "attempts.per_node", "0 is out of range", "1 and at most 50"),
    ("attempts: {per_gpu: 51}", "attempts.per_gpu", "51 is out of range", "1 and at most 50"),
    ("attempts: {window: 91d}", "attempts.window", "91d is out of range", "at most 90d"),
    ("attempts: {window: 2h}", "attempts.window", "remembered for 2h", "as long as `probation`"),
    ("probation: 8d", "probation", "remembered for 7d", "Make `attempts.window` at least"),
    ("probation: 91d", "probation", "91d is out of range", "at most 90d"),
]

OWN_ACTS = [
    ("own_acts: {diagnos: [xid-43]}", "own_acts.diagnos", "no step of a plan", "`diagnose`?"),
    ("own_acts: {reset: [43]}", "own_acts.reset[0]", "reads 43 as a number", "quotes"),
    ("own_acts: {reset: [xid43]}", "own_acts.reset[0]", "'xid43' is no fault code", "`xid-43`"),
    ("own_acts: {reset: [xid-43, xid-43]}", "own_acts.reset[1]", "listed twice", "Keep one"),
]
# fmt: on


def refused(instead_of: str, written: str) -> tuple[int | None, str | None, str, str]:
    """Line, place, problem and remedy of the one mistake."""
    assert instead_of in GOOD
    (found,) = problems_in(GOOD.replace(instead_of, written, 1))
    return found.line, found.path, found.problem, found.remedy or ""


@pytest.mark.parametrize(("ladder", "place", "problem", "remedy"), LADDERS)
@pytest.mark.parametrize(
    ("instead_of", "written", "line", "path"),
    [
        ("  reset: [reboot]", "  reset: {}", 15, "ladders.reset"),
        ("  xid-79: [reboot]", "  xid-79: {}", 18, "faults.xid-79"),
        ("    mode: ", "    ladders:\n      reset: {}\n    mode: ", 11, "pools[0].ladders.reset"),
        ("    mode: ", "    faults:\n      xid-79: {}\n    mode: ", 11, "pools[0].faults.xid-79"),
    ],
)
def test_a_ladder_that_cannot_be_meant_is_refused_wherever_it_stands(
    instead_of: str, written: str, line: int, path: str, ladder: str, place: str, problem: str, remedy: str
) -> None:
    found = refused(instead_of, written.replace("{}", ladder))
    assert found[:2] == (line, path + place)
    assert problem in found[2]
    assert remedy in found[3]


@pytest.mark.parametrize(("written", "path", "problem", "remedy"), IN_A_POOL)
def test_what_a_pool_cannot_have_is_refused(written: str, path: str, problem: str, remedy: str) -> None:
    found = refused("    mode: ", f"    {written}\n    mode: ")
    assert found[:2] == (10, f"pools[0].{path}")
    assert problem in found[2]
    assert remedy in found[3]


@pytest.mark.parametrize(("written", "path", "problem", "remedy"), BESIDE_POOLS)
def test_what_could_not_be_carried_out_or_would_be_forgotten_is_refused(
    written: str, path: str, problem: str, remedy: str
) -> None:
    found = refused("budgets:", f"{written}\nbudgets:")
    assert found[:2] == (19, path)
    assert problem in found[2]
    assert remedy in found[3]


@pytest.mark.parametrize(("written", "path", "problem", "remedy"), OWN_ACTS)
def test_an_own_act_that_hides_nothing_or_what_was_not_meant_is_refused(
    written: str, path: str, problem: str, remedy: str
) -> None:
    found = refused("own_acts: {}", written)
    assert found[:2] == (21, path)
    assert problem in found[2]
    assert remedy in found[3]
