"""API Gateway's part: HTTP in, events to functions, their results out; and who may come in."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from local_stack import http_events
from local_stack.environments import PAYLOAD_BYTES, Outcome, Pool
from local_stack.http_events import CallerInvalid, Reply, ResultInvalid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Receive, Scope, Send

    from local_stack.routing import Match, RouteTable

BODY_BYTES = 10 * 1024 * 1024
DRAINED_BYTES = 8 * BODY_BYTES
INTEGRATION_SECONDS = 30.0
LOG = logging.getLogger("local_stack.gateway")


class Gateway:
    """The ASGI application in front of the functions.

    Args:
        port: The port that it is served on. Requests for another host, and requests by web pages
            from elsewhere, are refused: without claims a caller is an administrator, so a page that
            rebinds its name to 127.0.0.1 must not get through.
    """

    def __init__(self, table: RouteTable, pools: Mapping[str, Pool], port: int) -> None:
        self._table = table
        self._pools = pools
        self._port = port
        # Clients leave HTTP's own port out.
        suffix = "" if port == 80 else f":{port}"
        names = [f"{name}{suffix}" for name in ("127.0.0.1", "localhost", "[::1]")]
        self._hosts = frozenset(names)
        self._origins = frozenset(f"http://{name}" for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            response = await self._respond(request)
        except ClientDisconnect:
            return
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        origin = request.headers.get("origin")
        if request.headers.get("host", "").lower() not in self._hosts or (
            origin is not None and origin.lower() not in self._origins
        ):
            return _message(403, "Forbidden")
        match = self._table.find(request.method, request.scope["path"])
        if match is None:
            return _message(404, "Not Found")
        body = await _read(request)
        if body is None:
            return _message(413, "Request Too Long")
        try:
            payload = self._payload(request, body, match)
        except CallerInvalid:
            return _message(401, "Unauthorized")
        if len(payload) > PAYLOAD_BYTES:
            return _message(413, "Request Too Long")
        return await self._integrate(match, payload)

    async def _integrate(self, match: Match, payload: bytes) -> Response:
        pool = self._pools[match.route.function]
        try:
            async with asyncio.timeout(INTEGRATION_SECONDS):
                outcome = await pool.invoke(payload)
        except TimeoutError:
            return _message(503, "Service Unavailable")
        return self._response(match, outcome)

    def _response(self, match: Match, outcome: Outcome) -> Response:
        if outcome.succeeded:
            try:
                return _to_response(http_events.reply_from_result(outcome.body))
            except ResultInvalid as error:
                LOG.error("%s returned no HTTP response: %s", match.route.function, error)
        return _message(500, "Internal Server Error")

    def _payload(self, request: Request, body: bytes, match: Match) -> bytes:
        event = http_events.request_event(
            http_events.Request(
                method=request.method,
                path=request.scope["path"],
                query=request.scope["query_string"].decode("latin-1"),
                headers=request.headers.items(),
                body=body,
                client=request.client.host if request.client else "127.0.0.1",
                protocol=f"HTTP/{request.scope['http_version']}",
                port=self._port,
            ),
            match,
        )
        return json.dumps(event).encode()


async def _read(request: Request) -> bytes | None:
    """Read a body whole; None when it is over API Gateway's limit."""
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= BODY_BYTES:
            chunks.append(chunk)
        elif size > DRAINED_BYTES:
            break
        # What is too long is still read, or a client that is sending would miss the answer.
    return b"".join(chunks) if size <= BODY_BYTES else None


def _message(status: int, text: str) -> Response:
    return JSONResponse({"message": text}, status_code=status)


def _to_response(reply: Reply) -> Response:
    response = Response(reply.body, status_code=reply.status)
    response.raw_headers += [
        (name.encode("latin-1"), value.encode("latin-1", "replace"))
        for name, value in reply.headers
    ]
    return response
