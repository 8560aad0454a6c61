"""One function's API: its routes, identity before everything, errors as problems after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from skill_registry.errors import RegistryError
from skill_registry.web.contract import unmatched
from skill_registry.web.http import Event, Request, Response, Result
from skill_registry.web.identity import principal_of
from skill_registry.web.problems import problem, status_of
from skill_registry.web.telemetry import logger

if TYPE_CHECKING:
    from skill_registry.catalog.principal import Principal
    from skill_registry.web.settings import Settings

Route = Callable[[Request, "Principal"], Response]
Routes = Mapping[str, Route]


class Api:
    """Answers HTTP API events by their ``routeKey``."""

    def __init__(self, routes: Routes, settings: Settings) -> None:
        self._routes = routes
        self._settings = settings

    def answer(self, event: Event) -> Result:
        """Answer one event; whatever happens is an HTTP answer."""
        request = Request(event)
        log = logger()
        log.set_correlation_id(request.id)
        try:
            response = self._respond(request)
        except RegistryError as error:
            if status_of(error) >= 500:
                log.error("request_failed", extra={"route": request.route, "code": error.code})
            response = problem(error, request.id)
        except Exception:
            log.exception("request_crashed", extra={"route": request.route})
            response = problem(
                RegistryError("The registry failed. Its log has the reason."), request.id
            )
        return response.to_result()

    def _respond(self, request: Request) -> Response:
        principal = principal_of(request.event, self._settings)
        route = self._routes.get(request.route)
        if route is None:
            raise unmatched(request.method, request.path)
        return route(request, principal)
