"""Signing in and out on the pages, for sites without a proxy that does it: who has an API token shows it once."""

from __future__ import annotations

from typing import Final

import structlog
from flask import Blueprint, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as Redirect

from app.secret_files import LONGEST_NAME, holder, read_named_tokens
from app.web import sessions
from app.web.actions import BODY_LIMIT
from app.web.doors import require_own_form, unstored
from app.web.identity import looking, name_in, of_token
from app.web.pages import page_values
from app.web.parts import parts
from app.web.problems import Problem

log = structlog.get_logger(__name__)
blueprint = Blueprint("entrance", __name__)
blueprint.after_request(unstored)

STRANGER: Final = ""
"""Whom the form of signing in is shown to."""


@blueprint.route("/sign-in", methods=["GET", "POST"])
def sign_in() -> tuple[str, int] | Redirect:
    """Ask for a token, then begin a session."""
    tokens = parts().api_tokens
    if tokens is None:
        raise Problem(404, "Nobody signs in here: no API token is configured (SICKBAY_API_TOKEN_FILE).")
    accepted = read_named_tokens(tokens)
    if request.method == "GET":
        return _form("", 200)
    request.max_content_length = BODY_LIMIT
    require_own_form(STRANGER)
    token = holder(request.form.get("token", "").strip().encode(), accepted)
    if token is None:
        log.warning("sign-in refused", remote=request.remote_addr)
        return _form("This token is not one of those accepted here.", 401)
    name = name_in(request.form.get("name", ""))
    if not (token.name or name):
        return _form("Say who you are: this token does not.", 400)
    log.info("signed in", actor=of_token(token, name).name)
    answer = redirect(_onward(), 303)
    sessions.begin(answer, token, name)
    return answer


@blueprint.post("/sign-out")
def sign_out() -> Redirect:
    """End the session."""
    request.max_content_length = BODY_LIMIT
    person = looking()
    require_own_form(person.name if person else STRANGER)
    answer = redirect(url_for("pages.overview"), 303)
    sessions.end(answer)
    return answer


def _form(refused: str, status: int) -> tuple[str, int]:
    shown = page_values(refused=refused, onward=_onward(), name=request.form.get("name", ""), longest=LONGEST_NAME)
    return render_template("sign-in.html", **shown), status


def _onward() -> str:
    """Where to go afterwards: a path of this site, whatever the form says."""
    path = request.values.get("onward", "/")
    plain = path.isascii() and path.isprintable() and "\\" not in path
    return path if plain and path.startswith("/") and not path.startswith("//") else "/"
