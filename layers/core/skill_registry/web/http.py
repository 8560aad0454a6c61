"""Requests and responses of an HTTP API (payload format 2.0), and how one becomes the other.

API Gateway routed the request already; ``routeKey`` says to what. Source: AWS API Gateway
developer guide, "Lambda proxy integrations for HTTP APIs".
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from skill_registry.errors import RequestInvalid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Event = dict[str, Any]
Result = dict[str, Any]

JSON = "application/json"


@dataclass(frozen=True)
class Request:
    """One request. Header names are lower case; the query keeps repeated keys in order."""

    event: Event

    @property
    def route(self) -> str:
        """Method and path template, ``GET /skills/{name}``; ``$default`` where none matched."""
        return str(self.event.get("routeKey", "$default"))

    @property
    def method(self) -> str:
        """The HTTP method."""
        return str(self._http.get("method", ""))

    @property
    def path(self) -> str:
        """The path, percent-decoded once by API Gateway."""
        return str(self.event.get("rawPath", ""))

    @property
    def id(self) -> str:
        """API Gateway's id of the request."""
        return str(self.event.get("requestContext", {}).get("requestId", ""))

    @property
    def _http(self) -> Mapping[str, Any]:
        http: Mapping[str, Any] = self.event.get("requestContext", {}).get("http", {})
        return http

    @cached_property
    def headers(self) -> dict[str, str]:
        """Headers by lower-case name."""
        given = self.event.get("headers") or {}
        return {str(name).lower(): str(value) for name, value in given.items()}

    @cached_property
    def query(self) -> list[tuple[str, str]]:
        """The query as sent, decoded once."""
        raw = str(self.event.get("rawQueryString") or "")
        try:
            return parse_qsl(raw, keep_blank_values=True, max_num_fields=100, errors="strict")
        except (ValueError, UnicodeDecodeError) as error:
            raise RequestInvalid(
                "The query string cannot be read.", code="query_invalid"
            ) from error

    def path_parameter(self, name: str) -> str:
        """Return a part of the path, decoded once by API Gateway."""
        return str((self.event.get("pathParameters") or {}).get(name, ""))

    def values(self, name: str) -> tuple[str, ...]:
        """Return every value of a repeatable query key."""
        return tuple(value for key, value in self.query if key == name)

    def value(self, name: str) -> str | None:
        """Return the value of a query key that may be given once.

        Raises:
            RequestInvalid: ``query_invalid`` when it is given more often.
        """
        found = self.values(name)
        if len(found) > 1:
            raise RequestInvalid(f"`{name}` may be given once only.", code="query_invalid")
        return found[0] if found else None

    @cached_property
    def body(self) -> bytes:
        """The body, decoded."""
        raw = self.event.get("body") or ""
        if not self.event.get("isBase64Encoded"):
            return str(raw).encode()
        try:
            return base64.b64decode(raw, validate=True)
        except ValueError as error:
            raise RequestInvalid("The body cannot be decoded.", code="body_invalid") from error

    def json(self) -> dict[str, Any]:
        """Return the body as a JSON object.

        Raises:
            RequestInvalid: ``body_not_json``.
        """
        try:
            document = json.loads(self.body, object_pairs_hook=_once)
            # An escaped half of a surrogate pair is JSON, and no text that could be stored.
            json.dumps(document, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise RequestInvalid(
                "The body must be a JSON object that names no member twice.", code="body_not_json"
            )
        return document

    def content_type(self) -> str:
        """Return the media type of the body, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def accepts(self, offered: Sequence[str]) -> str:
        """Return the offered media type that the client prefers, the first when it has none.

        Source: RFC 9110, section 12.5.1, without parameters other than ``q``.
        """
        ranges = [_media_range(part) for part in self.headers.get("accept", "*/*").split(",")]
        best = max(offered, key=lambda kind: (_quality(kind, ranges), -offered.index(kind)))
        return best if _quality(best, ranges) > 0 else offered[0]

    def not_modified(self, etag: str) -> bool:
        """Whether the client has this representation (RFC 9110, section 13.1.2)."""
        given = self.headers.get("if-none-match", "")
        tags = {tag.strip().removeprefix("W/") for tag in given.split(",")}
        return "*" in tags or etag in tags


def _media_range(text: str) -> tuple[str, float]:
    kind, *parameters = (part.strip().lower() for part in text.split(";"))
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return kind, float(parameter[2:])
            except ValueError:
                return kind, 0.0
    return kind, 1.0


def _quality(kind: str, ranges: Sequence[tuple[str, float]]) -> float:
    """The most specific range that covers the type decides."""
    for wanted in (kind, kind.partition("/")[0] + "/*", "*/*"):
        for given, quality in ranges:
            if given == wanted:
                return quality
    return 0.0


@dataclass(frozen=True, slots=True)
class Response:
    """One response; a body of bytes that is not UTF-8 text travels in base64."""

    status: int = 200
    body: bytes | str = b""
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)

    def to_result(self) -> Result:
        """Return what Lambda hands to API Gateway."""
        encoded, text = _encoded(self.body)
        return {
            "statusCode": self.status,
            "headers": {
                "content-type": self.content_type,
                "x-content-type-options": "nosniff",
                **self.headers,
            },
            "body": text,
            "isBase64Encoded": encoded,
        }


def _encoded(body: bytes | str) -> tuple[bool, str]:
    if isinstance(body, str):
        return False, body
    try:
        return False, body.decode()
    except UnicodeDecodeError:
        return True, base64.b64encode(body).decode()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Two members of one name would mean one thing to us and another to somebody else."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member is named twice")
    return members


def json_response(
    document: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Answer with a JSON document."""
    return Response(status, json.dumps(document, ensure_ascii=False), JSON, headers or {})


def strong_etag(body: bytes | str, version: int | str | None = None) -> str:
    """Return the ETag of a representation; it starts with the version where there is one."""
    raw = body.encode() if isinstance(body, str) else body
    digest = hashlib.sha256(raw).hexdigest()[:32]
    return f'"{version}-{digest}"' if isinstance(version, int) else f'"{digest}"'


def revalidated(request: Request, response: Response, version: int | str | None = None) -> Response:
    """Add the validators; answer 304 to a client that has this representation already."""
    etag = strong_etag(response.body, version)
    headers = {
        "etag": etag,
        "cache-control": "private, no-cache",
        "vary": "accept, authorization",
        **response.headers,
    }
    if request.not_modified(etag):
        return Response(304, b"", response.content_type, headers)
    return Response(response.status, response.body, response.content_type, headers)
