"""The policy as shipped: safe, complete, explained key by key, and the same as its page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import MISSING, fields
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from app.domain.drain_rules import DrainRule
from app.domain.faults import Fault, Gpu
from app.domain.folding import join, open_repair
from app.domain.operations import NodeRef, Operation
from app.domain.plans.repair import RUNGS
from app.domain.policies import Ladder, Mode, Policy, Rung, When
from app.domain.xids import XidClass
from app.policy_file import load_policy
from app.xid_file import load_xids
from tests.policy.paths import keys_of

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "config" / "policy.yaml"
PAGE = ROOT / "docs" / "reference" / "policy.md"

NOW = datetime(2026, 10, 1, 12, tzinfo=UTC)

KEYS = dict(keys_of(Policy))
LEAVES = {path: default for path, default in KEYS.items() if default != "section"}
WRITTEN = [path for path in KEYS if KEYS.get(path.rpartition(".")[0]) != "null"]
"""All but the keys of what is null as a whole."""
OF_A_RUNG = dict(keys_of(Rung))
OF_A_DRAIN = dict(keys_of(DrainRule))


def lines_of(node: yaml.Node, path: str = "") -> Iterator[tuple[str, int, str]]:
    """Path, line (from 0) and text of each key in the file, as `keys_of` spells them."""
    if isinstance(node, yaml.SequenceNode):
        for part in node.value:
            yield from lines_of(part, f"{path}[]")
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inside = f"{path}.{key.value}".removeprefix(".")
            written = SHIPPED.read_text()[value.start_mark.index : value.end_mark.index]
            yield inside, key.start_mark.line, written
            yield from lines_of(value, inside)


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy(SHIPPED)


@pytest.fixture(scope="module")
def written() -> dict[str, tuple[int, str]]:
    root = yaml.compose(SHIPPED.read_text(), Loader=yaml.SafeLoader)
    assert root is not None
    return {path: (line, text) for path, line, text in lines_of(root)}


def test_the_shipped_policy_touches_nothing(policy: Policy) -> None:
    assert [(pool.name, pool.mode) for pool in policy.pools] == [("gpu", Mode.OBSERVE)]


def test_the_shipped_ladders_act_on_what_needs_it_and_only_note_the_rest(policy: Policy) -> None:
    assert {class_: names(ladder) for class_, ladder in policy.ladders.items()} == {
        XidClass.RESTART_PLUGIN: ("restart-plugin",),
        XidClass.RESET_IDLE: ("reset when idle", "reboot", "ticket"),
        XidClass.RESET: ("reset", "reboot", "power-cycle", "ticket"),
        XidClass.REBOOT: ("reboot", "power-cycle", "ticket"),
        XidClass.ISOLATE: ("ticket",),
    }


@pytest.mark.parametrize(
    ("number", "first"),
    [
        (79, "reboot"),
        (119, "reset"),
        (120, "reset"),
        (48, "reset"),
        (95, "reset"),
        (63, "reset when idle"),
        (94, "reset when idle"),
        (64, "ticket"),
        (31, None),
        (43, None),
        (45, None),
        (154, None),
    ],
)
def test_codes_lead_where_the_field_expects(policy: Policy, number: int, first: str | None) -> None:
    ladder = ladder_of(policy, number)
    assert (None if ladder is None else names(ladder)[0]) == first


@pytest.mark.parametrize(
    ("numbers", "plan"),
    [
        ((63,), ["await-idle", "cordon", "evidence", "drain", "pause-operands", "reset"]),
        ((94,), ["await-idle", "cordon", "evidence", "drain", "pause-operands", "reset"]),
        ((95,), ["cordon", "evidence", "drain", "pause-operands", "reset"]),
        ((48, 63), ["cordon", "evidence", "drain", "pause-operands", "reset"]),
        ((63, 48), ["cordon", "evidence", "drain", "pause-operands", "reset"]),
        ((64,), ["cordon", "evidence", "drain", "open-ticket", "await-ticket", "inventory"]),
        ((48, 64), ["cordon", "evidence", "drain", "open-ticket", "await-ticket", "inventory"]),
        ((64, 48), ["cordon", "evidence", "drain", "open-ticket", "await-ticket", "inventory"]),
    ],
)
def test_errors_of_memory_wait_reset_or_go_to_a_ticket(
    policy: Policy, numbers: tuple[int, ...], plan: list[str]
) -> None:
    """Tools of the field disagree about each: leptonai/gpud#987, awslabs/awsome-distributed-ai#1190."""
    operation = opened(policy, numbers)
    due = [step.step for step in operation.plan if not step.over]
    assert due[: len(plan)] == plan


def test_a_card_that_cannot_remap_is_never_given_back_by_a_reset_or_a_reboot(policy: Policy) -> None:
    assert set(opened(policy, (48, 64)).ladder) & {"reset", "reboot", "power-cycle"} == set()


@pytest.mark.parametrize("step", RUNGS["reset"])
@pytest.mark.parametrize("code", ["xid-119", "xid-120"])
def test_a_firmware_that_hangs_while_its_gpu_is_being_reset_is_our_own_doing(
    policy: Policy, step: str, code: str
) -> None:
    """Stopping the exporter can do that: NVIDIA/dcgm-exporter#84."""
    assert policy.is_own_act(step, code)
    assert not policy.is_own_act("diagnose", code)


