"""Routes of the view function."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from skill_registry.catalog.viewing import Bundle, View, ViewSkill
from skill_registry.errors import TooLarge
from skill_registry.web.http import (
    JSON,
    LARGEST_ANSWER,
    Request,
    Response,
    json_response,
    revalidated,
)
from skill_registry.web.queries import narrowed, pin

if TYPE_CHECKING:
    from skill_registry.catalog.loading import Loaded
    from skill_registry.catalog.principal import Principal
    from skill_registry.web.api import Routes

ZIP = "application/zip"


def view_routes(skills: ViewSkill) -> Routes:
    """Return the routes, over the view use case."""

    def view(request: Request, principal: Principal) -> Response:
        seen = skills.view(
            narrowed(request, principal),
            request.path_parameter("name"),
            scopes=request.values("scope"),
            path=request.value("path"),
            pin=pin(request, "version"),
        )
        if request.value("raw") in ("1", "true"):
            return revalidated(request, _raw(seen), seen.loaded.version)
        response = json_response(_document(seen))
        if len(response.body) > LARGEST_ANSWER // 4 and _size(response) > LARGEST_ANSWER:
            response = json_response(_by_bundle(seen, skills.bundle_of(seen.loaded)))
        return revalidated(request, response, seen.loaded.version)

    def bundle(request: Request, principal: Principal) -> Response:
        made = skills.bundle(
            narrowed(request, principal),
            request.path_parameter("name"),
            scopes=request.values("scope"),
            pin=pin(request, "version"),
        )
        headers = {"cache-control": "no-store", "vary": "accept"}
        if request.accepts((JSON, ZIP)) == ZIP:
            return Response(303, b"", ZIP, {**headers, "location": made.url})
        return json_response({**_identity(made.loaded), **_link(made)}, headers=headers)

    return {"GET /skills/{name}": view, "GET /skills/{name}/bundle": bundle}


def _identity(loaded: Loaded) -> dict[str, Any]:
    return {
        "name": loaded.skill.name,
        "scope": loaded.skill.scope,
        "version": loaded.version,
    }


def _document(seen: View) -> dict[str, Any]:
    text, encoding = seen.text, None
    if text is None:
        text, encoding = base64.b64encode(seen.file.data).decode(), "base64"
    document = {**_identity(seen.loaded), "path": seen.file.path, "content": text}
    if encoding:
        document["encoding"] = encoding
    document["files"] = [
        {"path": f.path, "size": len(f.data), "sha256": f.sha256, "mode": f.mode}
        for _, f in sorted(seen.loaded.files.items())
    ]
    document["metadata"] = seen.loaded.meta.to_dict() if seen.loaded.meta else {}
    if seen.loaded.diagnostics:
        document["diagnostics"] = [d.to_dict() for d in seen.loaded.diagnostics]
    return document


def _by_bundle(seen: View, made: Bundle) -> dict[str, Any]:
    """Answer for a file that is too large to travel in one: where to get it, and its digest."""
    return {
        **_identity(seen.loaded),
        "path": seen.file.path,
        "content": None,
        "size": len(seen.file.data),
        "sha256": seen.file.sha256,
        "bundle": _link(made),
    }


def _link(made: Bundle) -> dict[str, Any]:
    return {"url": made.url, "sha256": made.sha256, "size": made.size, "expires": made.expires}


def _raw(seen: View) -> Response:
    if len(seen.file.data) * 4 // 3 > LARGEST_ANSWER:
        raise TooLarge(
            f"`{seen.file.path}` is too large for one answer; download the bundle of the skill."
        )
    kind = "application/octet-stream" if seen.text is None else "text/plain; charset=utf-8"
    headers = {
        "x-skill-version": "" if seen.loaded.version is None else str(seen.loaded.version),
        "x-skill-scope": seen.loaded.skill.scope,
        "x-file-mode": seen.file.mode,
    }
    return Response(body=seen.file.data, content_type=kind, headers=headers)


def _size(response: Response) -> int:
    """Bytes of an answer as it travels: the body is a JSON text inside a JSON document."""
    text = response.body if isinstance(response.body, str) else response.body.decode()
    return len(json.dumps(text))
