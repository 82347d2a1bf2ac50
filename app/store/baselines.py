"""What nodes measured when they last passed: the peers that a benchmark is compared with."""

from __future__ import annotations

from datetime import timedelta

from app.store.connection import Link
from app.store.documents import micros, read_readable, write
from app.store.keys import BOUNDS, KEYS, plain
from app.store.values import Baseline


class Baselines:
    """`store.baselines`. `key` names what is comparable: product, driver, number of GPUs. Commits write them."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def peers(self, key: str, besides: str) -> tuple[float, ...]:
        """The values of the other nodes in GB/s, ascending."""
        return tuple(sorted(known.gb_s for known in self._of(plain(key)) if known.node != besides))

    def all(self) -> list[Baseline]:
        """Every value, by key and node."""
        keys = self._link.ask("ZRANGE", KEYS["baselines"], 0, -1)
        return sorted((known for key in keys for known in self._of(key)), key=lambda known: (known.key, known.node))

    def _of(self, name: str) -> list[Baseline]:
        return read_readable(Baseline, self._link.ask("HVALS", KEYS["baseline"] + name))


def request(measured: Baseline) -> dict[str, str]:
    """What a node measured, as the scripts take it."""
    forget = measured.at - timedelta(seconds=BOUNDS["baseline_s"])
    times = {"now": str(micros(measured.at)), "forget": str(micros(forget))}
    return {"key": plain(measured.key), "node": measured.node, "document": write(measured), **times}
