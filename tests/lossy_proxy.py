"""An HTTP proxy that loses replies and refuses requests, between a client and a real S3.

Requests pass byte for byte with the headers that they came with, ``Host`` included, so that the
signatures under them still hold. A lost reply belongs to a request that was applied: exactly what a
client cannot tell from one that never arrived.
"""

from __future__ import annotations

import contextlib
import random
import socket
import threading
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from http.client import HTTPConnection, HTTPException, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

UPSTREAM_SECONDS = 60.0
SLOW_DOWN = (
    b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
)
# Of one connection only; the other one gets its own.
_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length"})
_CONDITIONS = ("if-match", "if-none-match")


class Fate(Enum):
    """What becomes of a request."""

    PASS = "passed"
    LOSE = "applied, and its reply lost"
    REFUSE = "refused with 503"


@dataclass(frozen=True, slots=True)
class Message:
    """A request as the proxy sees it; ``conditional`` is a write that S3 may refuse with 412."""

    method: str
    path: str
    conditional: bool


def seeded(seed: int, *, lose: float = 0.15, refuse: float = 0.03) -> Callable[[Message], Fate]:
    """Return a decision that loses and refuses these shares of all requests, by a generator."""
    generator = random.Random(seed)

    def decide(_: Message) -> Fate:
        drawn = generator.random()
        if drawn < lose:
            return Fate.LOSE
        return Fate.REFUSE if drawn < lose + refuse else Fate.PASS

    return decide


def scripted(*fates: Fate, method: str = "PUT") -> Callable[[Message], Fate]:
    """Return a decision that gives these fates to the next requests of a method, then passes."""
    waiting = list(fates)

    def decide(message: Message) -> Fate:
        return waiting.pop(0) if waiting and message.method == method else Fate.PASS

    return decide


class LossyProxy:
    """A proxy on a free port of the loopback, in front of ``target``. Use it in ``with``.

    Args:
        target: Address of the real store, http.
        decide: Asked for the fate of each request, one at a time.

    Attributes:
        lost: Lost replies by what they were about: the method, and ``conditional`` before it for
            a conditional write that had been applied.
    """

    def __init__(self, target: str, decide: Callable[[Message], Fate]) -> None:
        parts = urlsplit(target)
        assert parts.scheme == "http" and parts.hostname and parts.port
        self.upstream = (parts.hostname, parts.port)
        self.lost: Counter[str] = Counter()
        self._decide = decide
        self._fates: Counter[Fate] = Counter()
        self._lock = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}
        )

    @property
    def url(self) -> str:
        """The proxy's address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def follow(self, decide: Callable[[Message], Fate]) -> None:
        """Decide otherwise from now on, and count anew."""
        with self._lock:
            self._decide = decide
            self._fates.clear()
            self.lost.clear()

    def count(self, fate: Fate | None = None) -> int:
        """Return how many requests met a fate, or how many there were."""
        with self._lock:
            return self._fates.total() if fate is None else self._fates[fate]

    def fate_of(self, message: Message) -> Fate:
        """Decide and count."""
        with self._lock:
            fate = self._decide(message)
            self._fates[fate] += 1
            return fate

    def note_lost(self, message: Message, status: int) -> None:
        """Count a reply that nobody will see."""
        applied = message.conditional and 200 <= status < 300
        with self._lock:
            self.lost["conditional " * applied + message.method] += 1

    def __enter__(self) -> LossyProxy:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.cut_connections()
        self._server.server_close()


def _cut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class _Server(ThreadingHTTPServer):
    # Ended by cutting their connections, and waited for.
    daemon_threads = False
    request_queue_size = 256

    def __init__(self, proxy: LossyProxy) -> None:
        self.proxy = proxy
        self._open: set[socket.socket] = set()
        self._cut = False
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)

    def opened(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.add(connection)
            if self._cut:
                _cut(connection)

    def closed(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.discard(connection)

    def cut_connections(self) -> None:
        with self._lock:
            self._cut = True
            for connection in self._open:
                _cut(connection)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that went away."""


class _Handler(BaseHTTPRequestHandler):
    """One connection of a client, with one connection of its own to the store."""

    protocol_version = "HTTP/1.1"
    # Head and body leave in one write, at once.
    wbufsize = -1
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.opened(self.connection)
        host, port = self.server.proxy.upstream
        self._store = HTTPConnection(host, port, timeout=UPSTREAM_SECONDS)

    def finish(self) -> None:
        self._store.close()
        self.server.closed(self.connection)
        with contextlib.suppress(OSError):
            super().finish()

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        conditional = any(name in self.headers for name in _CONDITIONS)
        message = Message(
            self.command, self.path, conditional and self.command in ("PUT", "DELETE")
        )
        fate = self.server.proxy.fate_of(message)
        if fate is Fate.REFUSE:
            self._answer(503, [("Content-Type", "application/xml")], SLOW_DOWN)
            return
        try:
            reply, content = self._forward(body)
        except (OSError, HTTPException):
            self.close_connection = True
            return
        if fate is Fate.LOSE:
            self.server.proxy.note_lost(message, reply.status)
            self.close_connection = True
            return
        self._answer(reply.status, reply.getheaders(), content)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _handle  # noqa: N815  # http.server's names

    def _forward(self, body: bytes) -> tuple[HTTPResponse, bytes]:
        self._store.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            self._store.putheader(name, value)
        self._store.endheaders(body or None)
        reply = self._store.getresponse()
        return reply, reply.read()

    def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response_only(status)
        length = str(len(content))
        for name, value in headers:
            if name.lower() not in _HOP:
                self.send_header(name, value)
            elif name.lower() == "content-length" and self.command == "HEAD":
                length = value
        if status not in (204, 304):
            self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def handle_expect_100(self) -> bool:
        """Ask for the body at once: what is buffered would reach the client too late."""
        going_on = super().handle_expect_100()
        self.wfile.flush()
        return going_on

    def log_message(self, format: str, *args: object) -> None:
        """Keep the tests' output clean."""
