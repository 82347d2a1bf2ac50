"""What a good policy file becomes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workers.steps
from app.backend_checks import TICKET_SYSTEMS
from app.domain.breaker import Breaker, Dimension
from app.domain.drain_rules import Do, DrainRule, Loss
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
    Then,
    Tickets,
    Validation,
    When,
)
from app.domain.xids import XidClass
from app.durations import read_duration, write_duration
from app.ladder_checks import STEPS
from app.policy_file import read_policy
from workers.adapters.tickets import SYSTEMS

SMALLEST = """\
cluster: {name: main}
alerts: {xid: [GpuXid*]}
pools: [{name: gpu, selector: {gpu: "true"}}]
ladders: {}
own_acts: {}
"""

FULL = """\
cluster: {name: "Köln 1", label: cluster}
alerts: {xid: [GpuXid*, "XID Error Check"], watchdog: []}
pools:
  - name: h100
    selector: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3, rack: "7"}
    mode: act
    disruptions: 2
    cooldown: 0s
    validation: &strict
      diagnose_level: 4
      required_tests: [memory, targeted_stress]
      inconclusive_tries: 1
      bandwidth_floor: 440
      bandwidth_tolerance: 0.05
    deadlines: {drain: 1h30m, completion: 3d, dark: 5m, reset: 20m, reboot: 1500ms, diagnose: 3h, benchmark: 90s}
    drain:
      canary: {namespaces: [team-*, scratch], labels: {track: canary}, do: delete, after: 30m, accepts: [bare-pods]}
      batch: {namespaces: [team-*], do: wait}
      rest: {accepts: [local-data]}
    driver_root: /
    beside: [kured, gke]
    capabilities: [reset, power-cycle, replace, ticket]
    ladders: {reset: [{rung: reset, when: idle, deadline: 2h, then: drain}, replace], isolate: []}
    faults: {xid-94: null, xid-95: [ticket]}
  - name: rest
    selector: {nvidia.com/gpu.present: "true"}
    validation: *strict
