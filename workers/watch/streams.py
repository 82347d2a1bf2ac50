"""All that a watch process follows: nodes, pods and node jobs, as nudges and as an inventory. Callbacks only, no store.

    streams = Streams(feeds, on_nudge=..., on_inventory=...)
    streams.start()
    ...
    streams.stop()

Callbacks come from several threads. What they raise as SickbayError is logged and not repeated: a nudge is a hint,
and the inventory is told again within half a minute.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import structlog

from app.domain.facts import NodeView
from app.domain.marks import ANNOTATION
from app.errors import SickbayError
from workers.watch import nudges
from workers.watch.nudges import Nudge
from workers.watch.seen import Feeds, SeenNodeJob, SeenPod
from workers.watch.stream import Pace, Stream

OnNudge = Callable[[str, str], None]
"""Gets a node's name and why its operation should be looked at."""
OnInventory = Callable[[tuple[NodeView, ...], dict[str, str]], None]
"""Gets every node as it is now, and exporter pods (`namespace/name`) to the node that each runs on."""

log = structlog.get_logger("sickbay.watch")


class Streams:
    """The streams, and the thread that tells the inventory: at start, soon after a change, and every half minute."""

    def __init__(self, feeds: Feeds, *, on_nudge: OnNudge, on_inventory: OnInventory, pace: Pace | None = None) -> None:
        self._pace = pace or Pace()
        self._on_nudge = on_nudge
        self._on_inventory = on_inventory
        self._nodes = Stream("nodes", feeds.nodes, self._node_changed, self._node_found, self._pace)
        self._pods = Stream("pods", feeds.pods, self._pod_changed, self._pod_found, self._pace)
        self._streams: tuple[Stream[Any], ...] = (self._nodes, self._pods)
        if feeds.node_jobs is not None:
            jobs = Stream("node-jobs", feeds.node_jobs, self._node_job_changed, lambda _: None, self._pace)
            self._streams = (*self._streams, jobs)
        self._changed = threading.Event()
        self._stopping = threading.Event()
        self._teller = threading.Thread(target=self._tell, name="sickbay-watch-inventory", daemon=True)

    def start(self) -> None:
        """Begins; returns at once."""
        for stream in self._streams:
            stream.start()
        self._teller.start()

    def stop(self) -> None:
        """Ends every thread and returns when they have ended."""
        self._stopping.set()
        self._changed.set()
        for stream in self._streams:
            stream.stop()
        for stream in self._streams:
            stream.join()
        if self._teller.ident is not None:
            self._teller.join()

    @property
    def alive(self) -> bool:
        """Whether all threads run. One that met an error of our own has ended: the process should too."""
        return self._teller.is_alive() and all(stream.alive for stream in self._streams)

    # What the streams tell

    def _node_found(self, node: NodeView) -> None:
        # What happened to a node that Sickbay holds while nobody watched is not known: it is looked at once.
        self._changed.set()
        if ANNOTATION in node.annotations:
            self._nudge(Nudge(node.name, "the watch has begun"))

    def _node_changed(self, before: NodeView | None, after: NodeView | None) -> None:
        self._changed.set()
        self._nudge(nudges.of_node(before, after))

    def _pod_found(self, pod: SeenPod) -> None:
        if pod.exporter:
            self._changed.set()

    def _pod_changed(self, before: SeenPod | None, after: SeenPod | None) -> None:
        if any(pod.exporter for pod in (before, after) if pod is not None):
            self._changed.set()
        nudge = nudges.of_pod(before, after)
        node = self._nodes.get(nudge.node) if nudge else None
        if node is not None and nudges.has_gpus(node):
            self._nudge(nudge)

    def _node_job_changed(self, before: SeenNodeJob | None, after: SeenNodeJob | None) -> None:
        self._nudge(nudges.of_node_job(before, after))

    def _nudge(self, nudge: Nudge | None) -> None:
        if nudge is None:
            return
        try:
            self._on_nudge(nudge.node, nudge.why)
        except SickbayError as wrong:
            log.warning("nudge lost", node=nudge.node, why=nudge.why, error=str(wrong))

    # The inventory

    def _tell(self) -> None:
        while not self._stopping.is_set():
            if self._changed.wait(self._pace.inventory_every):
                self._stopping.wait(self._pace.debounce)
            if self._stopping.is_set():
                return
            self._changed.clear()
            if not (self._nodes.current and self._pods.current):
                continue
            exporters = {pod.full_name: pod.node for pod in self._pods.items() if pod.exporter and not pod.over}
            try:
                self._on_inventory(self._nodes.items(), exporters)
            except SickbayError as wrong:
                log.warning("inventory not told", error=str(wrong))
