"""What the API server lets this process do, and what it serves: for `sickbay doctor`, which changes nothing.

Every account may ask both (`system:basic-user`, `system:discovery`), so this takes no right of the chart's.
"""

from __future__ import annotations

import msgspec

from app.domain.effects import NodeJob
from app.domain.rights import Need
from workers.adapters.kubernetes.answers import Right, shortened
from workers.adapters.kubernetes.client import Client, segment
from workers.adapters.kubernetes.lists import decoded, read_list
from workers.adapters.kubernetes.manifests import manifest
from workers.adapters.kubernetes.pods import PATH, PODS

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
REVIEW = Right("review", "its own rights")
DISCOVER = Right("discover", "the groups of the API")


class ReviewStatus(msgspec.Struct):
    """The answer."""

    allowed: bool = False


class Review(msgspec.Struct):
    """A SelfSubjectAccessReview."""

    status: ReviewStatus


class Group(msgspec.Struct):
    """One group of the API."""

    name: str


class Groups(msgspec.Struct):
    """All but the core group."""

    groups: list[Group] | None = None


REVIEWED = msgspec.json.Decoder(Review)
GROUPS = msgspec.json.Decoder(Groups)


class KubernetesAccess:
    """The port `Access`."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    def allowed(self, need: Need) -> bool:
        """Whether this process may do that; in the namespace of node jobs if it is for them."""
        attributes = {
            "verb": need.verb,
            "group": need.group,
            "resource": need.resource,
            "subresource": need.subresource,
            "namespace": self._namespace if need.on_node_jobs else "",
        }
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        answer = self._client.expect("POST", REVIEWS, REVIEW, body=body)
        return decoded(REVIEWED, answer.body, REVIEW).status.allowed

    def groups(self) -> frozenset[str]:
        """The groups of the API that are served, those of custom resources among them."""
        answer = self._client.expect("GET", "/apis", DISCOVER)
        return frozenset(group.name for group in decoded(GROUPS, answer.body, DISCOVER).groups or [])

    def nodes_of_pods(self, label: str, value: str) -> frozenset[str]:
        """The nodes on which pods with that label run."""
        query = {"labelSelector": f"{label}={value}"}
        pods, _ = read_list(self._client, PATH, Right("list", "pods"), PODS, query)
        return frozenset(node for pod in pods if (node := pod.view().node))

    def refusal_of(self, job: NodeJob) -> str | None:
        """Why the cluster would not take that node job, None when it would. Nothing is made."""
        path = f"/apis/batch/v1/namespaces/{segment(self._namespace)}/jobs"
        right = Right("create", "jobs")
        answer = self._client.ask("POST", path, right, query={"dryRun": "All"}, body=manifest(job, self._namespace))
        if answer.ok or answer.code == 409:
            return None
        return shortened(answer.status.message or f"the API server answers with {answer.code}")
