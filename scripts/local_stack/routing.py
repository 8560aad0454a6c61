"""Finds the route of a request, by the rules of API Gateway's HTTP API.

The most specific route wins: a path that matches in full before one that ends in ``{name+}``,
literal segments before variables, a named method before ``ANY``, and ``$default`` last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from local_stack.template import DEFAULT_ROUTE, Route

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True)
class Match:
    """The route of a request, and the values of the variables in its path."""

    route: Route
    parameters: Mapping[str, str]


class RouteTable:
    """The routes of one API."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._default: Route | None = None
        self._routes: list[Route] = []
        for route in routes:
            if route.path == DEFAULT_ROUTE:
                self._default = route
            else:
                self._routes.append(route)
        self._routes.sort(key=_generality)

    def find(self, method: str, path: str) -> Match | None:
        """Return the route of a request with this decoded path, None where there is none."""
        for route in self._routes:
            if route.method in ("ANY", method):
                parameters = match_path(route.path, path)
                if parameters is not None:
                    return Match(route, parameters)
        return Match(self._default, {}) if self._default else None


def match_path(pattern: str, path: str) -> dict[str, str] | None:
    """Return the variables of ``pattern`` in ``path``; None where they do not match."""
    wanted, given = pattern.split("/"), path.split("/")
    parameters: dict[str, str] = {}
    for index, segment in enumerate(wanted):
        if segment.endswith("+}"):
            rest = "/".join(given[index:])
            return parameters | {segment[1:-2]: rest} if rest else None
        if index >= len(given):
            return None
        if segment.startswith("{") and segment.endswith("}"):
            if not given[index]:
                return None
            parameters[segment[1:-1]] = given[index]
        elif segment != given[index]:
            return None
    return parameters if len(wanted) == len(given) else None


def _generality(route: Route) -> tuple[bool, list[bool], bool]:
    segments = route.path.split("/")
    return (
        segments[-1].endswith("+}"),
        [segment.startswith("{") for segment in segments],
        route.method == "ANY",
    )
