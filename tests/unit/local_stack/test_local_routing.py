"""Routes are found by API Gateway's rules."""

from __future__ import annotations

import pytest

from local_stack.routing import RouteTable
from local_stack.template import DEFAULT_ROUTE, Route

ROUTES = (
    Route("ANY", DEFAULT_ROUTE, "rest"),
    Route("GET", "/files/{path+}", "files"),
    Route("GET", "/skills/{name}", "one"),
    Route("GET", "/skills", "list"),
    Route("ANY", "/skills/all", "any"),
    Route("GET", "/skills/all", "all"),
    Route("GET", "/skills/{name}/bundle", "bundle"),
)


@pytest.mark.parametrize(
    ("method", "path", "key", "parameters"),
    [
        ("GET", "/skills", "GET /skills", {}),
        ("GET", "/skills/a b", "GET /skills/{name}", {"name": "a b"}),
        ("GET", "/skills/all", "GET /skills/all", {}),
        ("PUT", "/skills/all", "ANY /skills/all", {}),
        ("GET", "/skills/x/bundle", "GET /skills/{name}/bundle", {"name": "x"}),
        ("GET", "/files/a/b/c", "GET /files/{path+}", {"path": "a/b/c"}),
        ("GET", "/files/", DEFAULT_ROUTE, {}),
        ("GET", "/skills/", DEFAULT_ROUTE, {}),
        ("GET", "/skills//bundle", DEFAULT_ROUTE, {}),
        ("POST", "/skills", DEFAULT_ROUTE, {}),
        ("GET", "/skills/x/bundle/y", DEFAULT_ROUTE, {}),
        ("GET", "/", DEFAULT_ROUTE, {}),
    ],
)
def test_the_most_specific_route_wins(
    method: str, path: str, key: str, parameters: dict[str, str]
) -> None:
    match = RouteTable(ROUTES).find(method, path)
    assert match is not None
    assert (match.route.key, match.parameters) == (key, parameters)


def test_without_a_default_route_nothing_is_found() -> None:
    assert RouteTable(ROUTES[1:]).find("GET", "/nothing") is None
