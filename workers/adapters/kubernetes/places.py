"""Fresh reads for placing an alert that the stored inventory could not place."""

from __future__ import annotations

from app.domain.placement import Inventory, KnownNode
from workers.adapters.kubernetes.answers import Right
from workers.adapters.kubernetes.client import Client
from workers.adapters.kubernetes.lists import read_list
from workers.adapters.kubernetes.nodes import KubernetesNodes
from workers.adapters.kubernetes.pods import PATH, PODS
from workers.exporter_pods import EXPORTER_LABELS


class KubernetesPlaces:
    """The port `Places`."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._nodes = KubernetesNodes(client)

    def inventory(self) -> Inventory:
        """All nodes and exporter pods as they are now. One small list for each label an exporter may carry."""
        known = tuple(
            KnownNode(name=node.name, uid=node.uid, addresses=node.addresses, labels=node.labels)
            for node in self._nodes.all()
        )
        exporters: dict[str, str] = {}
        for label, value in EXPORTER_LABELS.items():
            query = {"labelSelector": f"{label}={value}"}
            pods, _ = read_list(self._client, PATH, Right("list", "pods"), PODS, query)
            exporters |= {f"{pod.metadata.namespace}/{pod.metadata.name}": pod.view().node for pod in pods}
        return Inventory(nodes=known, exporter_pods={pod: node for pod, node in exporters.items() if node})
