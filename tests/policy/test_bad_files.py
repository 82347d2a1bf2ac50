"""Every kind of mistake in a policy file: the line, the place, what is wrong and what would be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.policies import Policy
from app.errors import ConfigurationError
from app.policy_file import LARGEST, load_policy, policy_or_problems, read_policy

GOOD = """\
cluster:
  name: main
  label: null
alerts:
  xid: [GpuXid*]
pools:
  - name: gpu
    selector:
      gpu: "true"
    mode: observe
    validation: {diagnose_level: 3}
    deadlines:
      drain: 2h
ladders:
  reset: [reboot]
  isolate: []
faults:
  xid-79: [reboot]
budgets:
  cordons: 20
own_acts: {}
"""

POOLS = GOOD[GOOD.index("pools:") : GOOD.index("ladders:")]
SECOND_POOL = """\
      gpu: "true"
  - name: {name}
    selector:
      {selector}
"""

# What is written instead of what: the line it is refused for, the place, what is wrong, what would be right.
BAD = [
    # Keys.
    ("    mode: ", "    mod: ", 10, "pools[0].mod", "`mod` is not known here", "Did you mean `mode`?"),
    ("budgets:\n", "budget:\n", 19, "budget", "`budget` is not known", "Did you mean `budgets`?"),
    ("  cordons: 20", "  zebra: 20", 20, "budgets.zebra", "not known here", "`with_vendor`, `disruptions`, "),
    ("  cordons: 20", "  cordons: 20\n  cordons: 9", 21, "budgets.cordons", "given twice, first in line 20", "Keep"),
    ("  isolate: []", "  isolate: []\n  reset: []", 17, "ladders.reset", "given twice, first in line 15", "Keep one"),
    ("  name: main\n", "", 2, "cluster", "`name` is missing", "Add `name:` with a text."),
    ("ladders:\n  reset: [reboot]\n  isolate: []\n", "", 1, None, "`ladders` is missing", "Add `ladders:` with a map"),
    ("own_acts: {}\n", "", 1, None, "`own_acts` is missing", "Add `own_acts:` with a mapping"),
    ("  - name: gpu\n    sel", "  - sel", 7, "pools[0]", "`name` is missing", "Add `name:`"),
    ("  cordons: 20", "  ? [a]\n  : 20", 20, "budgets", "A key is a list.", "Write a word before the colon."),
    ("  cordons: 20", "  <<: {cordons: 2}", 20, 'budgets["<<"]', "`<<` is not known here", "Known are"),
    # Rules of a drain.
    ("    mode:", "    drain: {a: {do: kill}}\n    mode:", 10, "pools[0].drain.a.do", "'kill' is", "as-marked, evict"),
    ("    mode:", "    drain: {a: {at: 1h}}\n    mode:", 10, "pools[0].drain.a.at", "not known here", "`namespaces`"),
    ("    mode: ", "    drain: {a: {after: 2}}\n    mode: ", 10, "pools[0].drain.a.after", "no unit", "2s"),
    ("    mode:", "    drain: {a: {after: 2h}}\n    mode:", 10, "pools[0].drain.a.after", "says as-marked", "Take it"),
    (
        "    mode: ",
        "    drain: {a: {do: delete, after: 2h}}\n    mode: ",
        10,
        "pools[0].drain.a",
        "It would never delete: the drain ends after 2h",
        "Write an `after` below 2h",
    ),
    (
        "    mode: ",
        "    drain: {a: {do: leave, accepts: [local-data]}}\n    mode: ",
        10,
        "pools[0].drain.a.accepts",
        "is not evicted",
        "another `do`",
    ),
    (
        "    mode: ",
        "    drain: {a: {accepts: [money]}}\n    mode: ",
        10,
        "pools[0].drain.a.accepts[0]",
        "'money' is no",
        "bare-pods, local-data",
    ),
    (
        "    mode: ",
        "    drain: {a: {accepts: [bare-pods, bare-pods]}}\n    mode: ",
        10,
        "pools[0].drain.a.accepts[1]",
        "listed twice",
        "Keep one",
    ),
    (
        "    mode: ",
        "    drain: {a: {namespaces: [Team_A]}}\n    mode: ",
        10,
        "pools[0].drain.a.namespaces[0]",
        "can match no namespace",
        "team-*",
    ),
    (
        "    mode: ",
        "    drain: {a: {namespaces: [a, a]}}\n    mode: ",
        10,
        "pools[0].drain.a.namespaces[1]",
        "listed twice",
        "Keep one",
    ),
    (
        "    mode: ",
        "    drain: {a: {labels: {-x: y}}}\n    mode: ",
        10,
        "pools[0].drain.a.labels.-x",
        "no label of a pod",
        "kubectl",
    ),
    (
        "    mode: ",
        "    drain: {a: {labels: {x: y*}}}\n    mode: ",
        10,
        "pools[0].drain.a.labels.x",
        "cannot be the value",
        "one exact value",
    ),
    (
        "    mode: ",
        "    drain:\n      all: {do: wait}\n      a: {namespaces: [a]}\n    mode: ",
        12,
        "pools[0].drain.a",
        "The rule 'all' before it matches all of its pods",
        "Move it before 'all'",
    ),
    (
        "    mode: ",
        "    drain:\n      ab: {namespaces: [a, b]}\n      a: {namespaces: [a], labels: {x: y}}\n    mode: ",
        12,
        "pools[0].drain.a",
        "The rule 'ab' before it",
        "narrow that one",
    ),
    # Types.
    ("budgets:\n  cordons: 20", "budgets: 20", 19, "budgets", "a single value, not a mapping", "Write `key: value`"),
    ("budgets:\n  cordons: 20", "budgets:", 19, "budgets", "Nothing stands here.", "Write a mapping, or leave the key"),
    ("  xid: [GpuXid*]", "  xid: GpuXid*", 5, "alerts.xid", "a single value, not a list", "as a list: [a, b]"),
    ("  xid: [GpuXid*]", "  xid: {a: b}", 5, "alerts.xid", "a mapping, not a list", "as a list"),
    ("  name: main", "  name: [main]", 2, "cluster.name", "This is a list, not a text.", "Write a text."),
    ("  name: main", "  name: 17", 2, "cluster.name", "YAML reads 17 as a number", 'Put it in quotes: "17".'),
    ("  name: main", "  name: 2026-01-02", 2, "cluster.name", "as a date, not as a text", "quotes"),
    ("  name: main", "  name: !mine x", 2, "cluster.name", "as something else, not as a text", "quotes"),
    ('gpu: "true"', "gpu: yes", 9, "pools[0].selector.gpu", "YAML reads yes as true or false", 'quotes: "yes"'),
    ('gpu: "true"', "gpu: null", 9, "pools[0].selector.gpu", "Nothing stands here", "Write a text"),
    ("cordons: 20", "cordons: many", 20, "budgets.cordons", "'many' is not a whole number", "plain digits"),
    ("cordons: 20", 'cordons: "20"', 20, "budgets.cordons", "'20' is not a whole number", "without quotes"),
    ("cordons: 20", "cordons: 020", 20, "budgets.cordons", "'020' is not a whole number", "plain digits"),
    ("cordons: 20", "cordons: 1.5", 20, "budgets.cordons", "'1.5' is not a whole number", "plain digits"),
    ("cordons: 20", "cordons: true", 20, "budgets.cordons", "'true' is not a whole number", "plain digits"),
    ("{diagnose_level: 3}", "{bandwidth_floor: 350GB/s}", 11, "pools[0].validation.bandwidth_floor",
     "'350GB/s' is not a number", "without a unit"),
    ("{diagnose_level: 3}", "{bandwidth_tolerance: .nan}", 11, "pools[0].validation.bandwidth_tolerance",
     "'.nan' is not a number", "Write it like 0.1"),
    # Durations.
    ("drain: 2h", "drain: 30", 13, "pools[0].deadlines.drain", "30 has no unit.", "Write for example 30s"),
    ("drain: 2h", "drain: 2 hours", 13, "pools[0].deadlines.drain", "'2 hours' is not a duration", "like 90s, 30m"),
    ("drain: 2h", "drain: 30m2h", 13, "pools[0].deadlines.drain", "'30m2h' is not a duration", "1h30m"),
    ("drain: 2h", "drain: 1:30", 13, "pools[0].deadlines.drain", "'1:30' is not a duration", "like 90s"),
    ("drain: 2h", "drain: -5m", 13, "pools[0].deadlines.drain", "'-5m' is not a duration", "like 90s"),
    ("drain: 2h", "drain: 0s", 13, "pools[0].deadlines.drain", "0s is out of range.", "at least 1s and at most 7d"),
    ("drain: 2h", "drain: 8d", 13, "pools[0].deadlines.drain", "8d is out of range.", "at least 1s and at most 7d"),
    *(
        ("drain: 2h", f"{step}: 0s", 13, f"pools[0].deadlines.{step}", "0s is out of range.", "at least 1s")
        for step in ("reset", "reboot", "diagnose", "benchmark")
    ),
    ("budgets:", "inventory_max_age: 2h\nbudgets:", 19, "inventory_max_age", "2h is out of range", "at most 1h"),
    ("budgets:", "observe_for: 91d\nbudgets:", 19, "observe_for", "91d is out of range", "at most 90d"),
    # Closed sets of words.
    ("mode: observe", "mode: actt", 10, "pools[0].mode", "'actt' is no mode.", "Did you mean `act`? Use one of: obs"),
    ("mode: observe", "mode: off", 10, "pools[0].mode", "'off' is no mode.", "observe, cordon, approve, act."),
    ("  isolate: []", "  isolated: []", 16, "ladders.isolated", "'isolated' is no xid class", "mean `isolate`?"),
    ("  reset: [reboot]", "  reset: [rebot]", 15, "ladders.reset[0]", "'rebot' is no rung.", "Did you mean `reboot`?"),
    ("  reset: [reboot]", "  reset: [x]", 15, "ladders.reset[0]", "'x' is no rung.", "Known are `restart-plugin`"),
    ("  reset: [reboot]", "  reset: [reboot, reboot]", 15, "ladders.reset[1]", "on this ladder twice", "keep one"),
    ("  xid-79: [reboot]", "  xid-79: [reboot, reboot]", 18, "faults.xid-79[1]", "on this ladder twice", "keep one"),
    ("  isolate: []", "  unknown: [reboot]", 16, "ladders.unknown", "only ever noted", "under `faults`"),
    ("  xid-79: ", "  xid79: ", 18, "faults.xid79", "'xid79' is no fault code", "`xid-79`"),
    ("  xid-79: ", "  79: ", 18, "faults.79", "'79' is no fault code", "`xid-79`"),
    ("  xid-79: ", "  xid-079: ", 18, "faults.xid-079", "'xid-079' is no fault code", "`xid-79`"),
    ("  xid-79: [reboot]", "  xid-79: [pray]", 18, "faults.xid-79[0]", "'pray' is no rung", "Known are"),
    # Limits.
    ("cordons: 20", "cordons: 0", 20, "budgets.cordons", "0 is out of range.", "Write at least 1."),
    ("cordons: 20", "with_vendor: 0", 20, "budgets.with_vendor", "0 is out of range.", "Write at least 1."),
    ("cordons: 20", "disruptions: -1", 20, "budgets.disruptions", "-1 is out of range.", "Write at least 1."),
    *(
        ("cordons: 20", f"{key}: 0", 20, f"budgets.{key}", "0 is out of range.", "Write at least 1")
        for key in ("disruptions_per_rack", "disruptions_per_driver")
    ),
    *(
        ("cordons: 20", f"{key}: 4", 20, f"budgets.{key}", "4 can never be out, since the whole cluster allows 3.",
         "Write at most 3, or raise `disruptions`.")
        for key in ("disruptions_per_rack", "disruptions_per_driver")
    ),
    ("    mode: ", "    disruptions: 4\n    mode: ", 10, "pools[0].disruptions",
     "4 can never be out, since the whole cluster allows 3.", "Write at most 3, or raise `budgets.disruptions`."),
    ("cordons: 20", "cordon_rate: 0", 20, "budgets.cordon_rate", "0 is out of range.", "at least 1 and at most 10000"),
    ("cordons: 20", "cordon_rate: {nodes: 9, within: 59s}", 20, "budgets.cordon_rate.within", "59s is out of range.",
     "at least 1m and at most 1d"),
    ("cordons: 20", "cordon_rate: {within: 1h}", 20, "budgets.cordon_rate", "`nodes` is missing", "Add `nodes:`"),
    ("cordons: 20", "cordons: 2\n  cordon_rate: {nodes: 23, within: 10m}", 21, "budgets.cordon_rate",
     "23 within 10m is never reached: 2 at once make at most 22.", "Write at most 22, null for no limit, or raise"),
    ("    mode: ", "    disruptions: 0\n    mode: ", 10, "pools[0].disruptions", "0 is out of range", "at least 1"),
    ("    mode: ", "    cooldown: 8d\n    mode: ", 10, "pools[0].cooldown", "8d is out of range", "at most 7d"),
    ("{diagnose_level: 3}", "{diagnose_level: 5}", 11, "pools[0].validation.diagnose_level", "5 is out", "at most 4"),
    ("{diagnose_level: 3}", "{inconclusive_tries: 0}", 11, "pools[0].validation.inconclusive_tries", "0 is out",
     "at least 1 and at most 10"),
    ("{diagnose_level: 3}", "{bandwidth_floor: 0}", 11, "pools[0].validation.bandwidth_floor", "0.0 GB/s is no floor",
     "null for none"),
    *(
        ("{diagnose_level: 3}", f"{{bandwidth_tolerance: {share}}}", 11, "pools[0].validation.bandwidth_tolerance",
         "is out of range", "a fraction above 0 and below 1")
        for share in ("10", "1", "0", "-0.1")
    ),
    ("{diagnose_level: 3}", "{required_tests: [memory, memory]}", 11, "pools[0].validation.required_tests[1]",
     "'memory' is listed twice", "Keep one"),
    # Names.
    ("  name: main", '  name: ""', 2, "cluster.name", "This is no name.", "a word or a few"),
    ("  label: null", "  label: my-cluster", 3, "cluster.label", "no label of an alert", "underscores"),
    ("  xid: [GpuXid*]", "  xid: []", 5, "alerts.xid", "every alert would be ignored", "List at least one."),
    ("  xid: [GpuXid*]", '  xid: [GpuXid*, ""]', 5, "alerts.xid[1]", "This is empty.", "take the entry out"),
    ("  xid: [GpuXid*]", '  xid: ["*"]\n  watchdog: [Watchdog]', 6, "alerts.watchdog[0]", "matches a name under `xid`",
     "narrower"),
    ("  xid: [GpuXid*]", "  xid: [x]\n  watchdog: [W, W]", 6, "alerts.watchdog[1]", "'W' is listed twice", "Keep one"),
    ("  - name: gpu", "  - name: GPU nodes", 7, "pools[0].name", "'GPU nodes' is no name of this kind", "hyphens"),
    ("budgets:", "node_jobs: {namespace: kube system}\nbudgets:", 19, "node_jobs.namespace", "no name of", "a to z"),
    ("budgets:", 'node_jobs: {host_image: ""}\nbudgets:', 19, "node_jobs.host_image", "'' is no image", "name:tag"),
    ("budgets:", "node_jobs: {diagnose_image: a b}\nbudgets:", 19, "node_jobs.diagnose_image", "no image", "digest"),
    ("budgets:", "node_jobs: {benchmark_image: a b}\nbudgets:", 19, "node_jobs.benchmark_image", "no image", "digest"),
    # Pools.
    (POOLS, "pools: []\n", 6, "pools", "no node would ever be looked after", "List at least one."),
    ('    selector:\n      gpu: "true"', "    selector: {}", 8, "pools[0].selector", "every node of", "present"),
    ('gpu: "true"', '"a b": x', 9, 'pools[0].selector["a b"]', "'a b' is no label of a node", "as kubectl shows it"),
    ('gpu: "true"', 'nvidia.com/gpu: "*"', 9, 'pools[0].selector["nvidia.com/gpu"]', "'*' cannot be", "exact value"),
    ('      gpu: "true"\n', SECOND_POOL.format(name="gpu", selector='gpu: "no"'), 10, "pools[1].name", "two pools", ""),
    ('      gpu: "true"\n', SECOND_POOL.format(name="b", selector='{gpu: "true", x: y}'), 12, "pools[1].selector",
     "'gpu' before it selects all", "Move it before 'gpu'"),
    ("budgets:", 'node_jobs: {pull_secrets: [""]}\nbudgets:', 19, "node_jobs.pull_secrets[0]", "empty", "Write a name"),
    ("budgets:", "node_jobs: {pull_secrets: [a_b]}\nbudgets:", 19, "node_jobs.pull_secrets[0]", "Secret", "kubectl"),
    ("mode: observe", "beside: [argocd]", 10, "pools[0].beside[0]", "'argocd' is not known", "nvsentinel"),
    ("mode: observe", 'beside: [""]', 10, "pools[0].beside[0]", "This is empty", "Write a name"),
    ("mode: observe", "driver_root: run/nvidia", 10, "pools[0].driver_root", "no directory", "absolute path"),
    ("mode: observe", "driver_root: /run/../etc", 10, "pools[0].driver_root", "no directory", "absolute path"),
    ("mode: observe", "mode: act", 10, "pools[0].mode", "no image for the benchmark", "node_jobs.benchmark_image"),
    ("mode: observe", "mode: approve", 10, "pools[0].mode", "must be proven", "take mode cordon"),
    # YAML.
    ("  cordons: 20", "\tcordons: 20", 20, None, "This is not YAML", "Indent with spaces; YAML knows no tabs."),
    ("  cordons: 20", "  cordons: [20", 21, None, "This is not YAML", "Correct the line, or the one before it."),
    ("  cordons: 20", "  cordons: *all", 20, None, "undefined alias", "Correct the line"),
    ("budgets:", "---\nbudgets:", 19, None, "another document", "take out the line `---`"),
    ("  cordons: 20", "  cordons: \x07", 20, None, "A character here may not stand", "control character"),
]  # fmt: skip


def problems_in(text: str) -> tuple[ConfigurationError, ...]:
    read = read_policy(text, file="policy.yaml")
    assert not isinstance(read, Policy)
    return read


def test_the_file_that_the_mistakes_are_made_in_is_good() -> None:
    assert isinstance(read_policy(GOOD, file="policy.yaml"), Policy)


@pytest.mark.parametrize(("instead_of", "written", "line", "path", "problem", "remedy"), BAD)
def test_a_mistake_is_refused_with_its_line_its_place_and_a_remedy(
    instead_of: str, written: str, line: int, path: str | None, problem: str, remedy: str
) -> None:
    assert instead_of in GOOD
    (found,) = problems_in(GOOD.replace(instead_of, written, 1))
    assert (found.file, found.line, found.path) == ("policy.yaml", line, path)
    assert problem in found.problem
    assert found.remedy is not None
    assert remedy in found.remedy


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("", None, "The file is empty."),
        ("# only a comment\n", None, "The file is empty."),
        ("null\n", None, "The file is empty."),
        ("- a\n- b\n", 1, "This is a list, not a mapping."),
        ("\n\njust words\n", 3, "This is a single value, not a mapping."),
        ("[" * 1000, None, "It is nested too deeply."),
    ],
)
def test_what_is_no_policy_at_all_is_refused(text: str, line: int | None, problem: str) -> None:
    (found,) = problems_in(text)
    assert (found.line, found.problem) == (line, problem)


def test_all_mistakes_are_told_at_once_in_the_order_of_their_lines() -> None:
    text = GOOD.replace("mode: observe", "mode: actt").replace("20", "0").replace("  name: main", "  nam: main")
    found = problems_in(text)
    assert [(problem.line, problem.path) for problem in found] == [
        (2, "cluster.nam"),
        (2, "cluster"),
        (10, "pools[0].mode"),
        (20, "budgets.cordons"),
    ]


def test_the_start_is_refused_with_one_sentence_for_one_mistake(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(GOOD.replace("mode: observe", "mode: actt"))
    with pytest.raises(ConfigurationError) as refusal:
        load_policy(path)
    assert str(refusal.value) == (
        f"{path}:10: pools[0].mode: 'actt' is no mode. Did you mean `act`? Use one of: observe, cordon, approve, act."
    )


def test_the_start_is_refused_with_a_list_for_several_mistakes(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(GOOD.replace("mode: observe", "mode: actt").replace("20", "0"))
    with pytest.raises(ConfigurationError) as refusal:
        load_policy(path)
    lines = str(refusal.value).splitlines()
    assert lines[0] == f"{path}: 2 things are wrong."
    assert [line.split(": ")[0] for line in lines[1:]] == [f"  {path}:10", f"  {path}:20"]


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"cluster: {name: K\xf6ln}\n")
    (tmp_path / "huge").write_bytes(b"#" * (LARGEST + 1))
    for path, words in [
        (tmp_path / "absent", "No such file"),
        (tmp_path, "Is a directory"),
        (tmp_path / "latin", "can't decode byte"),
        (tmp_path / "huge", "larger than"),
    ]:
        found = policy_or_problems(path)
        assert not isinstance(found, Policy)
        assert (found[0].file, len(found)) == (str(path), 1)
        assert words in found[0].problem
