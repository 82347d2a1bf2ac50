"""The resources that are served, and what is peculiar to each. What verbs do with them is in `writes`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One resource: `group` is empty for the core API; `status` and `counted` say whether it has those fields."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    status: bool = True  # has a `status` subresource, so that a plain write cannot change it
    counted: bool = True  # has a metadata.generation that counts changes of the spec
    singular: str = ""
    short: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        """As objects name it: `v1` or `batch/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """As messages name it: `pods` or `jobs.batch`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def prefix(self) -> bytes:
        """How every encoded object of this kind begins; objects inside a list leave it out."""
        return f'{{"kind":"{self.kind}","apiVersion":"{self.api_version}",'.encode()


NODES = Kind(group="", version="v1", plural="nodes", kind="Node", namespaced=False, counted=False, short=("no",))
PODS = Kind(group="", version="v1", plural="pods", kind="Pod", short=("po",))
EVENTS = Kind(group="", version="v1", plural="events", kind="Event", status=False, counted=False, short=("ev",))
NAMESPACES = Kind(group="", version="v1", plural="namespaces", kind="Namespace", namespaced=False, counted=False)
SERVICE_ACCOUNTS = Kind(
    group="", version="v1", plural="serviceaccounts", kind="ServiceAccount", status=False, counted=False
)
CONFIG_MAPS = Kind(group="", version="v1", plural="configmaps", kind="ConfigMap", status=False, counted=False)
BUDGETS = Kind(group="policy", version="v1", plural="poddisruptionbudgets", kind="PodDisruptionBudget", short=("pdb",))
JOBS = Kind(group="batch", version="v1", plural="jobs", kind="Job")
DAEMON_SETS = Kind(group="apps", version="v1", plural="daemonsets", kind="DaemonSet", short=("ds",))
DEPLOYMENTS = Kind(group="apps", version="v1", plural="deployments", kind="Deployment", short=("deploy",))
REPLICA_SETS = Kind(group="apps", version="v1", plural="replicasets", kind="ReplicaSet", short=("rs",))
STATEFUL_SETS = Kind(group="apps", version="v1", plural="statefulsets", kind="StatefulSet", short=("sts",))
RUNTIME_CLASSES = Kind(
    group="node.k8s.io",
    version="v1",
    plural="runtimeclasses",
    kind="RuntimeClass",
    namespaced=False,
    status=False,
    counted=False,
)

ALL = (
    NODES,
    PODS,
    EVENTS,
    NAMESPACES,
    SERVICE_ACCOUNTS,
    CONFIG_MAPS,
    BUDGETS,
    JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    REPLICA_SETS,
    STATEFUL_SETS,
    RUNTIME_CLASSES,
)

# (group, version, plural) as they stand in the path. events.k8s.io serves the core Events in its own form.
BY_PATH: dict[tuple[str, str, str], Kind] = {(kind.group, kind.version, kind.plural): kind for kind in ALL}
BY_PATH["events.k8s.io", "v1", "events"] = EVENTS
