"""The bodies of kind `Status` in which the API server says no, worded as the real one words them.

Source: k8s.io/apimachinery, pkg/api/errors/errors.go.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from simulator.api.kinds import Kind


class Refused(Exception):
    """A request that the API server answers with a Status; `body` is that object, `code` the HTTP code."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.headers = headers or {}
        self.body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
        }
        if reason:
            self.body["reason"] = reason
        if details is not None:
            self.body["details"] = details
        self.body["code"] = code


def success(code: int = 200, details: dict[str, Any] | None = None) -> dict[str, Any]:
    """The Status of an act that has no object to return; `details` is left out where the real server does."""
    body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details is not None:
        body["details"] = details
    if code != HTTPStatus.OK:
        body["code"] = code
    return body


def details_of(kind: Kind, name: str) -> dict[str, Any]:
    """Which object a Status is about."""
    group = {"group": kind.group} if kind.group else {}
    return {"name": name, **group, "kind": kind.plural}


def not_found(kind: Kind, name: str) -> Refused:
    """There is no object of that name."""
    return Refused(404, "NotFound", f'{kind.qualified} "{name}" not found', details_of(kind, name))


def no_such_path() -> Refused:
    """Nothing is served at the path."""
    return Refused(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(kind: Kind, name: str) -> Refused:
    """The name is taken."""
    return Refused(409, "AlreadyExists", f'{kind.qualified} "{name}" already exists', details_of(kind, name))


def forbidden(kind: Kind, name: str, why: str) -> Refused:
    """Admission says no."""
    return Refused(403, "Forbidden", f'{kind.qualified} "{name}" is forbidden: {why}', details_of(kind, name))


def conflict(kind: Kind, name: str, why: str) -> Refused:
    """The object is not what the request took it for; `why` says in which way."""
    return Refused(
        409, "Conflict", f'Operation cannot be fulfilled on {kind.qualified} "{name}": {why}', details_of(kind, name)
    )


def precondition_failed(kind: Kind, name: str, why: str) -> Refused:
    """The object of a deletion is not the one that was meant. The server names its kind here, not its resource."""
    about = {**details_of(kind, name), "kind": kind.kind}
    return Refused(409, "Conflict", f'Operation cannot be fulfilled on {kind.kind} "{name}": {why}', about)


def modified(kind: Kind, name: str) -> Refused:
    """The resourceVersion in the request is not the current one."""
    return conflict(
        kind,
        name,
        "the object has been modified; please apply your changes to the latest version and try again",
    )


def invalid(kind: Kind, name: str, field: str, why: str) -> Refused:
    """One field of the object is wrong."""
    group = {"group": kind.group} if kind.group else {}
    details = {
        "name": name,
        **group,
        "kind": kind.kind,
        "causes": [{"reason": "FieldValueInvalid", "message": why, "field": field}],
    }
    qualified = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    return Refused(422, "Invalid", f'{qualified} "{name}" is invalid: {field}: {why}', details)


def bad_request(why: str) -> Refused:
    """The request cannot be understood."""
    return Refused(400, "BadRequest", why)


def unauthorized() -> Refused:
    """The token is missing or unknown."""
    return Refused(401, "Unauthorized", "Unauthorized")


def method_not_allowed() -> Refused:
    """The resource has no such verb."""
    return Refused(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def expired(message: str) -> Refused:
    """The resourceVersion is older than the history."""
    return Refused(410, "Expired", message)


def unsupported_patch() -> Refused:
    """A patch of another kind than a merge patch."""
    return Refused(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: application/merge-patch+json",
    )


def too_large_version(asked: int, current: int) -> Refused:
    """The resourceVersion lies in the future."""
    return Refused(
        504,
        "Timeout",
        f"Too large resource version: {asked}, current: {current}",
        {
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        },
    )


def over_budget(message: str, retry_after_s: int = 0) -> Refused:
    """An eviction that a PodDisruptionBudget forbids now.

    Source: k8s.io/kubernetes, pkg/registry/core/pod/storage/eviction.go.
    """
    details: dict[str, Any] = {"causes": [{"reason": "DisruptionBudget", "message": message}]}
    headers = {}
    if retry_after_s:
        details["retryAfterSeconds"] = retry_after_s
        headers["Retry-After"] = str(retry_after_s)
    return Refused(
        429,
        "TooManyRequests",
        "Cannot evict pod as it would violate the pod's disruption budget.",
        details,
        headers,
    )
