"""Lambda's Runtime API on loopback ports, one port for each execution environment.

Source: AWS Lambda developer guide, "Using the Lambda runtime API".
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import uuid
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from local_stack.environments import PAYLOAD_BYTES, Environment, Outcome

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Iterator, Mapping

    from starlette.requests import Request
    from starlette.types import ASGIApp

PREFIX = "/2018-06-01/runtime"
# Lambda takes a hundred bytes more in a response than it takes in a request.
RESULT_BYTES = PAYLOAD_BYTES + 100


class Server(uvicorn.Server):
    """A uvicorn server that leaves signals to its owner."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install nothing."""
        yield


def make_server(application: ASGIApp) -> Server:
    """Return a quiet HTTP/1.1 server for an application, to be given bound sockets."""
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    return Server(
        uvicorn.Config(
            application,
            lifespan="off",
            ws="none",
            http="h11",
            loop="asyncio",
            access_log=False,
            log_config=None,
            server_header=False,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=2,
        )
    )


@contextlib.asynccontextmanager
async def serving(application: ASGIApp, sockets: list[socket.socket]) -> AsyncIterator[None]:
    """Serve an application on bound sockets while the context lasts; closes them."""
    server = make_server(application)
    task = asyncio.create_task(server.serve(sockets=sockets))
    while not server.started and not task.done():
        await asyncio.sleep(0.005)
    try:
        yield
    finally:
        server.should_exit = True
        await task


def runtime_api(environments: Mapping[int, Environment]) -> Starlette:
    """Return the application that serves environments, each on its own port."""

    def environment_of(request: Request) -> Environment:
        return environments[request.scope["server"][1]]

    async def next_invocation(request: Request) -> Response:
        environment = environment_of(request)
        invocation = await environment.next()
        if invocation is None:
            return Response(status_code=410)
        headers = {
            "Lambda-Runtime-Aws-Request-Id": invocation.id,
            "Lambda-Runtime-Deadline-Ms": str(invocation.deadline),
            "Lambda-Runtime-Invoked-Function-Arn": environment.pool.arn,
            "Lambda-Runtime-Trace-Id": f"Root=1-{int(time.time()):08x}-{uuid.uuid4().hex[:24]}",
        }
        return Response(invocation.payload, headers=headers, media_type="application/json")

    async def take_response(request: Request) -> Response:
        body = await request.body()
        if len(body) > RESULT_BYTES:
            kind, answer = "error", _answer(413, "RequestEntityTooLarge")
        else:
            kind, answer = "response", _answer(202)
        return _finish(request, Outcome(kind, body[:RESULT_BYTES]), answer)

    async def take_error(request: Request) -> Response:
        return _finish(request, Outcome("error", await request.body()), _answer(202))

    async def take_init_error(request: Request) -> Response:
        # The process writes the error into its log, ends, and is started again.
        await request.body()
        return _answer(202)

    def _finish(request: Request, outcome: Outcome, answer: Response) -> Response:
        known = environment_of(request).finish(request.path_params["id"], outcome)
        return answer if known else _answer(400, "InvalidRequestID")

    return Starlette(
        routes=[
            Route(f"{PREFIX}/invocation/next", next_invocation),
            Route(f"{PREFIX}/invocation/{{id}}/response", take_response, methods=["POST"]),
            Route(f"{PREFIX}/invocation/{{id}}/error", take_error, methods=["POST"]),
            Route(f"{PREFIX}/init/error", take_init_error, methods=["POST"]),
        ]
    )


def _answer(status: int, error: str | None = None) -> Response:
    body = {"errorType": error} if error else {"status": "OK"}
    return JSONResponse(body, status_code=status)
