"""Route of the list function that serves the OpenAPI document, as it is committed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from skill_registry.web.http import JSON, Request, Response, revalidated

if TYPE_CHECKING:
    from skill_registry.catalog.principal import Principal
    from skill_registry.web.api import Routes

DOCUMENT = Path(__file__).with_name("openapi.json")


def description_routes() -> Routes:
    """Return the route. The file is read at each call: few ask, and a cold start need not wait."""

    def describe(request: Request, _principal: Principal) -> Response:
        return revalidated(request, Response(body=DOCUMENT.read_text("utf-8"), content_type=JSON))

    return {"GET /openapi.json": describe}
