"""What the answer to an eviction means. Pure; the same codes stand for different things here than elsewhere.

429 is a budget's no or the server's own throttling, told apart by the cause in the body; 500 is a passing failure or
a pod under two budgets, which no later try can evict; 403 is a missing right or a namespace that is being deleted.
Sources: k8s.io/kubernetes `pkg/registry/core/pod/storage/eviction.go`, k8s.io/kubectl `pkg/drain`; kubernetes issues
72320, 75957 and kubectl 172 for how it goes wrong.
"""

from __future__ import annotations

import re
from datetime import datetime

from app.errors import TemporaryPortError
from workers.adapters.kubernetes.answers import Answer, Right, error_of, shortened
from workers.ports import Refusal

EVICT = Right("create", "pods/eviction")
SEVERAL_BUDGETS = "more than one PodDisruptionBudget"
# The API server says it in one of two ways, by where it notices.
_OTHER_UID = re.compile(r"UID in (the )?precondition")
NAMESPACE_ENDS = "NamespaceTerminating"
_BUDGET = re.compile(r"^The disruption budget (\S+) (.+)$")
_ONE_POD = re.compile(r"\b1 healthy pods ")


def refusal_of(answer: Answer, namespace: str, name: str, now: datetime) -> Refusal | None:
    """None when the pod is told to end or is gone, a refusal when it stays although all was asked for rightly.

    Raises:
        TemporaryPortError: throttled, changed meanwhile, or the server failed.
        PermanentPortError: the right is missing, or the server does not understand us.
    """
    status = answer.status
    message = status.message or ""
    if answer.ok or answer.code == 404:
        return None
    if answer.code == 409:
        if is_another(answer):
            return None  # Another pod has the name: ours is gone.
        raise TemporaryPortError(f"The eviction of {namespace}/{name} met a change: {shortened(message)}.")
    if answer.code == 429 and (told := _budgets_no(answer)) is not None:
        pause = answer.retry_after
        return Refusal(reason=_sentence(told, namespace, name), retry_at=None if pause is None else now + pause)
    if answer.code == 500 and SEVERAL_BUDGETS in message:
        reason = f"{namespace}/{name} is under more than one PodDisruptionBudget, so it can never be evicted."
        return Refusal(reason=reason, never=True)
    if answer.code == 403 and any(cause.reason == NAMESPACE_ENDS for cause in status.causes):
        return Refusal(reason=f"Namespace {namespace} is being deleted, and {name} with it.")
    raise error_of(answer, EVICT)


def budget_of(answer: Answer) -> str | None:
    """The name of the budget that said no, None when it was not one or it is not named."""
    told = _budgets_no(answer) if answer.code == 429 else None
    found = _BUDGET.match(told.strip()) if told else None
    return found[1] if found else None


def is_another(answer: Answer) -> bool:
    """Whether the pod of that name has another uid by now."""
    return answer.code == 409 and _OTHER_UID.search(answer.status.message or "") is not None


def _budgets_no(answer: Answer) -> str | None:
    """What a budget said, None when it was no budget that refused."""
    status = answer.status
    causes = [cause for cause in status.causes if cause.reason == "DisruptionBudget"]
    return (causes[0].message or status.message or "") if causes else None


def _sentence(message: str, namespace: str, name: str) -> str:
    found = _BUDGET.match(message.strip())
    pod = f"the eviction of {namespace}/{name}"
    if found is None:
        return f"A budget does not allow {pod} now: {shortened(message)}."
    told = _ONE_POD.sub("1 healthy pod ", found[2])  # Kubernetes writes "1 healthy pods"
    return f"Budget {namespace}/{found[1]} does not allow {pod} now: it {shortened(told)}."
