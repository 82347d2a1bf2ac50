"""Errors as RFC 9457 problem documents: a sentence that says what is wrong, and where. Pages show the same words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Final

import structlog
from flask import Flask, Response, jsonify, render_template, request
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from app.errors import ConfigurationError, StoreUnavailable
from app.store import NewerDocumentError, UnreadableDocumentError
from app.web.identity import known_without_store

log = structlog.get_logger(__name__)

MEDIA_TYPE: Final = "application/problem+json"
RETRY_AFTER_S: Final = 5
_FOR_MACHINES: Final = ("/api/", "/webhook/", "/healthz", "/readyz", "/metrics")


class Problem(Exception):
    """Ends a request with this status and sentence. `pointer` is a JSON pointer to the member that is wrong.

    `also` are further members of its document.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        pointer: str = "",
        headers: Sequence[tuple[str, str]] = (),
        also: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.pointer = pointer
        self.headers = headers
        self.also = also or {}


def document(problem: Problem) -> Response:
    """The problem as its JSON document."""
    told: dict[str, object] = {
        "type": "about:blank",
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "detail": problem.detail,
        "instance": request.path,
        **problem.also,
    }
    if problem.pointer:
        told["errors"] = [{"detail": problem.detail, "pointer": problem.pointer}]
    response = jsonify(told)
    response.content_type = MEDIA_TYPE
    return _finished(response, problem)


def register(app: Flask) -> None:
    """Make every error of this application such an answer."""
    app.register_error_handler(Problem, _answer)
    app.register_error_handler(HTTPException, lambda error: _answer(_of_http(error)))
    app.register_error_handler(StoreUnavailable, _not_stored)
    app.register_error_handler(NewerDocumentError, _not_ours)
    app.register_error_handler(UnreadableDocumentError, _not_ours)
    app.register_error_handler(ConfigurationError, _misconfigured)
    app.register_error_handler(Exception, _defect)


def _answer(problem: Problem) -> Response:
    if request.path.startswith(_FOR_MACHINES):
        return document(problem)
    page = render_template("problem.html", status=problem.status, detail=problem.detail, path=request.path)
    return _finished(Response(page, mimetype="text/html"), problem)


def _finished(response: Response, problem: Problem) -> Response:
    response.status_code = problem.status
    response.headers.extend(list(problem.headers))
    if problem.status == 503:
        response.headers["Retry-After"] = str(RETRY_AFTER_S)
    return response


def _of_http(error: HTTPException) -> Problem:
    status = error.code or 500
    if isinstance(error, RequestEntityTooLarge):
        return too_large(request.max_content_length or 0)
    if status == 404:
        return Problem(404, f"Nothing is at {request.path[:200]}.")
    allowed = [(name, value) for name, value in error.get_headers() if name.lower() == "allow"]
    return Problem(status, error.description or HTTPStatus(status).phrase, headers=allowed)


def too_large(limit: int) -> Problem:
    """A body beyond the limit."""
    return Problem(413, f"The body is larger than {limit} bytes, the limit here.")


def _not_stored(error: StoreUnavailable) -> Response:
    log.warning("store unavailable", path=request.path, reason=str(error))
    known_without_store()
    return _answer(Problem(503, str(error)))


def _not_ours(error: NewerDocumentError | UnreadableDocumentError) -> Response:
    log.error("document not readable", path=request.path, reason=str(error))
    return _answer(Problem(503, str(error)))


def _misconfigured(error: ConfigurationError) -> Response:
    # Which file it is stands in the log; a stranger at the door need not know.
    log.error("misconfigured", path=request.path, reason=str(error))
    return _answer(Problem(503, "Sickbay is misconfigured here; its log says where."))


def _defect(error: Exception) -> Response:
    log.error("defect", path=request.path, exc_info=error)
    return _answer(Problem(500, "This is a defect of Sickbay; its log holds the details."))
