"""Parameters of requests and headers of answers, by the name that the document gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from skill_registry.catalog.filters import LONGEST_QUERY
from skill_registry.catalog.listing import DEFAULT_LIMIT, MAX_LIMIT
from skill_registry.catalog.uploads import MESSAGE_BYTES
from skill_registry.spec.visibility import TIERS
from skill_registry.web.responses import Scope
from skill_registry.web.schemas import Number
from skill_registry.web.writes import LONGEST_KEY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Schema = Mapping[str, Any]
    Definitions = Mapping[str, Schema]

SCOPE = TypeAdapter(Scope).json_schema()
NUMBER = TypeAdapter(Number).json_schema()
PIN = {"type": "string", "pattern": "^([0-9]{1,9}|@.+)?$"}
TEXT = {"type": "string"}


def _query(
    name: str, schema: Schema, text: str, *, examples: Sequence[Any] = (), **more: Any
) -> Schema:
    shown = {"examples": {str(each): {"value": each} for each in examples}} if examples else {}
    return {"name": name, "in": "query", "description": text, "schema": schema, **shown, **more}


def _header(name: str, schema: Schema, text: str) -> Schema:
    return {"name": name, "in": "header", "description": text, "schema": schema}


def _path(name: str, schema: Schema, text: str, *examples: str) -> Schema:
    shown = {"examples": {each: {"value": each} for each in examples}} if examples else {}
    where = {"name": name, "in": "path", "required": True}
    return {**where, "description": text, "schema": schema, **shown}


def _repeated(schema: Schema) -> Schema:
    return {"type": "array", "items": schema, "maxItems": 50}


PATH: Definitions = {
    "name": _path(
        "name", {"type": "string", "minLength": 1}, "Name of the skill.", "pr-description"
    ),
    "id": _path("id", {"type": "string", "minLength": 1}, "`upload_id` of the ticket."),
    "task": _path("task", {"enum": ["reconcile", "rebuild", "doctor"]}, "What to do."),
}

PARAMETERS: Definitions = {
    "scopes": _query(
        "scope",
        _repeated(SCOPE),
        "Scopes to read, in order of precedence; without it, all of the caller's.",
        style="form",
        explode=True,
    ),
    "scope": _query("scope", SCOPE, "The scope to write; without it, the caller's own."),
    "agent": _query(
        "agent",
        {"type": "string", "maxLength": 64},
        "The agent that asks. It hides what is for others, and opens nothing: only a verified"
        " identity does.",
        examples=["review"],
    ),
    "tier": _query(
        "tier",
        {"enum": list(TIERS)},
        "The tier of the model that asks. It never lifts a verified one.",
    ),
    "tools": _query(
        "tools",
        _repeated(TEXT),
        "Tools that the agent has: hides skills that need others. Commas and blanks separate too.",
        style="form",
        explode=True,
    ),
    "q": _query(
        "q",
        {"type": "string", "maxLength": LONGEST_QUERY},
        "Words to look for in names, descriptions and tags; the best come first.",
    ),
    "lang": _query(
        "lang",
        {"type": "string", "maxLength": 35, "pattern": "^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$"},
        "Language of the descriptions, where there is a translation.",
    ),
    "limit": _query(
        "limit",
        {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
        "Skills of a page. As Markdown and XML a listing comes whole without it.",
    ),
    "cursor": _query("cursor", TEXT, "`next` of the page before, of the same query."),
    "max_tokens": _query(
        "max_tokens", NUMBER, "Budget of the page, at four characters a token.", examples=[300]
    ),
    "min_catalog_version": _query(
        "min_catalog_version",
        _repeated({"type": "string", "pattern": "^[a-z0-9-]+:[0-9]{1,15}$"}),
        "`<scope>:<version>`: a catalog that the answer must not be older than.",
        style="form",
        explode=True,
    ),
    "path": _query(
        "path",
        TEXT,
        "A file of the skill; without it, SKILL.md.",
        examples=["references/example.md"],
    ),
    "version": _query("version", PIN, "A version, or `@` and a label.", examples=["1"]),
    "raw": _query(
        "raw",
        TEXT,
        "`1` or `true` for the bytes as stored; anything else for JSON.",
        examples=["1"],
    ),
    "before": _query("before", NUMBER, "`next` of the page before."),
    "versions_limit": _query(
        "limit", {"type": "integer", "minimum": 1, "maximum": 50}, "Versions of a page."
    ),
    "from": _query("from", PIN, "The version before the change; without it, the one before `to`."),
    "to": _query("to", PIN, "The version after the change; without it, the current one."),
    "expected_name": _query("name", TEXT, "The name that the skill is to have."),
    "message": _query(
        "message", {"type": "string", "maxLength": MESSAGE_BYTES}, "What is new, for a zip archive."
    ),
    "if_none_match": _header(
        "If-None-Match", TEXT, "ETags of representations that the client has: 304 where one fits."
    ),
    "if_match": _header(
        "If-Match",
        {"type": "string", "pattern": '^([*]|"[0-9]{1,9}(-[0-9a-f]+(-gzip)?)?")$'},
        "Only over this version: its number in quotes, or the ETag of a view; `*` for any.",
    ),
    "create_only": _header(
        "If-None-Match", {"type": "string", "const": "*"}, "Only where there is no such skill."
    ),
    "idempotency_key": _header(
        "Idempotency-Key",
        {"type": "string", "maxLength": LONGEST_KEY},
        "The same key never publishes twice, for a day.",
    ),
    "correlation_id": _header(
        "X-Correlation-Id",
        TEXT,
        "Names the call in logs, and the events that follow from it: at most 64 letters, digits,"
        " dots, hyphens and underscores. Anything else is passed over.",
    ),
}

HEADERS: Definitions = {
    "ETag": {"schema": {"type": "string", "pattern": '^".+"$'}, "description": "Strong."},
    "Cache-Control": {"schema": TEXT, "description": "Nothing is for shared caches."},
    "Vary": {"schema": TEXT, "description": "Headers that the answer depends on."},
    "Location": {"schema": TEXT, "description": "Where it is."},
    "Retry-After": {"schema": {"type": "integer", "minimum": 0}, "description": "Seconds."},
    "Link": {"schema": TEXT, "description": "The next page (RFC 8288), relative to this one."},
    "X-Correlation-Id": {"schema": TEXT, "description": "That of the request, or one made for it."},
    "X-Catalog-Stale": {
        "schema": {"type": "integer", "minimum": 0},
        "description": "The store does not answer; seconds since the listing was true.",
    },
    "X-Agent-Verified": {
        "schema": {"enum": ["true", "false"]},
        "description": "Whether the agent that `agent=` names is the verified one.",
    },
    "X-Skills-Shortened": {
        "schema": {"type": "integer", "minimum": 1},
        "description": "Descriptions that the budget cut.",
    },
    "X-Skills-Omitted": {
        "schema": {"type": "integer", "minimum": 1},
        "description": "Skills of the page that did not fit the budget.",
    },
    "X-Skill-Version": {"schema": TEXT, "description": "Empty where there is none."},
    "X-Skill-Scope": {"schema": TEXT, "description": "Where the skill is from."},
    "X-File-Mode": {"schema": {"enum": ["0644", "0755"]}, "description": "Mode of the file."},
    "X-Diff-Truncated": {"schema": {"const": "1"}, "description": "The diff leaves something out."},
}
