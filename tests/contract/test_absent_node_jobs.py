"""What stands behind the port where node jobs are switched off."""

from __future__ import annotations

import pytest

from app.errors import PermanentPortError
from tests.contract.test_node_jobs import node_job
from workers.adapters.absent_node_jobs import AbsentNodeJobs


def test_where_node_jobs_are_off_none_is_started_and_a_person_is_told_why() -> None:
    with pytest.raises(PermanentPortError, match=r"switched off \(SICKBAY_NODE_JOBS\), so no diagnose runs on"):
        AbsentNodeJobs().start(node_job())


def test_where_node_jobs_are_off_there_are_none() -> None:
    absent = AbsentNodeJobs()

    absent.remove("op-1-diagnose")

    assert (absent.get("op-1-diagnose"), absent.of_operation("op-1")) == (None, ())
