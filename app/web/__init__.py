"""The web process: receiver, API, pages and health, as one Flask application over the store. It has no cluster rights.

    app = create_app(Parts(store=…, queues=…, policy=…, catalogue=…, webhook_tokens=…))

One blueprint an area; each reads its `Parts` through `app.web.parts.parts`. docs/reference/http.md has the routes.
"""

from __future__ import annotations

from typing import Final

from flask import Flask, Response
from jinja2 import StrictUndefined

from app.web.parts import Parts

PROTECTION: Final = {
    # Nothing inline and nothing from elsewhere: a label of an alert that found its way into a page stays text.
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}

__all__ = ["Parts", "create_app"]


def create_app(given: Parts) -> Flask:
    """The application. Nothing is read or connected yet: the store may still be starting."""
    from app.web import actions, acts, api, entrance, health, identity, lanes, pages, problems, sessions, webhook  # noqa: PLC0415 - they need the parts above

    app = Flask(__name__)
    app.config["MAX_CONTENT_LENGTH"] = given.body_limit
    app.json.sort_keys = False  # type: ignore[attr-defined]  # the order of docs/reference/http.md is easier to read
    app.extensions["sickbay"] = given
    given.metrics.registry.register(given.fleet)
    for area in (webhook, api, actions, pages, acts, entrance, health):
        app.register_blueprint(area.blueprint)
    problems.register(app)
    app.jinja_env.undefined = StrictUndefined
    app.jinja_env.globals.update(
        brief=lanes.brief,
        looking=identity.looking,
        form_proof=sessions.form_proof,
        outside_links=lambda: given.links,
        may_sign_in=lambda: given.api_tokens is not None,
    )
    app.jinja_env.tests["web_link"] = _is_web_link
    app.after_request(_protected)
    return app


def _protected(response: Response) -> Response:
    response.headers.extend(PROTECTION)
    return response


def _is_web_link(url: str) -> bool:
    """Whether an address that somebody else gave may be a link: a ticket system's answer could hold anything."""
    return url.startswith(("https://", "http://"))
