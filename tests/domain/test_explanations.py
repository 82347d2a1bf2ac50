"""What would be done, where a policy file cannot lead: the command's own tests have the rest."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.explanations import explain_finding, explain_xid
from app.domain.kernel_lines import KernelTables, read_line
from app.domain.policies import Ladder
from app.domain.triage import Decision
from app.domain.xids import XidClass
from app.kernel_files import load_kernel_tables
from app.policy_file import load_policy
from tests.building import OPENED, ROOT, rungs

POLICY = load_policy(ROOT / "config" / "policy.yaml")
TABLES: KernelTables = load_kernel_tables(ROOT / "config")
EVERY_CLASS: dict[XidClass, Ladder] = dict.fromkeys(XidClass, rungs("reboot"))


def test_an_unknown_number_is_only_noted_even_by_a_ladder_for_the_unknown() -> None:
    told = explain_xid(999, replace(POLICY, ladders=EVERY_CLASS), TABLES.xids, OPENED)
    assert (told.decision, told.ladder, told.plan) == (Decision.NOTE, (), ())


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("NVRM: Xid (PCI:0000:65:00): 48, An uncorrectable double bit error", "ticket"),
        ("nvidia-nvswitch1: SXid (PCI:0000:c3:00.0): 24007, Fatal, Link 28 x", "ticket"),
        ("NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus.", "power-cycle"),
    ],
)
def test_the_rungs_of_the_pool_come_before_those_of_the_policy(line: str, first: str) -> None:
    pool = replace(
        POLICY.pools[0],
        capabilities=("power-cycle", "ticket"),
        ladders={XidClass.RESET: rungs("ticket")},
        faults={"xid-79": rungs("power-cycle")},
    )
    finding = read_line(line, TABLES)
    assert finding is not None
    told = explain_finding(finding, replace(POLICY, pools=(pool,)), TABLES, OPENED)
    assert [rung.rung for rung in told.ladder] == [first]


@pytest.mark.parametrize("number", sorted(TABLES.xids.xids))
def test_a_number_gets_the_ladder_that_the_policy_gives_its_alert(number: int) -> None:
    told = explain_xid(number, POLICY, TABLES.xids, OPENED)
    ladder = POLICY.ladder_of(TABLES.xids.xid(number), POLICY.pools[0])
    assert told.ladder == (ladder or ())
    assert (told.decision is Decision.REPAIR) is (ladder is not None)
