"""Orders on pages: each is a page that says what it would do to which node, and a form; nothing here needs JavaScript.

A form is believed only with its proof (`app.web.sessions`), and counts only while the operation is still at what the
page showed. After the act the browser is sent back to a page that shows what is then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flask import Blueprint, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as Redirect

from app.domain.operations import Operation
from app.domain.people import ORDERS, OrderRefusedError, give
from app.domain.timeline import counted
from app.resuming import GOING_ON
from app.web import lanes
from app.web.actions import BODY_LIMIT, NOTHING_STANDS, pause_all, resume_all
from app.web.api import load_operation
from app.web.choices import Choice, choice
from app.web.doors import require_own_form, require_person, unstored
from app.web.orders import LONGEST_REASON, Meant, fit_reason, order_of
from app.web.pages import page_values
from app.web.parts import parts
from app.web.problems import Problem

blueprint = Blueprint("acts", __name__)
blueprint.after_request(unstored)

NO_REASON: Final = "Say why: the reason stands in the record with your name."
PAUSING: Final = (
    "No step that hurts begins on any node, no cordon included. What has begun is proven and given back, and alerts "
    "are still taken in."
)


@blueprint.route(f"/operations/<operation_id>/<any({','.join(ORDERS)}):order>", methods=["GET", "POST"])
def order(operation_id: str, order: str) -> tuple[str, int] | Redirect:
    """Ask for the reason, then give this order."""
    person = require_person()
    known = load_operation(operation_id)
    offered = _offered(known, order)
    if request.method == "GET":
        return _confirm(known, offered)
    _own_form(person.name)
    try:
        reason = fit_reason(request.form.get("reason"), NO_REASON)
        _require_typed(offered, known.node.name)
        meant = Meant(request.form.get("about", ""))
        order_of(operation_id, order, actor=person.name, reason=reason, meant=meant)
    except Problem as problem:
        if problem.status not in {400, 409}:
            raise
        return _confirm(load_operation(operation_id), _offered(known, order), problem)
    return _back(url_for("pages.operation", operation_id=operation_id))


@blueprint.route("/pause", methods=["GET", "POST"])
def pause() -> tuple[str, int] | Redirect:
    """Ask for the reason, then pause Sickbay."""
    return _for_all("Pause Sickbay", "pause", (PAUSING,), pause_all, "")


@blueprint.route("/resume", methods=["GET", "POST"])
def resume() -> tuple[str, int] | Redirect:
    """Say what holds everything, ask for the reason, then lift it."""
    here = parts()
    standing, tripped = here.store.standing.read(), here.store.breaker.sentence(here.policy.breaker)
    pause = standing.pause
    held, _ = here.store.operations.page(states=GOING_ON, limit=1_000)
    told = [sentence for sentence in (pause and pause.sentence, tripped) if sentence]
    if not told:
        told.append(NOTHING_STANDS)
    told.append(f"{counted(len(held), 'operation')} in progress or held: each is looked at again at once.")
    if tripped:
        told.append("Those that did nothing yet, and whose alerts have all ended meanwhile, are dropped.")

    def lift(actor: str, reason: str) -> object:
        return resume_all(actor, reason, request.form.get("about", ""))

    return _for_all("Resume", "resume", told, lift, standing.about)


def _for_all(
    title: str, act: str, effects: Sequence[str], does: Callable[[str, str], object], about: str
) -> tuple[str, int] | Redirect:
    person = require_person()
    problem = None
    if request.method == "POST":
        _own_form(person.name)
        try:
            does(person.name, fit_reason(request.form.get("reason"), NO_REASON))
        except Problem as error:
            problem = error
        else:
            return _back(url_for("pages.overview"))
    return _page(
        "confirm.html", problem, title=title, act=act, effects=effects, about=about, offered=None, operation=None
    )


def _offered(known: Operation, order: str) -> Choice:
    now = parts().now()
    offered = choice(known, order, now)
    if offered is None:
        try:
            give(known, order, actor="", reason="", now=now)
        except OrderRefusedError as error:
            raise Problem(409, str(error)) from error
        raise AssertionError(order)
    return offered


def _require_typed(offered: Choice, node: str) -> None:
    if offered.typed and request.form.get("node", "").strip() != node:
        raise Problem(400, f"Type the node's name, {node}, to show that you mean this one.")


def _confirm(known: Operation, offered: Choice, problem: Problem | None = None) -> tuple[str, int]:
    return _page(
        "confirm.html",
        problem,
        title=f"{offered.label} on {known.node.name}" if offered.order != "cancel" else f"Cancel on {known.node.name}",
        act=offered.label,
        effects=(offered.effect,),
        about=offered.about,
        offered=offered,
        operation=known,
        row=lanes.row(known),
    )


def _page(template: str, problem: Problem | None, **values: Any) -> tuple[str, int]:
    refused = problem.detail if problem else ""
    typed = {name: request.form.get(name, "") for name in ("reason", "node")}
    shown = page_values(refused=refused, typed=typed, longest=LONGEST_REASON, came_from=_origin(), **values)
    return render_template(template, **shown), problem.status if problem else 200


def _own_form(name: str) -> None:
    request.max_content_length = BODY_LIMIT
    require_own_form(name)


def _origin() -> str:
    return "overview" if request.values.get("from") == "overview" else ""


def _back(page: str) -> Redirect:
    return redirect(url_for("pages.overview") if _origin() else page, 303)
