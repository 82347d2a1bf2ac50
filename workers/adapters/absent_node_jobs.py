"""The port `NodeJobs` where node jobs are switched off: nothing runs on a machine, and nothing is asked of the cluster.

Sickbay then cordons and drains; whatever would need a node job is brought before a person with this reason.
"""

from __future__ import annotations

from app.domain.effects import NodeJob
from app.domain.facts import NodeJobView
from app.errors import PermanentPortError


class AbsentNodeJobs:
    """There are none, and none can be started."""

    def start(self, job: NodeJob) -> None:
        """Refuses. Raises PermanentPortError."""
        raise PermanentPortError(
            f"Node jobs are switched off (SICKBAY_NODE_JOBS), so no {job.step} runs on {job.node}."
        )

    def get(self, name: str) -> NodeJobView | None:  # noqa: ARG002 - the port's
        """None."""
        return None

    def of_operation(self, operation: str) -> tuple[NodeJobView, ...]:  # noqa: ARG002 - the port's
        """None of them."""
        return ()

    def remove(self, name: str) -> None:
        """There is nothing to delete."""
