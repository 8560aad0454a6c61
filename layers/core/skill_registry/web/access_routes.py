"""Routes of the upload function that say which IAM roles may call; for administrators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skill_registry.catalog.access import Grant, make_grant
from skill_registry.catalog.granting import Granter, only_administrators
from skill_registry.catalog.uploads import check_message
from skill_registry.web.http import Request, Response, json_response, revalidated
from skill_registry.web.schemas import PatchAccess, read_body
from skill_registry.web.writes import without_precondition

if TYPE_CHECKING:
    from skill_registry.catalog.principal import Principal
    from skill_registry.web.api import Routes


def access_routes(granter: Granter) -> Routes:
    """Return the routes, over the granting use case."""

    def read(request: Request, principal: Principal) -> Response:
        return revalidated(request, json_response(granter.read(principal).to_dict()))

    def change(request: Request, principal: Principal) -> Response:
        # Before the body is looked at, so that what is wrong with it tells others nothing.
        only_administrators(principal)
        without_precondition(request)
        body = read_body(PatchAccess, request.json())
        access = granter.change(principal, body.role, _grant(body), check_message(body.reason))
        return json_response(access.to_dict(), headers={"cache-control": "no-store"})

    return {"GET /access": read, "PATCH /access": change}


def _grant(body: PatchAccess) -> Grant | None:
    asked = body.grant
    if asked is None:
        return None
    return make_grant(body.role, tuple(asked.roles), tuple(asked.scopes), asked.agent, asked.tier)
