"""Routes of the list function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skill_registry.catalog.listing import DEFAULT_LIMIT, Listed, Listing, ListSkills
from skill_registry.errors import RequestInvalid
from skill_registry.spec.rendering import ListedSkill, mount_path, render_markdown, render_xml
from skill_registry.web.http import JSON, Request, Response, json_response, revalidated

if TYPE_CHECKING:
    from skill_registry.catalog.principal import Principal
    from skill_registry.web.api import Routes

MARKDOWN = "text/markdown"
XML = "application/xml"


def list_routes(skills: ListSkills) -> Routes:
    """Return the routes, over the list use case."""

    def list_skills(request: Request, principal: Principal) -> Response:
        listing = skills.page(
            principal,
            scopes=request.values("scope"),
            limit=_limit(request),
            cursor=request.value("cursor"),
        )
        return revalidated(request, _rendered(request.accepts((JSON, MARKDOWN, XML)), listing))

    return {"GET /skills": list_skills}


def _limit(request: Request) -> int:
    text = request.value("limit")
    if text is None:
        return DEFAULT_LIMIT
    if not text.isdecimal() or len(text) > 9:
        raise RequestInvalid("`limit` is a whole number.", code="limit_invalid")
    return int(text)


def _rendered(kind: str, listing: Listing) -> Response:
    headers = {} if listing.stale is None else {"x-catalog-stale": str(round(listing.stale))}
    if kind == JSON:
        return json_response(_document(listing), headers=headers)
    shown = [
        ListedSkill(
            name=listed.entry.name,
            version=listed.entry.version,
            description=listed.entry.description,
            location=mount_path(listed.entry.name),
        )
        for listed in listing.skills
    ]
    text = render_markdown(shown) if kind == MARKDOWN else render_xml(shown)
    return Response(body=text, content_type=f"{kind}; charset=utf-8", headers=headers)


def _document(listing: Listing) -> dict[str, Any]:
    document: dict[str, Any] = {
        "skills": [_skill(listed) for listed in listing.skills],
        "catalog_version": dict(listing.versions),
    }
    if listing.next is not None:
        document["next"] = listing.next
    if listing.diagnostics:
        document["diagnostics"] = [d.to_dict() for d in listing.diagnostics]
    return document


def _skill(listed: Listed) -> dict[str, Any]:
    entry = listed.entry
    optional = {
        "license": entry.license,
        "compatibility": entry.compatibility,
        "allowed_tools": list(entry.allowed_tools),
        "min_tier": entry.min_tier,
        "tags": list(entry.tags),
        "source": entry.source,
        "upstream": dict(entry.upstream) if entry.upstream else None,
    }
    return {
        "name": entry.name,
        "scope": listed.scope,
        "version": entry.version,
        "description": entry.description,
        **{key: value for key, value in optional.items() if value},
    }
