"""The registry's calls as values. Pure: nothing here sends anything."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import httpx

from skill_registry.agent.source import EVERYTHING, SkillQuery
from skill_registry.errors import RequestInvalid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ZIP = "application/zip"
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Call:
    """One request to the registry. ``path`` is percent-encoded, below the registry's address."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None

    @property
    def target(self) -> str:
        """Path and query, to be put behind the registry's address."""
        query = urlencode(self.query, quote_via=quote)
        return f"{self.path}?{query}" if query else self.path


@dataclass(frozen=True, slots=True)
class Precondition:
    """What must hold for a publish: the head is ``version``, or there is no skill yet.

    Raises:
        RequestInvalid: Both are asked for, and nothing can satisfy both.
    """

    version: int | None = None
    absent: bool = False

    def __post_init__(self) -> None:
        if self.version is not None and self.absent:
            raise RequestInvalid("Ask for a version or for a new skill, not for both.")

    def headers(self) -> dict[str, str]:
        """Return the precondition as request headers."""
        if self.absent:
            return {"If-None-Match": "*"}
        return {} if self.version is None else {"If-Match": f'"{self.version}"'}


NO_PRECONDITION = Precondition()


def registry_url(url: str) -> str:
    """Return the registry's address without a trailing slash.

    Raises:
        RequestInvalid: It is no address of an HTTP server, or it carries a query or credentials.
    """
    parsed = http_url(url)
    if parsed is None:
        raise RequestInvalid(
            f"{url!r} is no registry address: it looks like https://registry.example.com.",
            code="url_invalid",
        )
    if parsed.query or parsed.fragment or parsed.userinfo:
        raise RequestInvalid(
            "A registry's address has no user, query or fragment in it.", code="url_invalid"
        )
    return str(parsed).rstrip("/")


def http_url(text: str) -> httpx.URL | None:
    """Read the URL of an HTTP server; None for what is none, or what no request can be sent to."""
    try:
        url = httpx.URL(text)
        # Some names parse, and make the resolver raise, or the URL itself where it is shown.
        url.raw_host.decode("ascii").encode("idna")
        named = url.host
    except (httpx.InvalidURL, UnicodeError):
        return None
    return url if named and url.scheme in {"http", "https"} else None


@dataclass(frozen=True, slots=True)
class ListFilters:
    """What narrows a listing besides who asks; None and empty members narrow nothing.

    Attributes:
        words: ``q``: the beginnings of words of a name, a tag or a description.
        at_least: ``min_catalog_version``, by scope.
        limit: Skills a page.
        cursor: Where a page begins.
    """

    words: str | None = None
    at_least: Mapping[str, int] = field(default_factory=dict)
    limit: int | None = None
    cursor: str | None = None


NO_FILTERS = ListFilters()


def list_skills(query: SkillQuery = EVERYTHING, filters: ListFilters = NO_FILTERS) -> Call:
    """Ask for one page of the listing."""
    tools = query.tools if query.tools is None or query.tools else ("",)
    least = [f"{scope}:{number}" for scope, number in filters.at_least.items()]
    return Call(
        "GET",
        "/skills",
        (
            *_asking(query),
            *(pair for tool in tools or () for pair in _query(tools=tool)),
            *_query(lang=query.language, q=filters.words),
            *(pair for each in least for pair in _query(min_catalog_version=each)),
            *_query(limit=filters.limit, cursor=filters.cursor),
        ),
    )


def check(loaded: Mapping[str, int | str | None], query: SkillQuery = EVERYTHING) -> Call:
    """Ask what became of skills since these versions of them were loaded."""
    return _json("POST", "/check", {"skills": dict(loaded)}, _asking(query), {})


def view_skill(
    name: str,
    path: str | None = None,
    version: int | str | None = None,
    query: SkillQuery = EVERYTHING,
    raw: bool = False,
) -> Call:
    """Ask for the body of a skill, or for one of its files."""
    more = _query(path=path, version=version, raw=1 if raw else None)
    return Call("GET", _skill(name), (*_asking(query), *more))


def bundle(name: str, version: int | str | None = None, query: SkillQuery = EVERYTHING) -> Call:
    """Ask where the whole skill can be read."""
    return Call("GET", f"{_skill(name)}/bundle", (*_asking(query), *_query(version=version)))


def _asking(query: SkillQuery) -> tuple[tuple[str, str], ...]:
    """Say who asks."""
    scopes = tuple(pair for scope in query.scopes for pair in _query(scope=scope))
    return (*scopes, *_query(agent=query.agent, tier=query.tier))


def versions(
    name: str, scope: str | None = None, before: int | None = None, limit: int | None = None
) -> Call:
    """Ask for a page of a skill's versions."""
    query = _query(scope=scope, before=before, limit=limit)
    return Call("GET", f"{_skill(name)}/versions", query)


def diff(
    name: str,
    old: int | str | None = None,
    new: int | str | None = None,
    scope: str | None = None,
) -> Call:
    """Ask what changed between two versions."""
    members = {"from": old, "to": new}
    return Call("GET", f"{_skill(name)}/diff", _query(scope=scope, **members))


def rollback(
    name: str,
    version: int | str,
    key: str,
    message: str | None = None,
    scope: str | None = None,
    precondition: Precondition = NO_PRECONDITION,
) -> Call:
    """Ask to publish the files of an earlier version again; ``key`` as in ``publish_inline``."""
    body = {"version": version} if message is None else {"version": version, "message": message}
    headers = {**precondition.headers(), "Idempotency-Key": key}
    return _json("POST", f"{_skill(name)}/rollback", body, _query(scope=scope), headers)


