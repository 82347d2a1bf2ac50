"""The most GPUs that each node was seen with while it was well, by its uid: a recreated node begins anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.domain.facts import NodeView
from app.domain.gpu_counts import gpus_if_well
from app.store.connection import Link
from app.store.keys import KEYS


class GpuCounts:
    """`store.gpu_counts`. The watch writes it with the inventory; it only grows while a node exists."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def saw(self, nodes: Iterable[NodeView]) -> None:
        """Remember those that are well; forget nodes that are not there any more. No nodes at all is no news."""
        there = {node.uid: gpus_if_well(node) for node in nodes}
        if not there:
            return
        gone = set(self._link.ask("ZRANGE", KEYS["gpu_counts"], 0, -1)) - there.keys()
        commands: list[Sequence[str | int]] = [
            ("ZADD", KEYS["gpu_counts"], "GT", gpus, uid) for uid, gpus in there.items() if gpus is not None
        ]
        if gone:
            commands.append(("ZREM", KEYS["gpu_counts"], *sorted(gone)))
        self._link.ask_all(commands)

    def when_well(self, uid: str) -> int | None:
        """How many GPUs the node has when it is well; None when it was never seen so."""
        told = self._link.ask("ZSCORE", KEYS["gpu_counts"], uid)
        return None if told is None else int(float(told))
