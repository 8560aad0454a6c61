"""Routes of the list function."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from skill_registry.catalog.filters import Filters, read_versions
from skill_registry.catalog.listing import DEFAULT_LIMIT, Asked, Listed, Listing, ListSkills
from skill_registry.errors import RequestInvalid, TooLarge
from skill_registry.spec.budget import Fitted, fit
from skill_registry.spec.rendering import (
    MARKDOWN,
    XML_ELEMENT,
    Form,
    ListedSkill,
    mount_path,
    render,
)
from skill_registry.web.http import (
    JSON,
    LARGEST_ANSWER,
    Request,
    Response,
    conditional,
    json_response,
    representation,
)
from skill_registry.web.queries import narrowed, number
from skill_registry.web.rendered import Rendered, RenderedAnswers

if TYPE_CHECKING:
    from skill_registry.catalog.freshness import CheckedSkill, CheckSkills
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
LARGEST_CHECK = 1024 * 1024

# API Gateway takes 10 KB of headers, and a link repeats its query.
_LONGEST_LINK = 4096


@dataclass(frozen=True, slots=True)
class _Form:
    """How a page is written: its media type, its budget, the agent that its caller names."""

    kind: str
    max_tokens: int | None
    agent: str | None
    verified: bool


@dataclass(frozen=True, slots=True)
class _Page:
    """A page as far as the budget lets it go, each entry with what is shown of it."""

    listing: Listing
    fitted: Fitted


def list_routes(skills: ListSkills, checks: CheckSkills, rendered: RenderedAnswers) -> Routes:
    """Return the routes, over the list and the check use case."""

    def list_skills(request: Request, principal: Principal) -> Response:
        form = _form(request, principal)
        asked = _ask(skills, request, principal, form)
        key = (asked.stamp, form, request.takes_gzip)
        own_key = (asked.query, tuple(request.query))
        answer = rendered.get(key, own_key)
        if answer is None:
            answer = _answer(request, skills.answer(asked), form)
            rendered.put(key, own_key, answer)
        skills.tell(asked, answer.count)
        return _marked(conditional(request, answer.response), asked.stale)

    def check(request: Request, principal: Principal) -> Response:
        return _check(checks, request, principal)

    return {"GET /skills": list_skills, "POST /check": check}


def _form(request: Request, principal: Principal) -> _Form:
    agent = request.value("agent")
    return _Form(
        kind=request.accepts(tuple(FORMS)),
        max_tokens=number(request, "max_tokens", code="max_tokens_invalid"),
        agent=agent,
        verified=agent is not None and agent == principal.agent,
    )


def _ask(skills: ListSkills, request: Request, principal: Principal, form: _Form) -> Asked:
    # A prompt that silently lacked skills would be wrong: only JSON has pages by default.
    default = DEFAULT_LIMIT if form.kind == JSON else None
    return skills.ask(
        narrowed(request, principal),
        scopes=request.values("scope"),
        filters=Filters.read(
            tools=request.values("tools"),
            words=request.value("q"),
            language=request.value("lang"),
        ),
        limit=number(request, "limit", code="limit_invalid") or default,
        cursor=request.value("cursor"),
        at_least=read_versions(request.values("min_catalog_version")),
    )


def _answer(request: Request, listing: Listing, form: _Form) -> Rendered:
    page = _fitted(listing, form)
    written = _rendered(page, form, _link(request, page.listing))
    response = representation(request, written)
    if _travels(response.body) > LARGEST_ANSWER:
        raise TooLarge(
            "The listing is too large for one answer; ask for less with `limit` or `max_tokens`."
        )
    return Rendered(response, len(page.listing.skills), own=page.listing.next is not None)


def _fitted(listing: Listing, form: _Form) -> _Page:
    """Fit a page into the budget. What is omitted comes with the cursor that goes on behind it."""
    shown = [
        ListedSkill(
            name=listed.entry.name,
            version=listed.entry.version,
            description=listed.description,
            location=mount_path(listed.entry.name),
        )
        for listed in listing.skills
    ]
    if form.max_tokens is None:
        return _Page(listing, Fitted(tuple(shown)))
    fitted = fit(shown, form.max_tokens, FORMS[form.kind])
    return _Page(listing.first(len(fitted.skills)), fitted)


def _link(request: Request, listing: Listing) -> dict[str, str]:
    """Return the header that names the next page (RFC 8288), relative to this one."""
    if listing.next is None:
        return {}
    query = [(key, value) for key, value in request.query if key != "cursor"]
    link = f'<?{urlencode([*query, ("cursor", listing.next)])}>; rel="next"'
    return {"link": link} if len(link) <= _LONGEST_LINK else {}


def _rendered(page: _Page, form: _Form, headers: dict[str, str]) -> Response:
    if form.kind == JSON:
        return json_response(_document(page, form), headers=headers)
    headers |= {f"x-skills-{key}": str(count) for key, count in _counts(page.fitted).items()}
    if form.agent is not None:
        headers |= {"x-agent-verified": str(form.verified).lower()}
    text = render(page.fitted.skills, FORMS[form.kind])
    return Response(body=text, content_type=f"{form.kind}; charset=utf-8", headers=headers)


def _counts(fitted: Fitted) -> dict[str, int]:
    """Return what the budget cost, as far as it cost anything."""
    counts = {"shortened": fitted.shortened, "omitted": fitted.omitted}
    return {key: count for key, count in counts.items() if count}


def _document(page: _Page, form: _Form) -> dict[str, Any]:
    listing = page.listing
    document: dict[str, Any] = {
        "skills": [
            _skill(listed, shown.description)
            for listed, shown in zip(listing.skills, page.fitted.skills, strict=True)
        ],
        "catalog_version": dict(listing.versions),
        **_counts(page.fitted),
    }
    if form.agent is not None:
        document["agent"] = {"name": form.agent, "verified": form.verified}
    if listing.next is not None:
        document["next"] = listing.next
    if listing.diagnostics:
        document["diagnostics"] = [d.to_dict() for d in listing.diagnostics]
    if listing.omitted:
        document["diagnostics_omitted"] = listing.omitted
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


def _travels(body: bytes | str) -> int:
    """Bytes of an answer on its way: bytes as base64, and a text inside a JSON document."""
    if isinstance(body, bytes):
        return len(body) * 4 // 3
    return len(body) if len(body) < LARGEST_ANSWER // 12 else len(json.dumps(body))


def _marked(response: Response, stale: float | None) -> Response:
    """Say the age of what was answered without the store."""
    if stale is None:
        return response
    headers = {**response.headers, "x-catalog-stale": str(round(stale))}
    return replace(response, headers=headers)


def _check(checks: CheckSkills, request: Request, principal: Principal) -> Response:
    # A function that only lists starts without the models of bodies.
    from skill_registry.web.schemas import Check, read_body

    if len(request.body) > LARGEST_CHECK:
        raise RequestInvalid(
            f"The body has {len(request.body)} bytes; at most {LARGEST_CHECK} are looked at.",
            code="body_invalid",
        )
    body = read_body(Check, request.json())
    done = checks.check(narrowed(request, principal), body.skills, scopes=request.values("scope"))
    document = {
        "skills": {name: _checked(skill) for name, skill in done.skills.items()},
        "catalog_version": dict(done.versions),
    }
    response = json_response(document, headers={"cache-control": "no-store"})
    return _marked(response, done.stale)


def _checked(skill: CheckedSkill) -> dict[str, Any]:
    if skill.scope is None:
        return {"state": skill.state.value}
    return {"state": skill.state.value, "version": skill.version, "scope": skill.scope}
