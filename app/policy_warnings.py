"""What a good policy file allows and hardly anybody means. Nothing of it is refused: `sickbay check-config` tells it.

What is refused stands in `app.policy_checks`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from app.domain.policies import Ladder, Policy
from app.domain.timeline import counted
from app.yaml_records import Objection, below

TICKET = "ticket"


def warnings(policy: Policy) -> Iterator[Objection]:
    """Each with its place from the root of the file, what follows from it, and what would change that."""
    places = list(_ticket_rungs(policy))
    if policy.tickets.system is None and places:
        first, *others = places
        elsewhere = f", here and on {counted(len(others), 'other ladder')}" if others else ""
        problem = f"No ticket can be opened: at this rung a person is asked{elsewhere}."
        yield Objection(first, problem, "Set `tickets.system`, or take `ticket` off the ladders.")


def _ticket_rungs(policy: Policy) -> Iterator[str]:
    """Where a ladder has the rung that some pool may take."""
    able = [pool for pool in policy.pools if TICKET in pool.capabilities]
    for place, pool in enumerate(policy.pools):
        if pool in able:
            yield from _in_ladders(f"pools[{place}].ladders", pool.ladders.items())
            yield from _in_ladders(f"pools[{place}].faults", pool.faults.items())
    if able:
        yield from _in_ladders("ladders", policy.ladders.items())
        yield from _in_ladders("faults", policy.faults.items())


def _in_ladders(path: str, ladders: Iterable[tuple[str, Ladder | None]]) -> Iterator[str]:
    for key, ladder in ladders:
        for place, rung in enumerate(ladder or ()):
            if rung.rung == TICKET:
                yield f"{path}{below(key)}[{place}]"
