"""The policy as shipped: safe, complete, explained key by key, and the same as its page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from app.domain.policies import Mode, Policy
from app.domain.xids import XidClass
from app.policy_file import load_policy
from app.xid_file import load_xids
from tests.policy.paths import keys_of

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "config" / "policy.yaml"
PAGE = ROOT / "docs" / "reference" / "policy.md"

KEYS = dict(keys_of(Policy))
LEAVES = {path: default for path, default in KEYS.items() if default != "section"}


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
    assert policy.ladders == {XidClass.RESET: ("reboot",), XidClass.REBOOT: ("reboot",), XidClass.ISOLATE: ()}


@pytest.mark.parametrize(
    ("number", "ladder"), [(79, ("reboot",)), (119, ("reboot",)), (64, ()), (63, None), (31, None)]
)
def test_codes_lead_where_the_field_expects(policy: Policy, number: int, ladder: tuple[str, ...] | None) -> None:
    assert policy.ladder_of(load_xids(ROOT / "config" / "xids.yaml").xid(number)) == ladder


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


@pytest.mark.parametrize("path", KEYS)
def test_each_key_stands_in_the_shipped_file_below_its_comment(path: str, written: dict[str, tuple[int, str]]) -> None:
    line, _ = written[path]
    above = SHIPPED.read_text().splitlines()[:line]
    assert above[-1].lstrip().startswith("#"), f"{path} in line {line + 1} of {SHIPPED.name} has no comment above it."


@pytest.mark.parametrize(
    ("path", "default"), [(path, default) for path, default in LEAVES.items() if default is not None]
)
def test_each_key_is_set_to_its_default_in_the_shipped_file(
    path: str, default: str, written: dict[str, tuple[int, str]]
) -> None:
    _, text = written[path]
    assert yaml.safe_load(text) == yaml.safe_load(default)


@pytest.mark.parametrize(("path", "default"), LEAVES.items())
def test_each_key_has_a_row_with_its_unit_and_default_on_the_page(path: str, default: str | None) -> None:
    row = re.search(rf"^\| `{re.escape(path)}` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", PAGE.read_text(), re.MULTILINE)
    assert row is not None, f"{path} has no row in docs/reference/policy.md."
    assert row[2] == ("required" if default is None else f"`{default}`")


def test_the_page_has_no_key_that_does_not_exist() -> None:
    assert set(re.findall(r"^\| `([a-z_\[\].]+)` \| [^|]+ \| [^|]+ \| ", PAGE.read_text(), re.MULTILINE)) == set(LEAVES)


@pytest.mark.parametrize("path", [path for path, default in KEYS.items() if default == "section"])
def test_each_section_is_named_on_the_page(path: str) -> None:
    assert re.search(rf"^#+ .*`{re.escape(path)}`", PAGE.read_text(), re.MULTILINE)