@pytest.mark.parametrize("code", ["xid-43", "xid-45"])
def test_what_a_stress_test_leaves_behind_is_our_own_doing(policy: Policy, code: str) -> None:
    assert [step for step in ("reset", "diagnose", "benchmark") if not policy.is_own_act(step, code)] == []


def test_a_pool_as_shipped_has_no_rung_that_nothing_carries_out(policy: Policy) -> None:
    assert (policy.tickets.system, policy.power, policy.provider) == (None, None, None)
    assert {"power-cycle", "replace"} & set(policy.pools[0].capabilities) == set()


def names(ladder: Ladder) -> tuple[str, ...]:
    return tuple(f"{rung.rung} when idle" if rung.when is When.IDLE else rung.rung for rung in ladder)


def ladder_of(policy: Policy, number: int) -> Ladder | None:
    return policy.ladder_of(load_xids(ROOT / "config" / "xids.yaml").xid(number), policy.pools[0])


def opened(policy: Policy, numbers: tuple[int, ...]) -> Operation:
    """The operation after these Xids of one card, one after the other."""
    operation: Operation | None = None
    for number in numbers:
        ladder = ladder_of(policy, number)
        assert ladder is not None
        card = Gpu(uuid="GPU-1", index=0)
        fault = Fault(code=f"xid-{number}", node="n", gpu=card, at=NOW, source="alert", evidence=f"Xid {number}")
        if operation is None:
            node = NodeRef(name="n", uid="u")
            operation, _ = open_repair(fault, id="op-1", node=node, pool="gpu", ladder=ladder, now=NOW)
        else:
            joined = join(operation, fault, ladder=ladder, now=NOW)
            assert joined is not None
            operation, _ = joined
    assert operation is not None
    return operation


def test_each_class_that_may_have_a_ladder_is_written_out(written: dict[str, tuple[int, str]]) -> None:
    assert {f"ladders.{class_}" for class_ in XidClass if class_ is not XidClass.UNKNOWN} <= set(written)


@pytest.mark.parametrize(
    "name", ["GPUXidError", "GpuXid", "GpuXidFellOffBus", "GpuXidResetGpu", "GpuFatalXid", "GpuAppXid", "SickbayXid"]
)
def test_rules_of_the_field_that_carry_an_xid_are_judged(policy: Policy, name: str) -> None:
    assert policy.alerts.is_xid(name)


@pytest.mark.parametrize("name", ["Watchdog", "GPUHighTemperature", "GpuRemapFailure", "TestAlert", "xid", ""])
def test_other_alerts_are_not_taken_for_xids(policy: Policy, name: str) -> None:
    assert not policy.alerts.is_xid(name)


@pytest.mark.parametrize("path", WRITTEN)
def test_each_key_stands_in_the_shipped_file_below_its_comment(path: str, written: dict[str, tuple[int, str]]) -> None:
    line, _ = written[path]
    above = SHIPPED.read_text().splitlines()[:line]
    assert above[-1].lstrip().startswith("#"), f"{path} in line {line + 1} of {SHIPPED.name} has no comment above it."


@pytest.mark.parametrize(
    ("path", "default"),
    [(path, LEAVES[path]) for path in WRITTEN if LEAVES.get(path) is not None],
)
def test_each_key_is_set_to_its_default_in_the_shipped_file(
    path: str, default: str, written: dict[str, tuple[int, str]]
) -> None:
    _, text = written[path]
    assert yaml.safe_load(text) == yaml.safe_load(default)


def test_the_shipped_file_says_at_its_head_what_must_be_there(policy: Policy) -> None:
    head = SHIPPED.read_text().partition("\ncluster:")[0]
    required = [part.name for part in fields(Policy) if part.default is part.default_factory is MISSING]
    assert [name for name in required if f"`{name}" not in head] == []
    assert policy.own_acts


@pytest.mark.parametrize(("path", "default"), (LEAVES | OF_A_RUNG | OF_A_DRAIN).items())
def test_each_key_has_a_row_with_its_unit_and_default_on_the_page(path: str, default: str | None) -> None:
    row = re.search(rf"^\| `{re.escape(path)}` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", PAGE.read_text(), re.MULTILINE)
    assert row is not None, f"{path} has no row in docs/reference/policy.md."
    assert row[2] == ("required" if default is None else f"`{default}`")


@pytest.mark.parametrize("rung", RUNGS)
def test_each_rung_is_explained_on_the_page_and_in_the_shipped_file(rung: str) -> None:
    assert re.search(rf"^\| `{rung}` \| [^|]+ \| [^|]+ \|$", PAGE.read_text(), re.MULTILINE)
    assert re.search(rf"^#   {rung} +\w", SHIPPED.read_text(), re.MULTILINE)


def test_the_page_has_no_key_that_does_not_exist() -> None:
    assert set(re.findall(r"^\| `([a-z_\[\].]+)` \| [^|]+ \| [^|]+ \| ", PAGE.read_text(), re.MULTILINE)) == set(
        LEAVES | OF_A_RUNG | OF_A_DRAIN
    )


@pytest.mark.parametrize("key", OF_A_DRAIN)
def test_each_key_of_a_rule_of_drains_is_explained_in_the_shipped_file(key: str) -> None:
    assert re.search(rf"^    #   {key} +\w", SHIPPED.read_text(), re.MULTILINE)


@pytest.mark.parametrize("path", [path for path, default in KEYS.items() if default == "section"])
def test_each_section_is_named_on_the_page(path: str) -> None:
    assert re.search(rf"^#+ .*`{re.escape(path)}`", PAGE.read_text(), re.MULTILINE)
