"""A time limit for the routes of a function, below the one at which Lambda would cut them off."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skill_registry.catalog.principal import Principal
    from skill_registry.store.deadline import Deadline
    from skill_registry.web.api import Route, Routes
    from skill_registry.web.http import Request, Response


def limited(routes: Routes, deadline: Deadline, seconds: float) -> Routes:
    """Return the routes with so many seconds for each call.

    Args:
        deadline: The gate of the store that they work on.
    """
    return {key: _limited(route, deadline, seconds) for key, route in routes.items()}


def _limited(route: Route, deadline: Deadline, seconds: float) -> Route:
    def answer(request: Request, principal: Principal) -> Response:
        with deadline.within(seconds):
            return route(request, principal)

    return answer
