"""What the answer to an eviction means. Pure; the same codes stand for different things here than elsewhere.

429 is a budget's no or the server's own throttling, told apart by the cause in the body; 500 is a passing failure or
a pod under two budgets, which no later try can evict. Sources: k8s.io/kubernetes `pkg/registry/core/pod/storage/
eviction.go`; kubernetes issues 72320, 75957 and kubectl 172 for how it goes wrong.
"""

from __future__ import annotations

import re
from datetime import datetime

from app.errors import PermanentPortError, TemporaryPortError
from workers.adapters.kubernetes.answers import Answer, Right, error_of, shortened
from workers.ports import Refusal

EVICT = Right("create", "pods/eviction")
SEVERAL_BUDGETS = "more than one PodDisruptionBudget"
# The API server says it in one of two ways, by where it notices.
_OTHER_UID = re.compile(r"UID in (the )?precondition")
_BUDGET = re.compile(r"^The disruption budget (\S+) (.+)$")
_ONE_POD = re.compile(r"\b1 healthy pods ")


def refusal_of(answer: Answer, namespace: str, name: str, now: datetime) -> Refusal | None:
    """None when the pod is told to end or is gone, a refusal when a budget says no.

    Raises:
        TemporaryPortError: throttled, changed meanwhile, or the server failed.
        PermanentPortError: the right is missing, or no later try can go well.
    """
    status = answer.status
    message = status.message or ""
    if answer.ok or answer.code == 404:
        return None
    if answer.code == 409:
        if _OTHER_UID.search(message):
            return None  # Another pod has the name: ours is gone.
        raise TemporaryPortError(f"The eviction of {namespace}/{name} met a change: {shortened(message)}.")
    if answer.code == 429:
        causes = [cause for cause in status.causes if cause.reason == "DisruptionBudget"]
        if causes:
            pause = answer.retry_after
            reason = _sentence(causes[0].message or message, namespace, name)
            return Refusal(reason=reason, retry_at=None if pause is None else now + pause)
    if answer.code == 500 and SEVERAL_BUDGETS in message:
        raise PermanentPortError(
            f"Pod {namespace}/{name} is under more than one PodDisruptionBudget, so it can never be evicted; "
            "take one of them away, or move the pod."
        )
    raise error_of(answer, EVICT)


def _sentence(message: str, namespace: str, name: str) -> str:
    found = _BUDGET.match(message.strip())
    pod = f"the eviction of {namespace}/{name}"
    if found is None:
        return f"A budget does not allow {pod} now: {shortened(message)}."
    told = _ONE_POD.sub("1 healthy pod ", found[2])  # Kubernetes writes "1 healthy pods"
    return f"Budget {namespace}/{found[1]} does not allow {pod} now: it {shortened(told)}."