ladders: {reset: [reboot], isolate: [], application: null, unknown: null}
faults: {xid-43: [], xid-79: null, xid-999: [reboot]}
fault_modes: {xid-94: cordon}
own_acts: {reset: [xid-43, xid-119], drain: []}
attempts: {window: 30d, per_node: 1, per_gpu: 50}
probation: 0s
offenders: {window: 1m, limit: 0.5, weights: {xid-79: 2, reset: 0.25, note: 0, application: 0}}
tickets: {system: webhook, url: "https://tickets.example:8443/gpu", secret_file: /run/secrets/t, poll: 1s, workloads: true}
power: {url: "http://bmc/cycle", secret_file: power}
provider: {url: "http://[fd00::1]:80", secret_file: provider}
budgets: {cordons: 1, cordon_rate: {nodes: 3, within: 2m}, disruptions: 4, disruptions_per_rack: 2, disruptions_per_driver: 3, with_vendor: 2}
breaker: {window: 12h, share: 1, most: 99999, least: 1, dimensions: [rack]}
node_jobs: {namespace: jobs, host_image: "busybox@sha256:00ff", diagnose_image: "r.example:5000/a/dcgm:4", benchmark_image: nccl, pull_secrets: [mirror]}
observe_for: 7d
inventory_max_age: 1m
"""  # noqa: E501  one line a key


def policy_of(text: str) -> Policy:
    read = read_policy(text, file="policy.yaml")
    assert isinstance(read, Policy), [str(problem) for problem in read]
    return read


def test_what_is_left_out_has_the_defaults_of_the_domain() -> None:
    assert policy_of(SMALLEST) == Policy(
        cluster=ClusterName(name="main"),
        alerts=AlertNames(xid=("GpuXid*",)),
        pools=(Pool(name="gpu", selector={"gpu": "true"}),),
        ladders={},
        own_acts={},
    )


def test_a_pool_only_observes_unless_its_policy_says_more() -> None:
    assert policy_of(SMALLEST).pools[0].mode is Mode.OBSERVE


def test_every_key_arrives_where_it_belongs() -> None:
    strict = Validation(
        diagnose_level=4,
        required_tests=("memory", "targeted_stress"),
        inconclusive_tries=1,
        bandwidth_floor=440.0,
        bandwidth_tolerance=0.05,
    )
    assert policy_of(FULL) == Policy(
        cluster=ClusterName(name="Köln 1", label="cluster"),
        alerts=AlertNames(xid=("GpuXid*", "XID Error Check"), watchdog=()),
        pools=(
            Pool(
                name="h100",
                selector={"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "rack": "7"},
                mode=Mode.ACT,
                disruptions=2,
                cooldown=timedelta(0),
                validation=strict,
                drain={
                    "canary": DrainRule(
                        namespaces=("team-*", "scratch"),
                        labels={"track": "canary"},
                        do=Do.DELETE,
                        after=timedelta(minutes=30),
                        accepts=(Loss.BARE_PODS,),
                    ),
                    "batch": DrainRule(namespaces=("team-*",), do=Do.WAIT),
                    "rest": DrainRule(accepts=(Loss.LOCAL_DATA,)),
                },
                deadlines=Deadlines(
                    drain=timedelta(minutes=90),
                    completion=timedelta(days=3),
                    dark=timedelta(minutes=5),
                    reset=timedelta(minutes=20),
                    reboot=timedelta(seconds=1.5),
                    diagnose=timedelta(hours=3),
                    benchmark=timedelta(seconds=90),
                ),
                driver_root="/",
                beside=("kured", "gke"),
                capabilities=("reset", "power-cycle", "replace", "ticket"),
                ladders={
                    XidClass.RESET: (
                        Rung(rung="reset", when=When.IDLE, deadline=timedelta(hours=2), then=Then.DRAIN),
                        Rung(rung="replace"),
                    ),
                    XidClass.ISOLATE: (),
                },
                faults={"xid-94": None, "xid-95": (Rung(rung="ticket"),)},
            ),
            Pool(name="rest", selector={"nvidia.com/gpu.present": "true"}, validation=strict),
        ),
        ladders={XidClass.RESET: (Rung(rung="reboot"),), XidClass.ISOLATE: ()},
        faults={"xid-43": (), "xid-79": None, "xid-999": (Rung(rung="reboot"),)},
        fault_modes={"xid-94": Mode.CORDON},
        own_acts={"reset": ("xid-43", "xid-119"), "drain": ()},
        attempts=Attempts(window=timedelta(days=30), per_node=1, per_gpu=50),
        probation=timedelta(0),
        offenders=Offenders(
            window=timedelta(minutes=1),
            limit=0.5,
            weights={"xid-79": 2.0, "reset": 0.25, "note": 0.0, "application": 0.0},
        ),
        tickets=Tickets(
            system="webhook",
            url="https://tickets.example:8443/gpu",
            secret_file="/run/secrets/t",
            poll=timedelta(seconds=1),
            workloads=True,
        ),
        power=Hook(url="http://bmc/cycle", secret_file="power"),
        provider=Hook(url="http://[fd00::1]:80", secret_file="provider"),
        budgets=Budgets(
            cordons=1,
            cordon_rate=Rate(nodes=3, within=timedelta(minutes=2)),
            disruptions=4,
            disruptions_per_rack=2,
            disruptions_per_driver=3,
            with_vendor=2,
        ),
        breaker=Breaker(window=timedelta(hours=12), share=1.0, most=99999, least=1, dimensions=(Dimension.RACK,)),
        node_jobs=NodeJobs(
            namespace="jobs",
            host_image="busybox@sha256:00ff",
            diagnose_image="r.example:5000/a/dcgm:4",
            benchmark_image="nccl",
            pull_secrets=("mirror",),
        ),
        observe_for=timedelta(days=7),
        inventory_max_age=timedelta(minutes=1),
    )


@pytest.mark.parametrize(
    "written", ["[reset, reboot]", "[{rung: reset}, reboot]", "[{rung: reset, when: now}, {rung: reboot, then: hold}]"]
)
def test_a_rung_is_the_same_by_its_name_alone_and_with_all_that_is_said_of_it(written: str) -> None:
    policy = policy_of(SMALLEST.replace("ladders: {}", f"ladders: {{reset: {written}}}"))
    assert policy.ladders == {XidClass.RESET: (Rung(rung="reset"), Rung(rung="reboot"))}


def test_a_ladder_may_have_rungs_that_no_pool_has() -> None:
    text = SMALLEST.replace("ladders: {}", "ladders: {reset: [power-cycle, replace]}")
    assert {rung.rung for rung in policy_of(text).ladders[XidClass.RESET]} == {"power-cycle", "replace"}


def test_a_pool_may_have_the_rung_ticket_without_a_ticket_system() -> None:
    text = SMALLEST.replace('gpu: "true"}', 'gpu: "true"}, capabilities: [ticket]')
    assert policy_of(text).pools[0].capabilities == ("ticket",)


def test_tickets_may_be_files() -> None:
    tickets = policy_of(SMALLEST + "tickets: {system: file, directory: /var/tickets}\n").tickets
    assert tickets == Tickets(system="file", directory="/var/tickets")


def test_the_systems_that_can_be_named_are_those_that_there_are() -> None:
    assert set(TICKET_SYSTEMS) == set(SYSTEMS)


def test_the_steps_that_can_be_named_are_those_that_there_are() -> None:
    assert set(workers.steps.STEPS) == STEPS


@pytest.mark.parametrize("text", ["\ufeff" + SMALLEST, SMALLEST.replace("\n", "\r\n"), "---\n" + SMALLEST + "...\n"])
def test_marks_of_other_editors_do_no_harm(text: str) -> None:
    assert policy_of(text) == policy_of(SMALLEST)


def test_a_narrow_pool_may_stand_before_a_wide_one_but_not_behind_it() -> None:
    narrow, wide = '{name: a, selector: {gpu: "true", rack: "7"}}', '{name: b, selector: {gpu: "true"}}'
    listed = SMALLEST.replace('{name: gpu, selector: {gpu: "true"}}', "%s, %s")
    assert isinstance(read_policy(listed % (narrow, wide), file="f"), Policy)
    assert not isinstance(read_policy(listed % (wide, narrow), file="f"), Policy)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0s", 0),
        ("90s", 90),
        ("30m", 1800),
        ("2h", 7200),
        ("7d", 604800),
        ("1h30m", 5400),
        ("500ms", 0.5),
        ("1d2h3m4s5ms", 93784.005),
    ],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert read_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text", ["", "30", "s", "30 m", "1.5h", "-5m", "30m2h", "1h1h", "1w", "1H", "٣s", "1h ", "9999999s", "PT1H", "∞"]
)
def test_what_is_no_duration_is_not_guessed(text: str) -> None:
    assert read_duration(text) is None


@given(st.integers(min_value=0, max_value=10**11))
def test_a_duration_that_is_written_is_read_as_the_same(milliseconds: int) -> None:
    span = timedelta(milliseconds=milliseconds)
    assert read_duration(write_duration(span)) == span


@given(st.text(alphabet="ab:[]{}-?!&*#'\"|>%@\n \t~01.,", max_size=60))
def test_no_text_is_answered_with_anything_but_problems(text: str) -> None:
    found = read_policy(text, file="policy.yaml")
    assert not isinstance(found, Policy)
    assert found


@given(st.integers(min_value=0, max_value=len(FULL)), st.integers(min_value=0, max_value=30), st.text(max_size=8))
def test_a_file_damaged_anywhere_is_read_or_refused_and_breaks_nothing(start: int, length: int, written: str) -> None:
    found = read_policy(FULL[:start] + written + FULL[start + length :], file="policy.yaml")
    assert isinstance(found, Policy) or all(problem.remedy and problem.file for problem in found)


@pytest.mark.parametrize(
    ("written", "rate"),
    [
        ("cordon_rate: 7", Rate(nodes=7)),
        ("cordon_rate: {nodes: 7}", Rate(nodes=7)),
        ("cordon_rate: null", None),
        ("cordons: 1", Rate(nodes=20)),
        ("{cordons: 2, cordon_rate: {nodes: 22, within: 10m}}", Rate(nodes=22)),
    ],
)
def test_a_rate_may_be_its_nodes_alone_or_none_and_the_default_fits_any_budget(written: str, rate: Rate | None) -> None:
    budgets = written if written.startswith("{") else f"{{{written}}}"
    assert policy_of(f"{SMALLEST}budgets: {budgets}\n").budgets.cordon_rate == rate
