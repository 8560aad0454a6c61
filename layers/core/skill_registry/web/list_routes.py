"""Routes of the list function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from skill_registry.catalog.listing import DEFAULT_LIMIT, Listed, Listing, ListSkills
from skill_registry.spec.budget import Fitted, fit
from skill_registry.spec.rendering import (
    MARKDOWN,
    XML_ELEMENT,
    Form,
    ListedSkill,
    mount_path,
    render,
)
from skill_registry.web.http import JSON, Request, Response, json_response, revalidated
from skill_registry.web.queries import number

if TYPE_CHECKING:
    from skill_registry.catalog.principal import Principal
    from skill_registry.web.api import Routes

# A client that reads JSON renders lines of its own, so their length is what a budget is for.
# XML is the element alone: the media type is one of documents, and which tool loads a skill is for
# the agent to say.
FORMS: dict[str, Form] = {
    JSON: MARKDOWN,
    "text/markdown": MARKDOWN,
    "application/xml": XML_ELEMENT,
}


@dataclass(frozen=True, slots=True)
class _Page:
    """A page as far as the budget lets it go, each entry with what is shown of it."""

    listing: Listing
    fitted: Fitted


def list_routes(skills: ListSkills) -> Routes:
    """Return the routes, over the list use case."""

    def list_skills(request: Request, principal: Principal) -> Response:
        kind = request.accepts(tuple(FORMS))
        budget = number(request, "max_tokens", code="max_tokens_invalid")
        # A prompt that silently lacked skills would be wrong: only JSON has pages by default.
        default = DEFAULT_LIMIT if kind == JSON else None
        listing = skills.page(
            principal,
            scopes=request.values("scope"),
            limit=number(request, "limit", code="limit_invalid") or default,
            cursor=request.value("cursor"),
        )
        page = _fitted(listing, budget, FORMS[kind])
        return revalidated(request, _rendered(kind, page, _link(request, page.listing)))

    return {"GET /skills": list_skills}


def _fitted(listing: Listing, max_tokens: int | None, form: Form) -> _Page:
    """Fit a page into the budget. What is omitted comes with the cursor that goes on behind it."""
    shown = [
        ListedSkill(
            name=listed.entry.name,
            version=listed.entry.version,
            description=listed.entry.description,
            location=mount_path(listed.entry.name),
        )
        for listed in listing.skills
    ]
    if max_tokens is None:
        return _Page(listing, Fitted(tuple(shown)))
    fitted = fit(shown, max_tokens, form)
    return _Page(listing.first(len(fitted.skills)), fitted)


def _link(request: Request, listing: Listing) -> dict[str, str]:
    """Return the header that names the next page (RFC 8288), relative to this one."""
    if listing.next is None:
        return {}
    query = [(key, value) for key, value in request.query if key != "cursor"]
    return {"link": f'<?{urlencode([*query, ("cursor", listing.next)])}>; rel="next"'}


def _rendered(kind: str, page: _Page, headers: dict[str, str]) -> Response:
    listing, fitted = page.listing, page.fitted
    if listing.stale is not None:
        headers |= {"x-catalog-stale": str(round(listing.stale))}
    if kind == JSON:
        return json_response(_document(page), headers=headers)
    headers |= {f"x-skills-{key}": str(count) for key, count in _counts(fitted).items()}
    text = render(fitted.skills, FORMS[kind])
    return Response(body=text, content_type=f"{kind}; charset=utf-8", headers=headers)


def _counts(fitted: Fitted) -> dict[str, int]:
    """Return what the budget cost, as far as it cost anything."""
    counts = {"shortened": fitted.shortened, "omitted": fitted.omitted}
    return {key: count for key, count in counts.items() if count}


def _document(page: _Page) -> dict[str, Any]:
    listing = page.listing
    document: dict[str, Any] = {
        "skills": [
            _skill(listed, shown.description)
            for listed, shown in zip(listing.skills, page.fitted.skills, strict=True)
        ],
        "catalog_version": dict(listing.versions),
        **_counts(page.fitted),
    }
    if listing.next is not None:
        document["next"] = listing.next
    if listing.diagnostics:
        document["diagnostics"] = [d.to_dict() for d in listing.diagnostics]
    return document


def _skill(listed: Listed, description: str) -> dict[str, Any]:
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
        "description": description,
        **{key: value for key, value in optional.items() if value},
    }
