"""Requests and responses of an HTTP API (payload format 2.0), and how one becomes the other.

API Gateway routed the request already; ``routeKey`` says to what. Source: AWS API Gateway
developer guide, "Lambda proxy integrations for HTTP APIs".
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote

from skill_registry.errors import RequestInvalid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Event = dict[str, Any]
Result = dict[str, Any]

JSON = "application/json"

# Bytes from which on a body is compressed for a client that takes it so.
GZIP_FROM = 1024
# Lambda answers at most 6 MB; escapes and headers take their part (AWS Lambda quotas).
LARGEST_ANSWER = 5 * 1024 * 1024

_CODING = "content-encoding"
_GZIP_SUFFIX = "-gzip"
_WEIGHT = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?")
_PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))
_CORRELATION = re.compile(r"[A-Za-z0-9._-]{1,64}")


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
        return _whole(str(self._http.get("method", "")))

    @property
    def path(self) -> str:
        """The path, percent-decoded once by API Gateway."""
        return _whole(str(self.event.get("rawPath", "")))

    @property
    def id(self) -> str:
        """API Gateway's id of the request."""
        return str(_object(self.event.get("requestContext")).get("requestId", ""))

    @property
    def correlation_id(self) -> str:
        """What ties this call to others: ``X-Correlation-Id`` where it is one, else ``id``."""
        given = self.headers.get("x-correlation-id", "")
        return given if _CORRELATION.fullmatch(given) else self.id

    @property
    def _http(self) -> Mapping[str, Any]:
        return _object(_object(self.event.get("requestContext")).get("http"))

    @cached_property
    def headers(self) -> dict[str, str]:
        """Headers by lower-case name."""
        given = _object(self.event.get("headers"))
        return {str(name).lower(): _whole(str(value)) for name, value in given.items()}

    @cached_property
    def query(self) -> list[tuple[str, str]]:
        """The query as sent, decoded once."""
        raw = str(self.event.get("rawQueryString") or "")
        try:
            raw.encode()
            return parse_qsl(raw, keep_blank_values=True, max_num_fields=100, errors="strict")
        except (ValueError, UnicodeDecodeError) as error:
            raise RequestInvalid(
                "The query string cannot be read.", code="query_invalid"
            ) from error

    def path_parameter(self, name: str) -> str:
        """Return a part of the path, decoded once by API Gateway."""
        return _whole(str(_object(self.event.get("pathParameters")).get(name, "")))

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
        try:
            if not self.event.get("isBase64Encoded"):
                return str(raw).encode()
            return base64.b64decode(raw, validate=True)
        except ValueError as error:
            raise RequestInvalid("The body cannot be decoded.", code="body_invalid") from error

    def json(self) -> dict[str, Any]:
        """Return the body as a JSON object.

        Raises:
            RequestInvalid: ``body_not_json``, or ``body_invalid`` where it cannot be decoded.
        """
        body = self.body
        try:
            document = json.loads(body, object_pairs_hook=_once)
            # An escaped half of a surrogate pair is JSON, and no text that could be stored; a
            # number too large for a float is JSON, and no number that could be answered.
            json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
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

    @cached_property
    def takes_gzip(self) -> bool:
        """Whether the client asks for gzip (RFC 9110, section 12.5.3)."""
        given = self.headers.get("accept-encoding", "")
        weights = dict(reversed([_media_range(part) for part in given.split(",")]))
        named = (weights[coding] for coding in ("gzip", "x-gzip", "*") if coding in weights)
        return next(named, 0.0) > 0

    def not_modified(self, etag: str) -> bool:
        """Whether the client has this representation (RFC 9110, section 13.1.2)."""
        given = self.headers.get("if-none-match", "")
        tags = {tag.strip().removeprefix("W/") for tag in given.split(",")}
        return "*" in tags or etag in tags


def _media_range(text: str) -> tuple[str, float]:
    kind, *parameters = (part.strip().lower() for part in text.split(";"))
    for parameter in parameters:
        if parameter.startswith("q="):
            return kind, float(parameter[2:]) if _WEIGHT.fullmatch(parameter[2:]) else 0.0
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
                **{name: _header_value(value) for name, value in self.headers.items()},
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


def _object(value: Any) -> Mapping[str, Any]:
    """Return a member of an event that is to be an object; nothing is in anything else."""
    return value if isinstance(value, dict) else {}


def _whole(text: str) -> str:
    """Replace halves of surrogate pairs, which no answer and no log could be written with."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _header_value(text: str) -> str:
    """Escape in percent what no header may hold, so that no text makes a header of its own."""
    if text.isascii() and text.isprintable():
        return text
    return quote(text, safe=_PRINTABLE, errors="replace")


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
    return conditional(request, representation(request, response, version))


def representation(
    request: Request, response: Response, version: int | str | None = None
) -> Response:
    """Return the answer with its validators, in the coding that the client takes.

    Nothing but the header Accept-Encoding of the request counts. A coding has an ETag of its own,
    since its bytes are others (RFC 9110, section 8.8.3).
    """
    etag = strong_etag(response.body, version)
    headers = {
        "cache-control": "private, no-cache",
        "vary": "accept, accept-encoding, authorization",
        **response.headers,
    }
    raw = response.body.encode() if isinstance(response.body, str) else response.body
    if request.takes_gzip and len(raw) >= GZIP_FROM:
        packed = gzip.compress(raw, compresslevel=6, mtime=0)
        if len(packed) < len(raw):
            headers |= {"etag": _twin(etag), _CODING: "gzip"}
            return Response(response.status, packed, response.content_type, headers)
    headers["etag"] = etag
    return Response(response.status, response.body, response.content_type, headers)


def conditional(request: Request, response: Response) -> Response:
    """Answer 304 to a client that has this representation, in whatever coding."""
    etag = response.headers["etag"]
    held = next((tag for tag in (etag, _twin(etag)) if request.not_modified(tag)), None)
    if held is None:
        return response
    headers = {name: value for name, value in response.headers.items() if name != _CODING}
    return Response(304, b"", response.content_type, {**headers, "etag": held})


def _twin(etag: str) -> str:
    """Return the ETag of the same content in the other coding."""
    bare = etag[1:-1]
    if bare.endswith(_GZIP_SUFFIX):
        return f'"{bare.removesuffix(_GZIP_SUFFIX)}"'
    return f'"{bare}{_GZIP_SUFFIX}"'
