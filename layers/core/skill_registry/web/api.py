"""One function's API: its routes, identity before everything, errors as problems after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from skill_registry.catalog.facts import SkillRefused
from skill_registry.catalog.principal import is_scope
from skill_registry.errors import RegistryError, RequestInvalid, SkillNotFound
from skill_registry.web.contract import unmatched
from skill_registry.web.http import Event, Request, Response, Result
from skill_registry.web.problems import problem, status_of
from skill_registry.web.telemetry import begin, logger

if TYPE_CHECKING:
    from skill_registry.catalog.facts import Fact
    from skill_registry.catalog.principal import Principal
    from skill_registry.web.identity import Identity

Route = Callable[[Request, "Principal"], Response]
Routes = Mapping[str, Route]

_COPY = "POST /skills/{name}/copy"
_COMPLETE = "POST /uploads/{id}/complete"
# Calls that change one skill. Those that read one are told of where the true reason is known.
_WRITES = frozenset(
    {
        "POST /uploads",
        _COMPLETE,
        "PUT /skills/{name}",
        "DELETE /skills/{name}",
        "PATCH /skills/{name}",
        "POST /skills/{name}/rollback",
        "POST /skills/{name}/purge",
        _COPY,
    }
)


class Api:
    """Answers HTTP API events by their ``routeKey``.

    Args:
        tell: Takes the refusals of writes.
    """

    def __init__(self, routes: Routes, identity: Identity, tell: Callable[[Fact], None]) -> None:
        self._routes = routes
        self._identity = identity
        self._tell = tell

    def answer(self, event: Event) -> Result:
        """Answer one event; whatever happens is an HTTP answer, with the correlation id."""
        request = Request(event)
        begin(request.correlation_id, request.id)
        principal: Principal | None = None
        try:
            principal = self._identity.principal_of(event)
            response = self._respond(request, principal)
        except RegistryError as error:
            self._note(request, principal, error)
            response = problem(error, request.id)
        except Exception:
            logger().exception("request_crashed", extra={"route": request.route})
            response = problem(
                RegistryError("The registry failed. Its log has the reason."), request.id
            )
        result = response.to_result()
        result["headers"]["x-correlation-id"] = request.correlation_id
        return result

    def _respond(self, request: Request, principal: Principal) -> Response:
        route = self._routes.get(request.route)
        if route is None:
            raise unmatched(request.method, request.path)
        return route(request, principal)

    def _note(self, request: Request, principal: Principal | None, error: RegistryError) -> None:
        if status_of(error) >= 500:
            cause = type(error.__cause__).__name__ if error.__cause__ else None
            extra = {"route": request.route, "code": error.code, "cause": cause}
            logger().error("request_failed", extra={**extra, "detail": error.message})
            return
        # A source that is not there was told of by whoever looked for it.
        known = request.route == _COPY and isinstance(error, SkillNotFound)
        skill = _subject(request)
        if request.route in _WRITES and skill and not known:
            scope = _scope(request, principal)
            agent = principal.agent if principal else None
            self._tell(SkillRefused(skill, error.code, scope, agent))


def _subject(request: Request) -> str | None:
    """Return the name of the skill that a write is about, or the upload's id."""
    if "{" in request.route:
        return request.path_parameter("name") or request.path_parameter("id")
    try:
        name = request.json().get("name")
    except RequestInvalid:
        return None
    return name if isinstance(name, str) else None


def _scope(request: Request, principal: Principal | None) -> str | None:
    """Return the scope that a write is to, None where the request does not say."""
    if request.route in (_COPY, _COMPLETE):
        return None
    try:
        asked = request.value("scope")
    except RequestInvalid:
        return None
    if asked is None:
        return principal.default_scope if principal else None
    return asked if is_scope(asked) else None
