"""A client of the four functions' HTTP contract, without HTTP: events in, results out."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from answers import check_answer
from house import House, http_event

from skill_registry.web import contract
from skill_registry.web.settings import Settings

if TYPE_CHECKING:
    from skill_registry.web.api import Api
    from skill_registry.web.http import Event, Result

ADMIN_ROLE = "arn:aws:iam::000000000000:role/admin"
NAME = {"name": "notes"}
ZIP = {"content-type": "application/zip"}
JSON = {"content-type": "application/json"}
SETTINGS = Settings(registry_administrators=(ADMIN_ROLE,))


class CheckedApi:
    """The API of a function, whose every answer has to be one of the contract."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def answer(self, event: Event) -> Result:
        result = self._api.answer(event)
        check_answer(event["routeKey"], result)
        return result


class Client:
    """Sends events to the function that a route belongs to."""

    def __init__(self, house: House) -> None:
        registry = house.registry
        lists, views = CheckedApi(registry.list_api()), CheckedApi(registry.view_api())
        writes = CheckedApi(registry.upload_api())
        self.apis = {
            "$default": lists,
            **dict.fromkeys(contract.LIST_ROUTES, lists),
            **dict.fromkeys(contract.VIEW_ROUTES, views),
            **dict.fromkeys(contract.UPLOAD_ROUTES, writes),
            **dict.fromkeys(contract.MAINTENANCE_ROUTES, CheckedApi(registry.maintenance_api())),
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
