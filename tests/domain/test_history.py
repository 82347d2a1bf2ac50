from __future__ import annotations

import pytest

from app.domain.faults import Gpu
from app.domain.history import HistoryRow, row_of
from tests.building import NODE, OPENED, a_fault, a_gpu


@pytest.mark.parametrize("gpu", [None, a_gpu(3, None, None), Gpu()])
def test_a_fault_of_no_known_card_has_no_row_that_strangers_would_share(gpu: Gpu | None) -> None:
    assert row_of(a_fault(gpu=gpu), class_="reboot") is None


def test_a_row_keeps_card_node_code_class_and_the_operation_that_followed() -> None:
    row = row_of(a_fault(), class_="reboot", operation="op-1")
    assert row == HistoryRow(
        gpu=a_gpu(),
        node=NODE,
        code="xid-79",
        class_="reboot",
        at=OPENED,
        evidence="xid-79 on GPU 3",
        operation="op-1",
    )
