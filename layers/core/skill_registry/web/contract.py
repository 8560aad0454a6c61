"""The routes of the HTTP API. ``template.yaml`` gives each to a function; a test compares them."""

from __future__ import annotations

import re

from skill_registry.errors import RegistryError
from skill_registry.web.problems import MethodNotAllowed, RouteNotFound

LIST_ROUTES = ("GET /skills", "POST /check", "GET /openapi.json")
VIEW_ROUTES = (
    "GET /skills/{name}",
    "GET /skills/{name}/bundle",
    "GET /skills/{name}/versions",
    "GET /skills/{name}/diff",
)
UPLOAD_ROUTES = (
    "POST /uploads",
    "POST /uploads/{id}/complete",
    "GET /uploads/{id}",
    "PUT /skills/{name}",
    "DELETE /skills/{name}",
    "POST /skills/{name}/rollback",
    "PATCH /skills/{name}",
    "POST /skills/{name}/purge",
    "POST /skills/{name}/copy",
    "POST /validate",
    "GET /access",
    "PATCH /access",
)
MAINTENANCE_ROUTES = ("POST /maintenance/{task}",)
ROUTES = LIST_ROUTES + VIEW_ROUTES + UPLOAD_ROUTES + MAINTENANCE_ROUTES


def unmatched(method: str, path: str) -> RegistryError:
    """Return the error for a request that no route took: an unknown path, or a wrong method."""
    allowed = tuple(sorted(m for m, template in map(str.split, ROUTES) if _matches(template, path)))
    if not allowed:
        return RouteNotFound(f"There is nothing at `{path[:200]}`.")
    return MethodNotAllowed(
        f"`{method}` is not possible here; use {' or '.join(allowed)}.", allowed=allowed
    )


def _matches(template: str, path: str) -> bool:
    pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template))
    return re.fullmatch(pattern, path) is not None
