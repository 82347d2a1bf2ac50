"""What ladders, and whatever else the policy says by rung, step or fault code, must keep beyond their types.

`app.policy_checks` lists these checks beside those of all other keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Final

from app.domain.plans import repair
from app.domain.policies import Ladder, Mode, Rung, When
from app.domain.xids import XidClass
from app.yaml_records import Objection, below, nearest

STEPS: Final = frozenset(
    {"cordon", "evidence", "drain", repair.WAIT, repair.RELEASE, *repair.VALIDATION, *repair.LIGHT_VALIDATION}
    | set(chain.from_iterable(repair.RUNGS.values()))
)
"""Every step that a plan may have."""
_XID_CODE: Final = re.compile(r"xid-[1-9][0-9]{0,8}")


def rung_name(name: str) -> Iterator[Objection]:
    """A rung that there is."""
    if name not in repair.RUNGS:
        yield Objection("", f"{name!r} is no rung.", nearest(name, repair.RUNGS))


def rung(one: Rung) -> Iterator[Objection]:
    """No limit of a wait where there is none. Whoever writes one expects that running work is left alone."""
    if one.when is When.NOW:
        as_left_out = Rung(rung=one.rung)
        for key in ("deadline", "then"):
            if getattr(one, key) != getattr(as_left_out, key):
                problem = f"`{key}` counts only for a rung that waits, and this one is taken at once."
                yield Objection(below(key), problem, f"Add `when: {When.IDLE}`, or take `{key}` out.")


def capabilities(rungs: tuple[str, ...]) -> Iterator[Objection]:
    """Rungs that there are, each once."""
    for place, name in enumerate(rungs):
        for objection in rung_name(name):
            yield Objection(f"[{place}]", objection.problem, objection.remedy)
        if name in rungs[:place]:
            yield Objection(f"[{place}]", f"{name!r} is listed twice.", "Keep one of the two.")


def ladders(by_class: Mapping[XidClass, Ladder | None]) -> Iterator[Objection]:
    """Of the whole policy or of a pool."""
    for class_, ladder in by_class.items():
        if class_ is XidClass.UNKNOWN and ladder is not None:
            problem = "An Xid that nobody knows is only ever noted, so it has no ladder."
            yield Objection(below(class_), problem, "Name the codes that you know under `faults`.")
        yield from _ladder(below(class_), ladder or ())


def faults(by_code: Mapping[str, Ladder | None]) -> Iterator[Objection]:
    """Of the whole policy or of a pool."""
    yield from _codes(by_code)
    for code, ladder in by_code.items():
        yield from _ladder(below(code), ladder or ())


def fault_modes(by_code: Mapping[str, Mode]) -> Iterator[Objection]:
    """Modes of single codes."""
    yield from _codes(by_code)


def own_acts(by_step: Mapping[str, tuple[str, ...]]) -> Iterator[Objection]:
    """Fault codes by the step that is known to raise them."""
    for step, codes in by_step.items():
        if step not in STEPS:
            yield Objection(below(step), f"{step[:80]!r} is no step of a plan.", nearest(step, sorted(STEPS)))
        for place, code in enumerate(codes):
            at = f"{below(step)}[{place}]"
            if not _XID_CODE.fullmatch(code):
                yield _no_code(at, code)
            elif code in codes[:place]:
                yield Objection(at, f"{code!r} is listed twice.", "Keep one of the two.")


def weights(by_name: Mapping[str, float]) -> Iterator[Objection]:
    """Of fault codes and classes; what an application did never weighs anything."""
    for name, weight in by_name.items():
        if name not in tuple(XidClass) and not _XID_CODE.fullmatch(name):
            remedy = f"{nearest(name, XidClass)} Codes are written like `xid-79`."
            yield Objection(below(name), f"{name[:80]!r} is neither a class of Xids nor a fault code.", remedy)
        if weight < 0:
            yield Objection(below(name), f"{weight:g} would make up for other faults.", "Write 0 or more.")
        elif weight and name == XidClass.APPLICATION:
            problem = "A fault of an application never weighs anything: the card is not to blame."
            yield Objection(below(name), problem, "Take it out.")


def _ladder(where: str, ladder: Ladder) -> Iterator[Objection]:
    """Rungs are taken from the mildest to the gravest, whatever the order in the file, so another order is refused."""
    for place, one in enumerate(ladder):
        at, before = f"{where}[{place}]", ladder[:place]
        graver = next((other.rung for other in before if other.gravity > one.gravity), None)
        if any(other.rung == one.rung for other in before):
            yield Objection(at, f"{one.rung!r} is on this ladder twice.", "No rung is taken twice: keep one.")
        elif graver is not None:
            problem = f"{one.rung!r} is milder than {graver!r} before it, and the mildest rung is always taken first."
            yield Objection(at, problem, f"Write it before `{graver}`.")
        elif before and one.when is When.IDLE:
            problem = "Only the first rung of a ladder can wait until the node is idle."
            yield Objection(at, problem, f"Take `when: {When.IDLE}` out, or give it to `{before[0].rung}`.")


def _codes(codes: Iterable[str]) -> Iterator[Objection]:
    yield from (_no_code(below(code), code) for code in codes if not _XID_CODE.fullmatch(code))


def _no_code(at: str, code: str) -> Objection:
    digits = "".join(re.findall(r"[0-9]", code)).lstrip("0") or "79"
    return Objection(at, f"{code[:80]!r} is no fault code.", f"Write `xid-` and the number: `xid-{digits[:9]}`.")
