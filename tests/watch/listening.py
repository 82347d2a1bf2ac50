"""Callbacks that remember what the streams told, and waiting for it without sleeping."""

from __future__ import annotations

import threading
from collections.abc import Callable

from app.domain.facts import NodeView

PATIENCE_S = 60.0


class Listener:
    """Keeps nudges and the last inventory."""

    def __init__(self) -> None:
        self.nudges: list[tuple[str, str]] = []
        self.inventories = 0
        self.nodes: dict[str, NodeView] = {}
        self.exporter_pods: dict[str, str] = {}
        self._told = threading.Condition()

    def nudge(self, node: str, why: str) -> None:
        with self._told:
            self.nudges.append((node, why))
            self._told.notify_all()

    def inventory(self, nodes: tuple[NodeView, ...], exporter_pods: dict[str, str]) -> None:
        with self._told:
            self.inventories += 1
            self.nodes = {node.name: node for node in nodes}
            self.exporter_pods = exporter_pods
            self._told.notify_all()

    def hears(self, condition: Callable[[], bool]) -> bool:
        """Whether the condition comes true; it is asked after each word."""
        with self._told:
            return self._told.wait_for(condition, timeout=PATIENCE_S)

    def hears_nudge(self, node: str, words: str) -> bool:
        """Whether a nudge for that node says these words."""
        return self.hears(lambda: any(node == of and words in why for of, why in self.nudges))
