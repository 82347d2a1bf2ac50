"""Reset: `nvidia-smi --gpu-reset` of each GPU that is ill, judged by what the GPUs say afterwards."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import ClassVar

from app.domain.deadlines import is_past, next_look
from app.domain.effects import NodeJob, StartNodeJob
from app.domain.facts import NodeJobView, NodeView
from app.domain.guards import Hurts
from app.domain.operations import Operation
from app.domain.outcomes import Act, Done, Failed, NeedsHuman, Outcome, Wait
from app.domain.policies import Policy
from app.domain.resets import ResetResult, read_reset
from app.domain.timeline import spell
from workers.ports import Ports
from workers.proof import GRACE, Run
from workers.step import current, in_driver_root, node_job_name

SCRIPT = r"""kept=$2
nvidia-smi -i "$1" --query-gpu=uuid,persistence_mode --format=csv,noheader |
  sed -n 's/^ *\(GPU-[0-9A-Za-z-]*\), *Enabled *$/\1/p' >>"$kept"
restore() {
  left=
  for gpu in $(cat "$kept"); do nvidia-smi -i "$gpu" -pm 1 || left=$gpu; done
  [ -n "$left" ] || rm -f "$kept"
}
trap restore EXIT
trap 'exit 143' HUP INT TERM
for gpu in $(cat "$kept"); do nvidia-smi -i "$gpu" -pm 0; done
nvidia-smi --gpu-reset -i "$1"
code=$?
nvidia-smi -q -i "$1" | grep -E "GPU Recovery Action|Pending|Remapp"
exit $code
"""
"""Persistence mode alone blocks a reset, so it is off meanwhile where it was on, and on again there, whatever happens.

Which GPUs those are is written down first: after a kill, the next reset gives them back what this one took. The UUIDs
are an argument, never pasted in.
"""

KEPT = "/run/sickbay-persistence-mode"
"""Gone with a reboot, as the mode itself is."""

UUID = re.compile(r"GPU-[0-9A-Za-z-]{1,64}")
NOTED_WITHIN = timedelta(seconds=1)
TRIES = 2
"""A GPU that is in use is tried once more; then the next rung is taken."""


class Reset:
    """Done when the GPU answers, asks for no recovery and has no row remap pending."""

    name: ClassVar[str] = "reset"
    hurts: ClassVar[Hurts] = Hurts.RUNNING_WORK

    def look(self, operation: Operation, node: NodeView, ports: Ports) -> Run:
        """The node job of the present try."""
        return Run(node, ports.node_jobs.get(node_job_name(operation, again=_again(operation))))

    def judge(self, operation: Operation, facts: Run, policy: Policy, now: datetime) -> Act | Outcome:
        """Ask once for each try; an answer that nobody can read is no success."""
        job, memo = facts.job, current(operation).memo
        name = node_job_name(operation, again=_again(operation))
        limit = policy.rules_for(facts.node.labels).deadlines.reset
        if job is None:
            if memo.get("seen") == name:
                return Failed(f"The reset on {facts.node.name} was cut off: its node job was deleted.")
            return self._ask(operation, facts.node, policy, again=_again(operation))
        if not job.ended:
            ends = (job.created_at or current(operation).started_at or now) + limit + GRACE
            if is_past(ends, now):
                return Failed(f"The reset on {facts.node.name} did not end within {spell(limit)}.")
            after = next_look(now, ends)
            return Wait(f"Waits for the reset on {facts.node.name}.", after=after, memo={"seen": name})
        return self._judged(operation, facts, job, policy)

    def _judged(self, operation: Operation, run: Run, job: NodeJobView, policy: Policy) -> Act | Outcome:
        if not job.output:
            return Failed(f"The reset on {run.node.name} said nothing ({job.reason or f'exit code {job.exit_code}'}).")
        reset = read_reset(job.output, len(_ill(operation)))
        if reset.result is ResetResult.DONE and job.succeeded:
            return Done(reset.reason)
        if reset.result is ResetResult.IN_USE and _again(operation) + 1 < TRIES:
            if current(operation).memo.get("seen") != job.name:
                # Written down first: the next try may be held for longer than what the first one said is kept.
                return Wait(reset.reason, after=NOTED_WITHIN, memo={"seen": job.name})
            again = self._ask(operation, run.node, policy, again=_again(operation) + 1)
            return replace(again, reason=f"{reset.reason} Tries again.") if isinstance(again, Act) else again
        if reset.result is ResetResult.DONE:
            return Failed(f"The reset ended with exit code {job.exit_code}, whatever it said.")
        return Failed(reset.reason)

    def _ask(self, operation: Operation, node: NodeView, policy: Policy, *, again: int) -> Act | NeedsHuman:
        ill = _ill(operation)
        odd = next((uuid for uuid in ill or ("",) if not UUID.fullmatch(uuid)), None)
        if odd is not None:
            return NeedsHuman(f"{odd[:80]!r} is no UUID of a GPU, so nothing is reset.")
        name, pool = node_job_name(operation, again=again), policy.rules_for(node.labels)
        job = NodeJob(
            name=name,
            operation=operation.id,
            step="reset",
            node=node.name,
            image=policy.node_jobs.host_image,
            argv=in_driver_root(pool, SCRIPT, "nvidia-smi --gpu-reset", ",".join(ill), KEPT),
            deadline=pool.deadlines.reset,
            host=True,
        )
        return Act(
            (StartNodeJob(key=name, job=job),), f"Resets {', '.join(ill)} on {node.name}.", {"again": str(again)}
        )


def _ill(operation: Operation) -> tuple[str, ...]:
    """The UUIDs of the GPUs that faults name, each once."""
    return tuple(dict.fromkeys(fault.gpu.uuid for fault in operation.faults if fault.gpu and fault.gpu.uuid))


def _again(operation: Operation) -> int:
    return int(current(operation).memo.get("again", "0"))
