"""Which node an alert speaks of. A single match is a place; none, several or a contradiction is doubt (P1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

NAME_LABELS = ("Hostname", "hostname", "node", "kubernetes_node", "nodename", "exported_node", "exported_hostname")
"""Labels that carry a node's name in some fleet's rules; dcgm-exporter itself writes Hostname or hostname."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownNode:
    """A node of the inventory with everything it may be called by: name, host name and addresses."""

    name: str
    uid: str
    addresses: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """The nodes, and which node each exporter pod (`namespace/name`) runs on now.

    What they are called by is gathered once: thousands of alerts are placed by one inventory.
    """

    nodes: tuple[KnownNode, ...] = ()
    exporter_pods: Mapping[str, str] = field(default_factory=dict)
    by_name: Mapping[str, KnownNode] = field(init=False, repr=False, compare=False)
    by_spelling: Mapping[str, frozenset[str]] = field(init=False, repr=False, compare=False)
    """What a node may be called by, folded, to the names of those called so."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {node.name: node for node in self.nodes})
        object.__setattr__(self, "by_spelling", _spelt(self.nodes))


@dataclass(frozen=True, slots=True)
class Placed:
    """Exactly this node."""

    node: KnownNode


@dataclass(frozen=True, slots=True)
class NotPlaced:
    """No node, for this reason. `conflict`: the labels contradict each other or fit several nodes, which stays so."""

    reason: str
    conflict: bool = False


def place(labels: Mapping[str, str], inventory: Inventory) -> Placed | NotPlaced:
    """The one node these labels name by name, host name, address or exporter pod."""
    known = inventory.by_spelling
    claims = {label: known.get(value, frozenset()) for label, value in _spellings(labels)}
    pod = inventory.exporter_pods.get(f"{labels.get('namespace', '')}/{labels.get('pod', '')}")
    if pod is not None:
        claims["pod"] = known.get(_folded(pod), frozenset())
    claims = {label: names for label, names in claims.items() if names}
    if not claims:
        return NotPlaced(f"no node is known by {_quoted(labels)}")
    common = frozenset.intersection(*claims.values())
    if len(common) == 1:
        (name,) = common
        return Placed(inventory.by_name[name])
    if common:
        return NotPlaced(f"{_quoted(labels)} fits {' and '.join(sorted(common))}", conflict=True)
    told = "; ".join(f"{label} means {' or '.join(sorted(names))}" for label, names in sorted(claims.items()))
    return NotPlaced(f"the labels contradict each other: {told}", conflict=True)


def _spelt(nodes: Iterable[KnownNode]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for node in nodes:
        for spelling in {_folded(node.name), *(_folded(address) for address in node.addresses)}:
            found[spelling] = found.get(spelling, frozenset()) | {node.name}
    found.pop("", None)
    return found


def _spellings(labels: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    for label in NAME_LABELS:
        if labels.get(label):
            yield label, _folded(labels[label])
    if labels.get("instance"):
        yield "instance", _folded(_without_port(labels["instance"]))


def _folded(name: str) -> str:
    return name.strip().rstrip(".").casefold()


def _without_port(address: str) -> str:
    if address.startswith("["):
        return address[1:].partition("]")[0]
    host, _, port = address.rpartition(":")
    return host if host and port.isdigit() and ":" not in host else address


def _quoted(labels: Mapping[str, str]) -> str:
    given = [f"{name}={labels[name]!r:.80}" for name in (*NAME_LABELS, "instance") if labels.get(name)]
    return ", ".join(given) if given else "an alert without a node label"
