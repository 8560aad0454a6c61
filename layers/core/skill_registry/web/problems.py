"""Errors as ``application/problem+json`` (RFC 9457): the only place that maps them to statuses."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from skill_registry.errors import (
    Conflict,
    Forbidden,
    Gone,
    NotFound,
    RegistryError,
    RequestInvalid,
    SkillInvalid,
    TooLarge,
    TooManyUploads,
    Unauthenticated,
    Unavailable,
    VersionConflict,
)
from skill_registry.web.http import Response

PROBLEM = "application/problem+json"

# The first class that an error is an instance of decides.
_STATUSES: tuple[tuple[type[RegistryError], HTTPStatus], ...] = (
    (RequestInvalid, HTTPStatus.BAD_REQUEST),
    (SkillInvalid, HTTPStatus.UNPROCESSABLE_ENTITY),
    (TooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (TooManyUploads, HTTPStatus.TOO_MANY_REQUESTS),
    (NotFound, HTTPStatus.NOT_FOUND),
    (Gone, HTTPStatus.GONE),
    (VersionConflict, HTTPStatus.PRECONDITION_FAILED),
    (Conflict, HTTPStatus.CONFLICT),
    (Forbidden, HTTPStatus.FORBIDDEN),
    (Unauthenticated, HTTPStatus.UNAUTHORIZED),
    (Unavailable, HTTPStatus.SERVICE_UNAVAILABLE),
)


class MethodNotAllowed(RegistryError):
    """The path is known, the method is not. ``allowed`` are those that are."""

    code = "method_not_allowed"

    def __init__(self, message: str, *, allowed: tuple[str, ...]) -> None:
        super().__init__(message)
        self.allowed = allowed


class RouteNotFound(NotFound):
    """The registry has no such path."""

    code = "route_not_found"


def status_of(error: RegistryError) -> HTTPStatus:
    """Return the HTTP status of an error."""
    if isinstance(error, MethodNotAllowed):
        return HTTPStatus.METHOD_NOT_ALLOWED
    for kind, status in _STATUSES:
        if isinstance(error, kind):
            return status
    return HTTPStatus.INTERNAL_SERVER_ERROR


def problem(error: RegistryError, request_id: str = "") -> Response:
    """Answer with an error: its code, what to do, and every diagnostic that it carries."""
    status = status_of(error)
    document: dict[str, Any] = {
        "type": f"urn:skill-registry:problem:{error.code}",
        "title": status.phrase,
        "status": status.value,
        "code": error.code,
        "detail": error.message,
    }
    if request_id:
        document["instance"] = f"urn:skill-registry:request:{request_id}"
    if isinstance(error, SkillInvalid):
        document["diagnostics"] = [d.to_dict() for d in error.diagnostics]
    if isinstance(error, NotFound) and error.available:
        document["available"] = list(error.available)
    if isinstance(error, VersionConflict):
        document["current"] = error.current
    headers = {"cache-control": "no-store"}
    if isinstance(error, Unavailable | TooManyUploads):
        headers["retry-after"] = str(error.retry_after)
    if isinstance(error, MethodNotAllowed):
        headers["allow"] = ", ".join(error.allowed)
    return Response(status.value, json.dumps(document, ensure_ascii=False), PROBLEM, headers)
