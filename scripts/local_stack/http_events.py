"""Turns HTTP requests into API Gateway events, payload format 2.0, and results into responses.

Source: API Gateway developer guide, "Lambda proxy integrations for HTTP APIs". Figures that it does
not state (which types count as text, how claims are written) are those seen in real events.
"""

from __future__ import annotations

import base64
import binascii
import json
import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from local_stack.routing import Match

ACCOUNT = "000000000000"
LOCAL_ADMINISTRATOR = f"arn:aws:iam::{ACCOUNT}:role/local-administrator"
CLAIMS_HEADER = "x-local-claims"
ROLE_HEADER = "x-local-role"
TEXT_TYPES = ("application/json", "application/javascript", "application/xml")


class CallerInvalid(ValueError):
    """The local headers do not say who calls: no JSON object of claims, no role, or both."""


class ResultInvalid(ValueError):
    """A function returned something that API Gateway cannot turn into a response."""


@dataclass(frozen=True, slots=True)
class Request:
    """An HTTP request as it came in.

    ``path`` is decoded, ``query`` is not; ``headers`` has lower-case names and keeps repetitions.
    """

    method: str
    path: str
    query: str
    headers: Sequence[tuple[str, str]]
    body: bytes = b""
    client: str = "127.0.0.1"
    protocol: str = "HTTP/1.1"
    port: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP response to send."""

    status: int
    headers: Sequence[tuple[str, str]] = field(default_factory=tuple)
    body: bytes = b""


def request_event(request: Request, match: Match) -> dict[str, Any]:
    """Return the event that API Gateway would pass on for a request on the ``$default`` stage.

    Raises:
        CallerInvalid: The local headers do not say who calls.
    """
    headers, cookies = _headers(request)
    authorizer = _authorizer(headers.pop(CLAIMS_HEADER, None), headers.pop(ROLE_HEADER, None))
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": match.route.key,
        "rawPath": request.path,
        "rawQueryString": request.query,
        "headers": headers,
        "requestContext": _context(request, match, headers, authorizer),
        "isBase64Encoded": False,
    }
    if cookies:
        event["cookies"] = cookies
    query: dict[str, list[str]] = {}
    for name, value in parse_qsl(request.query, keep_blank_values=True):
        query.setdefault(name, []).append(value)
    if query:
        event["queryStringParameters"] = {name: ",".join(value) for name, value in query.items()}
    if match.parameters:
        event["pathParameters"] = dict(match.parameters)
    if request.body:
        event["body"], event["isBase64Encoded"] = _body(request.body, headers)
    return event


def _headers(request: Request) -> tuple[dict[str, str], list[str]]:
    headers: dict[str, str] = {}
    cookies: list[str] = []
    for name, value in request.headers:
        if name == "cookie":
            cookies += [part.strip() for part in value.split(";") if part.strip()]
        else:
            headers[name] = f"{headers[name]},{value}" if name in headers else value
    headers["x-forwarded-for"] = request.client
    headers["x-forwarded-port"] = str(request.port)
    headers["x-forwarded-proto"] = "http"
    return headers, cookies


def _context(
    request: Request, match: Match, headers: Mapping[str, str], authorizer: Mapping[str, Any]
) -> dict[str, Any]:
    now = time.time()
    domain = headers.get("host", "localhost").rsplit(":", 1)[0]
    return {
        "accountId": ACCOUNT,
        "apiId": "local",
        "authorizer": authorizer,
        "domainName": domain,
        "domainPrefix": domain.split(".", 1)[0],
        "http": {
            "method": request.method,
            "path": request.path,
            "protocol": request.protocol,
            "sourceIp": request.client,
            "userAgent": headers.get("user-agent", ""),
        },
        "requestId": uuid.uuid4().hex,
        "routeKey": match.route.key,
        "stage": "$default",
        "time": time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(now)),
        "timeEpoch": int(now * 1000),
    }


def _authorizer(claims: str | None, role: str | None) -> dict[str, Any]:
    """Stand in for API Gateway's authorizer: claims or a role's ARN, else a local administrator.

    The ARN is a role's or a session's; what is neither, the registry refuses as it does there.
    """
    if role is not None and (claims is not None or not role.strip()):
        raise CallerInvalid("give claims, or the ARN of a role")
    if claims is not None:
        try:
            values = json.loads(claims)
        except ValueError as error:
            raise CallerInvalid(str(error)) from error
        if not isinstance(values, dict):
            raise CallerInvalid("not an object")
        written = {name: claim_text(value) for name, value in values.items()}
        return {"jwt": {"claims": written, "scopes": None}}
    return {
        "iam": {
            "accessKey": "LOCAL",
            "accountId": ACCOUNT,
            "callerId": "LOCAL:local",
            "cognitoIdentity": None,
            "principalOrgId": None,
            "userArn": role or LOCAL_ADMINISTRATOR,
            "userId": "LOCAL:local",
        }
    }


def claim_text(value: Any) -> str:
    """Write a claim as API Gateway does: everything is text, and a list is ``[a b]``."""
    if isinstance(value, list):
        return f"[{' '.join(claim_text(item) for item in value)}]"
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else json.dumps(value)


def _body(body: bytes, headers: Mapping[str, str]) -> tuple[str, bool]:
    media_type = headers.get("content-type", "text/plain").split(";", 1)[0].strip().lower()
    is_text = media_type.startswith("text/") or media_type in TEXT_TYPES
    if is_text and "content-encoding" not in headers:
        try:
            return body.decode("utf-8"), False
        except UnicodeDecodeError:
            pass
    return base64.b64encode(body).decode("ascii"), True


def reply_from_result(result: bytes) -> Reply:
    """Return the response that API Gateway makes of a function's result.

    A result without ``statusCode`` is the body of a 200, as JSON.

    Raises:
        ResultInvalid: The result has no such form.
    """
    value = json.loads(result or b"null")
    if not isinstance(value, dict) or "statusCode" not in value:
        return Reply(200, (("content-type", "application/json"),), json.dumps(value).encode())
    try:
        status = int(value["statusCode"])
        headers = [
            (name.lower(), claim_text(content))
            for name, content in (value.get("headers") or {}).items()
            if name.lower() not in ("content-length", "transfer-encoding", "connection")
        ]
        headers += [("set-cookie", cookie) for cookie in value.get("cookies") or ()]
        content = value.get("body")
        body = (content if isinstance(content, str) else json.dumps(content)).encode()
        if content is None:
            body = b""
        elif value.get("isBase64Encoded"):
            body = base64.b64decode(body, validate=True)
    except (TypeError, ValueError, AttributeError, binascii.Error) as error:
        raise ResultInvalid(str(error)) from error
    if not 100 <= status <= 599:
        raise ResultInvalid(f"status {status}")
    if body and not any(name == "content-type" for name, _ in headers):
        headers.append(("content-type", "text/plain; charset=utf-8"))
    return Reply(status, tuple(headers), body)
