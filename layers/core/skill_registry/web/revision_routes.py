"""Routes of the upload function that act on a version that is there: go back, copy it, purge it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skill_registry.catalog.uploads import check_message
from skill_registry.web.http import Request, Response, json_response
from skill_registry.web.queries import read_pin
from skill_registry.web.schemas import Copy, Purge, Rollback, read_body
from skill_registry.web.writes import (
    idempotency_key,
    known_skill,
    precondition,
    published_response,
    skill_to_publish,
    without_precondition,
)

if TYPE_CHECKING:
    from skill_registry.catalog.copying import Copier
    from skill_registry.catalog.principal import Principal
    from skill_registry.catalog.publishing import Publisher
    from skill_registry.catalog.purging import Purger
    from skill_registry.web.api import Routes


def revision_routes(publisher: Publisher, copier: Copier, purger: Purger) -> Routes:
    """Return the routes, over the publish, copy and purge use cases."""

    def rollback(request: Request, principal: Principal) -> Response:
        body = read_body(Rollback, request.json())
        skill = known_skill(request, principal)
        wanted = read_pin(body.version, "version")
        published = publisher.rollback(
            principal,
            skill,
            wanted,
            precondition=precondition(request),
            message=check_message(body.message),
            idempotency_key=idempotency_key(request),
        )
        return published_response(published)

    def copy(request: Request, principal: Principal) -> Response:
        body = read_body(Copy, request.json())
        # The right to write comes before everything that could tell of the source.
        target = skill_to_publish(principal, body.to, request.path_parameter("name"))
        published = copier.copy(
            principal,
            target,
            scopes=request.values("scope"),
            pin=None if body.version is None else read_pin(body.version, "version"),
            precondition=precondition(request),
            message=check_message(body.message),
            idempotency_key=idempotency_key(request),
        )
        return published_response(published, 201 if published.info.number == 1 else 200)

    def purge(request: Request, principal: Principal) -> Response:
        without_precondition(request)
        body = read_body(Purge, request.json())
        skill = known_skill(request, principal)
        done = purger.purge(principal, skill, body.version, reason=check_message(body.reason))
        document = {
            "name": skill.name,
            "scope": skill.scope,
            "version": done.number,
            "state": "purged",
            "removed": done.removed,
            "also_in": {str(number): list(paths) for number, paths in done.also_in.items()},
        }
        return json_response(document, headers={"cache-control": "no-store"})

    return {
        "POST /skills/{name}/rollback": rollback,
        "POST /skills/{name}/copy": copy,
        "POST /skills/{name}/purge": purge,
    }
