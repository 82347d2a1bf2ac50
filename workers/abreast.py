"""Evictions of one intent, asked for side by side: each is one call, and each pod has its own grace to end in.

One after the other, a node with many pods would take as many round trips before the last of them is told to end. Every
other effect is done alone, in its order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

from app.domain.effects import Effect, EvictPod
from workers.acts import perform
from workers.ports import Ports

AT_ONCE = 8
"""Calls under way at once for one node; with the operations that a job advances together, as many as the client keeps
connections."""

Answer = Callable[[], Mapping[str, str]]
"""Gives what the effect answered, or raises what it raised."""


def groups(effects: Sequence[Effect], most: int) -> Iterator[tuple[Effect, ...]]:
    """The effects in order, evictions that follow one another together, no more than `most`."""
    group: list[Effect] = []
    for effect in effects:
        if group and not (len(group) < most and isinstance(effect, EvictPod) and isinstance(group[-1], EvictPod)):
            yield tuple(group)
            group = []
        group.append(effect)
    if group:
        yield tuple(group)


def perform_together(group: tuple[Effect, ...], ports: Ports, now: datetime) -> tuple[Answer, ...]:
    """What each of them answered, once all have. One alone is done in this thread, when its answer is asked for."""
    if len(group) == 1:
        return (lambda: perform(group[0], ports, now),)
    with ThreadPoolExecutor(len(group), thread_name_prefix="evict") as threads:
        asked = [threads.submit(perform, effect, ports, now) for effect in group]
    return tuple(each.result for each in asked)