def copy(
    name: str,
    to: str,
    key: str,
    version: int | str | None = None,
    scopes: Sequence[str] = (),
    message: str | None = None,
    precondition: Precondition = NO_PRECONDITION,
) -> Call:
    """Ask to publish a skill in another scope; ``key`` as in ``publish_inline``."""
    members = {"to": to, "version": version, "message": message}
    body = {name: value for name, value in members.items() if value is not None}
    query = tuple(pair for scope in scopes for pair in _query(scope=scope))
    headers = {**precondition.headers(), "Idempotency-Key": key}
    return _json("POST", f"{_skill(name)}/copy", body, query, headers)


def delete(
    name: str,
    key: str,
    scope: str | None = None,
    precondition: Precondition = NO_PRECONDITION,
) -> Call:
    """Ask to delete a skill; ``key`` as in ``publish_inline``."""
    headers = {**precondition.headers(), "Idempotency-Key": key}
    return Call("DELETE", _skill(name), _query(scope=scope), headers)


def configure(name: str, change: Mapping[str, object], scope: str | None = None) -> Call:
    """Ask to change what is decided about a skill; only the members in ``change`` do."""
    return _json("PATCH", _skill(name), change, _query(scope=scope), {})


def purge(name: str, version: int, reason: str | None = None, scope: str | None = None) -> Call:
    """Ask to remove the bytes of a version for good."""
    body = {"version": version} if reason is None else {"version": version, "reason": reason}
    return _json("POST", f"{_skill(name)}/purge", body, _query(scope=scope), {})


def maintain(task: str, **members: str | bool | None) -> Call:
    """Ask for one run of a task of maintenance, with those of its members that are not None."""
    body = {name: value for name, value in members.items() if value is not None}
    return _json("POST", f"/maintenance/{_segment(task, 'task')}", body, (), {})


def access() -> Call:
    """Ask which IAM roles may call."""
    return Call("GET", "/access")


def change_access(role: str, grant: Mapping[str, object] | None, reason: str | None = None) -> Call:
    """Ask to grant something to an IAM role, in the place of what it has; None takes it away."""
    body: dict[str, object] = {"role": role, "grant": grant}
    return _json("PATCH", "/access", body | ({"reason": reason} if reason else {}), (), {})


def create_upload(
    name: str,
    size: int | None = None,
    sha256: str | None = None,
    message: str | None = None,
    scope: str | None = None,
    precondition: Precondition = NO_PRECONDITION,
    dry_run: bool = False,
) -> Call:
    """Ask for a ticket; with ``size`` (bytes) and ``sha256`` (hex) it binds exactly those bytes."""
    members: dict[str, object] = {
        "name": name,
        "size": size,
        "sha256": sha256,
        "message": message,
        "dry_run": True if dry_run else None,
    }
    body = {key: value for key, value in members.items() if value is not None}
    return _json("POST", "/uploads", body, _query(scope=scope), precondition.headers())


def complete(upload_id: str) -> Call:
    """Ask to publish an upload now."""
    return Call("POST", f"{_upload(upload_id)}/complete")


def upload_state(upload_id: str) -> Call:
    """Ask what became of an upload."""
    return Call("GET", _upload(upload_id))


def publish_inline(
    name: str,
    skill: bytes | Mapping[str, str],
    key: str,
    message: str | None = None,
    scope: str | None = None,
    precondition: Precondition = NO_PRECONDITION,
) -> Call:
    """Ask to publish a small skill in the request itself.

    Args:
        name: The skill.
        skill: A zip archive, or text files by their paths.
        key: The idempotency key; a repeated call with the same one changes nothing.
        message: Why.
        scope: Where to.
        precondition: What must hold.
    """
    headers = {**precondition.headers(), "Idempotency-Key": key}
    return _skill_body("PUT", _skill(name), skill, message, _query(scope=scope), headers)


def validate(name: str | None, skill: bytes | Mapping[str, str]) -> Call:
    """Ask for the diagnostics of a publish, without one."""
    return _skill_body("POST", "/validate", skill, None, _query(name=name), {})


def _skill_body(
    method: str,
    path: str,
    skill: bytes | Mapping[str, str],
    message: str | None,
    query: tuple[tuple[str, str], ...],
    headers: Mapping[str, str],
) -> Call:
    if isinstance(skill, bytes):
        query = (*query, *_query(message=message))
        return Call(method, path, query, {**headers, "Content-Type": ZIP}, skill)
    body: dict[str, object] = {"files": dict(skill)}
    if message is not None:
        body["message"] = message
    return _json(method, path, body, query, headers)


def _json(
    method: str,
    path: str,
    body: Mapping[str, object],
    query: tuple[tuple[str, str], ...],
    headers: Mapping[str, str],
) -> Call:
    encoded = json.dumps(body, separators=(",", ":")).encode()
    return Call(method, path, query, {**headers, "Content-Type": JSON}, encoded)


def _query(**members: str | int | None) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, _text(str(value), name)) for name, value in members.items() if value is not None
    )


def _text(value: str, noun: str) -> str:
    # Command lines and file systems hand over bytes that are no UTF-8 as lone surrogates.
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise RequestInvalid(f"The {noun} is not valid Unicode text.")
    return value


def _skill(name: str) -> str:
    return f"/skills/{_segment(name, 'skill')}"


def _upload(upload_id: str) -> str:
    return f"/uploads/{_segment(upload_id, 'upload')}"


def _segment(value: str, noun: str) -> str:
    """Encode one path segment; dots too, because clients and proxies resolve ``..``."""
    if not value:
        raise RequestInvalid(f"Name the {noun}: an empty name is none.")
    return quote(_text(value, noun), safe="").replace(".", "%2E")
