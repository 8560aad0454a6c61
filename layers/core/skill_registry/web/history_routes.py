"""Routes of the view function that read the history of a skill."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from skill_registry.catalog.history import PAGE, Diff, History, State, Version, Versions
from skill_registry.catalog.uploading import source_record
from skill_registry.web.http import JSON, Request, Response, json_response, revalidated
from skill_registry.web.queries import narrowed, number, pin

if TYPE_CHECKING:
    from skill_registry.catalog.principal import Principal
    from skill_registry.spec.diff import FileChange
    from skill_registry.spec.model import SkillFile
    from skill_registry.web.api import Routes

PLAIN = ("text/plain", "text/x-diff")

# Lambda answers at most 6 MB, and escapes make a text longer (AWS Lambda quotas).
LARGEST_TEXT = 5 * 1024 * 1024


def history_routes(history: History) -> Routes:
    """Return the routes, over the history use case."""

    def versions(request: Request, principal: Principal) -> Response:
        page = history.versions(
            narrowed(request, principal),
            request.path_parameter("name"),
            scopes=request.values("scope"),
            before=number(request, "before", code="version_invalid"),
            limit=number(request, "limit", code="limit_invalid") or PAGE,
        )
        return revalidated(request, json_response(_page(page)), page.head or None)

    def diff(request: Request, principal: Principal) -> Response:
        made = history.diff(
            narrowed(request, principal),
            request.path_parameter("name"),
            scopes=request.values("scope"),
            old=pin(request, "from"),
            new=pin(request, "to"),
        )
        text = _travelling(made.comparison.text)
        cut = made.comparison.truncated or text != made.comparison.text
        kind = request.accepts((JSON, *PLAIN))
        if kind == JSON:
            response = json_response(_diff(made, text, cut=cut))
        else:
            headers = {"x-diff-truncated": "1"} if cut else {}
            response = Response(body=text, content_type=f"{kind}; charset=utf-8", headers=headers)
        return revalidated(request, response, made.new)

    return {"GET /skills/{name}/versions": versions, "GET /skills/{name}/diff": diff}


def _page(page: Versions) -> dict[str, Any]:
    document: dict[str, Any] = {
        "name": page.skill.name,
        "scope": page.skill.scope,
        "current": page.head or None,
        "versions": [_version(each) for each in page.versions],
    }
    if page.next is not None:
        document["next"] = page.next
    return document


def _version(version: Version) -> dict[str, Any]:
    info = version.info
    document = {
        "version": info.number,
        "state": version.state,
        "author": info.author,
        "message": info.message,
        "created": info.created,
        # Of a stub and of a deletion it would be that of an empty archive.
        "size": info.size if version.state is State.CONTENT else None,
        "sha256": info.sha256,
        "labels": list(version.labels),
        "restores": info.restores,
        "unchanged": info.unchanged,
    }
    if info.copied_from is not None:
        document["copied_from"] = source_record(info.copied_from)
    return document


def _diff(made: Diff, text: str, *, cut: bool) -> dict[str, Any]:
    return {
        "name": made.skill.name,
        "scope": made.skill.scope,
        "from": made.old,
        "to": made.new,
        "files": [_change(each) for each in made.comparison.changes],
        "diff": text,
        "truncated": cut,
    }


def _change(change: FileChange) -> dict[str, Any]:
    return {
        "path": change.path,
        "change": change.kind,
        "old": _side(change.old),
        "new": _side(change.new),
    }


def _side(file: SkillFile | None) -> dict[str, Any] | None:
    if file is None:
        return None
    return {"size": len(file.data), "sha256": file.sha256, "mode": file.mode}


def _travelling(text: str) -> str:
    """Return as much of a text, in whole lines, as one answer carries.

    It is a text inside a JSON document, inside another one: a control character takes seven bytes.
    """
    while len(json.dumps(json.dumps(text, ensure_ascii=False))) > LARGEST_TEXT:
        text = text[: text.rfind("\n", 0, len(text) // 2) + 1]
    return text
