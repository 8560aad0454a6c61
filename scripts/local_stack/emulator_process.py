"""Runs MiniStack on a socket that it inherits. Started by path, in the emulator's environment.

MiniStack's own command opens its port itself, and serves administrative calls (one of them wipes
every bucket) to any web page that finds the port. This refuses both those calls and requests that
a page from elsewhere makes in its reader's browser.

Arguments: the descriptor of the bound socket, and of the pipe that ends when the parent does.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    Scope = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
    Application = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
OPEN_PATHS = ("/_ministack/health", "/_ministack/ready")


def is_local(url: str) -> bool:
    """Tell whether an origin, or ``//`` and a Host header, names this machine's loopback."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return host in LOOPBACK or host.endswith(".localhost")


def is_refused(scope: Scope) -> bool:
    """Tell whether a request is none of ours."""
    headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
    if not is_local("//" + headers.get(b"host", "")):
        return True
    if b"origin" in headers and not is_local(headers[b"origin"]):
        return True
    path = scope["path"]
    return path.startswith("/_") and path not in OPEN_PATHS


def guarded(application: Application) -> Application:
    """Wrap an ASGI application so that refused requests get a 403 and never reach it."""

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and is_refused(scope):
            await send({"type": "http.response.start", "status": 403, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await application(scope, receive, send)

    return guard


def end_with_parent(lifeline: int) -> None:
    """Wait for the parent's end, then ask for a clean stop, and insist after five seconds."""
    os.read(lifeline, 1)
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(5)
    os._exit(1)


def main() -> None:
    """Serve until SIGTERM, SIGINT or the end of the parent."""
    listener, lifeline = int(sys.argv[1]), int(sys.argv[2])
    threading.Thread(target=end_with_parent, args=(lifeline,), daemon=True).start()
    # Not in the development environment, so there is nothing to type-check against.
    hypercorn = importlib.import_module("hypercorn.asyncio")
    config = importlib.import_module("hypercorn.config").Config()
    application = importlib.import_module("ministack.app").app
    config.bind = [f"fd://{listener}"]
    config.keep_alive_timeout = 75
    config.graceful_timeout = 0.5
    config.loglevel = "WARNING"
    tls = importlib.import_module("ministack.core.tls")
    if tls.use_ssl_enabled():
        config.certfile, config.keyfile = tls.resolve_tls_material()
    asyncio.run(hypercorn.serve(guarded(application), config))


if __name__ == "__main__":
    main()
