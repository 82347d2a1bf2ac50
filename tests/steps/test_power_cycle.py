from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from app.domain.effects import CyclePower
from app.domain.facts import NodeView
from app.domain.guards import Hurts
from app.domain.operations import Operation
from app.domain.outcomes import Act, Done, Failed, NeedsHuman, Outcome, Wait
from tests.building import a_node, a_policy, an_operation, at, remembering
from workers.booting import Boot
from workers.steps.power_cycle import PowerCycle

TO_DO = an_operation(ladder=("power-cycle",), at_step="power-cycle")
KEY = "op-1-3-power-cycle-1"
ASKED = remembering(TO_DO, boot_id="b-111", asked_at=at().isoformat())
SENT = remembering(TO_DO, boot_id="b-111", asked_at=at().isoformat(), sent=at().isoformat())
NEW = a_node(boot_id="b-222")


def judged(node: NodeView, *, operation: Operation = SENT, now: datetime | None = None) -> Act | Outcome:
    return PowerCycle().judge(operation, Boot(node, None), a_policy(), now or at(1))


def test_the_boot_id_is_remembered_before_the_power_goes_and_the_call_has_one_key_a_try() -> None:
    told = judged(a_node(), operation=TO_DO)
    assert told == Act(
        (CyclePower(key=KEY, node="gpu-a01"),),
        "Asks for a power-cycle of gpu-a01.",
        {"boot_id": "b-111", "asked_at": at(1).isoformat()},
    )
    assert PowerCycle.hurts is Hurts.RUNNING_WORK


def test_without_a_boot_id_nothing_is_sent_since_nothing_could_be_proven() -> None:
    assert isinstance(judged(a_node(boot_id=""), operation=TO_DO), Wait)
    told = judged(a_node(boot_id=""), operation=remembering(TO_DO), now=at(30))
    assert isinstance(told, NeedsHuman)
    assert told.reason.endswith("Nothing was sent.")


def test_a_call_whose_answer_was_lost_is_made_again_under_its_key() -> None:
    told = judged(a_node(), operation=ASKED)
    assert isinstance(told, Act)
    assert [effect.key for effect in told.effects] == [KEY]
    assert told.memo["boot_id"] == "b-111"


def test_a_call_that_was_answered_is_not_made_again() -> None:
    assert judged(a_node()) == Wait("Waits for gpu-a01 to boot.", after=timedelta(seconds=30))


@pytest.mark.parametrize(
    ("node", "operation", "minutes", "outcome", "reason"),
    [
        (NEW, SENT, 6, Done, "Power-cycled: a new boot id, Ready, 8 GPUs back after 6 min."),
        # Its answer was lost, and it has been done all the same.
        (NEW, ASKED, 6, Done, "Power-cycled: a new boot id, Ready, 8 GPUs back after 6 min."),
        (a_node(boot_id="b-222", gpu_allocatable=7), SENT, 30, Failed, "gpu-a01 has booted, but 7 of 8 GPUs are back"),
        (a_node(), SENT, 29.9, Wait, "Waits for gpu-a01 to boot."),
        (a_node(), SENT, 30, Failed, "gpu-a01 shows no new boot id 30 min after the power-cycle was asked for."),
    ],
)
def test_a_power_cycle_is_proven_as_a_reboot_is(
    node: NodeView, operation: Operation, minutes: float, outcome: type[Outcome], reason: str
) -> None:
    told = judged(node, operation=operation, now=at(minutes))
    assert isinstance(told, outcome)
    assert told.reason.startswith(reason)
