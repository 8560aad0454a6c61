"""A client of the four functions' HTTP contract, without HTTP: events in, results out."""

from __future__ import annotations

import base64
import json
from typing import Any

from house import House, http_event

from skill_registry.web import contract
from skill_registry.web.settings import Settings

ADMIN_ROLE = "arn:aws:iam::000000000000:role/admin"
NAME = {"name": "notes"}
ZIP = {"content-type": "application/zip"}
JSON = {"content-type": "application/json"}
SETTINGS = Settings(registry_administrators=(ADMIN_ROLE,))


class Client:
    """Sends events to the function that a route belongs to."""

    def __init__(self, house: House) -> None:
        registry = house.registry
        self.apis = {
            "$default": registry.list_api(),
            **dict.fromkeys(contract.LIST_ROUTES, registry.list_api()),
            **dict.fromkeys(contract.VIEW_ROUTES, registry.view_api()),
            **dict.fromkeys(contract.UPLOAD_ROUTES, registry.upload_api()),
            **dict.fromkeys(contract.MAINTENANCE_ROUTES, registry.maintenance_api()),
        }

    def send(self, route: str, **more: Any) -> tuple[int, Any, dict[str, str]]:
        """Return status, body (JSON read, else bytes or text) and headers."""
        event = http_event(route, **more)
        result = self.apis[route].answer(event)
        body: Any = result["body"]
        if result["isBase64Encoded"]:
            body = base64.b64decode(body)
        elif "json" in result["headers"]["content-type"] and body:
            body = json.loads(body)
        return result["statusCode"], body, result["headers"]
