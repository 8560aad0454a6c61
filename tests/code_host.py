"""A code host on the loopback that answers as GitHub's REST API does, over real repositories.

It has the addresses of GitHub Enterprise Server: the API below ``/api/v3``, archives below
``/codeload``. Sources: GitHub REST API, "Get a commit", "Download a repository archive (zip)",
"Rate limits for the REST API", "Redirects", "Authenticating to the REST API".
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
import time
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from git_repositories import Repository

API = "/api/v3"
CODELOAD = "/codeload"
# What the link to an archive of a private repository carries; it is no token of the API.
DOWNLOAD_TOKEN = "made-up-token-of-a-download"
SHA_TYPES = ("application/vnd.github.sha", "application/vnd.github.v3.sha")

_ASKED = re.compile(
    rf"{API}/(?:repos/(?P<name>[^/]+/[^/]+)|repositories/(?P<id>[0-9]+))"
    r"/(?P<what>commits|zipball)/(?P<ref>.+)"
)
_ARCHIVE = re.compile(rf"{CODELOAD}/(?P<name>[^/]+/[^/]+)/legacy\.zip/(?P<ref>.+)")


@dataclass(frozen=True, slots=True)
class Request:
    """A request: the path as it came, with its query; names of headers in lower case."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]

    def header(self, name: str) -> str | None:
        """Return a header's first value."""
        return next((value for key, value in self.headers if key == name.lower()), None)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(slots=True)
class Fault:
    """What befalls the next requests whose path contains a text.

    Attributes:
        match: That text: ``commits``, ``zipball``, ``legacy.zip`` (the download), ``acme/kit``.
        status: Answered instead; None lets the right answer be made, and the rest changes that.
        headers: Put over the answer's own.
        body: Instead of the answer's.
        cut: So many bytes of the body are sent after the headers of all of it.
        drop: The connection ends without an answer.
        transform: Given the body, returns what is sent.
        times: How many requests it befalls.
        before: Called first, without arguments.
    """

    match: str
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | str | None = None
    cut: int | None = None
    drop: bool = False
    transform: Callable[[bytes], bytes] | None = None
    times: int = 1
    before: Callable[[], object] | None = None

    def changed(self, reply: Reply) -> Reply:
        """Return what is answered instead."""
        headers = {**reply.headers, **{key.lower(): it for key, it in self.headers.items()}}
        body = b"" if self.status is not None else reply.body
        if self.body is not None:
            body = self.body.encode() if isinstance(self.body, str) else self.body
        if self.transform is not None:
            body = self.transform(body)
        return Reply(self.status or reply.status, headers, body)


@dataclass(slots=True)
class _Known:
    """A repository of the host, under its number, which stays through every renaming."""

    number: int
    name: str
    repository: Repository
    private: bool


class CodeHost:
    """A code host at ``url``. Use it in ``with``.

    Attributes:
        token: The one token that the API accepts, and that shows private repositories.
        requests: Every request, in the order of arrival.
        leaks: Those for an archive which carried the token of the API.
        faults: Looked through from the front by every request; the first that matches befalls it.
        chunked: Whether archives come without a Content-Length, as GitHub sends many.
    """

    def __init__(self) -> None:
        self.token: str | None = None
        self.requests: list[Request] = []
        self.leaks: list[Request] = []
        self.faults: list[Fault] = []
        self.chunked = False
        self._known: dict[int, _Known] = {}
        # Names are told apart without regard to case, and old ones lead to where a repository went.
        self._names: dict[str, int] = {}
        self._lock = threading.Lock()
        self._used = 0
        self._server = Server(partial(_Answering, self))

    @property
    def url(self) -> str:
        """Its address, of the web pages that it does not have."""
        return self._server.url

    def __enter__(self) -> CodeHost:
        self._server.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.stop()

    def add(self, name: str, repository: Repository, *, private: bool = False) -> None:
        """Show a repository under ``owner/name``."""
        number = 1000 + len(self._known)
        self._known[number] = _Known(number, name, repository, private)
        self._names[name.lower()] = number

    def rename(self, old: str, new: str) -> None:
        """Give a repository another owner or name; the old one answers that it moved."""
        known = self._known[self._names[old.lower()]]
        known.name = new
        self._names[new.lower()] = known.number

    def remove(self, name: str) -> None:
        """Forget a repository, and each name that led to it."""
        number = self._names[name.lower()]
        self._names = {key: value for key, value in self._names.items() if value != number}
        # Its number is never given to another one.
        self._known[number].name = ""

    def count(self, match: str) -> int:
        """Return how many requests had a path with this text."""
        return sum(match in request.path for request in self.requests)

    def take(self, request: Request) -> Fault | None:
        """Note a request, and return what befalls it."""
        with self._lock:
            self.requests.append(request)
            found = next((fault for fault in self.faults if fault.match in request.path), None)
            if found is not None:
                found.times -= 1
                if found.times <= 0:
                    self.faults.remove(found)
        return found

    def answer(self, request: Request) -> Reply:
        """Answer as the real host would."""
        path, _, query = request.path.partition("?")
        if request.method == "GET" and (asked := _ARCHIVE.fullmatch(path)):
            return self._archive(request, unquote(asked["name"]), unquote(asked["ref"]), query)
        if not path.startswith(f"{API}/"):
            return Reply(404, {"content-type": "text/plain"}, b"Not Found")
        reply = self._api(request, path)
        return Reply(reply.status, {**self._rate_limit(request), **reply.headers}, reply.body)

    def _api(self, request: Request, path: str) -> Reply:
        shown = request.header("authorization")
        if not request.header("user-agent"):
            return _message(403, "Request forbidden by administrative rules.")
        if shown is not None and not self._accepts(shown):
            return _message(401, "Bad credentials")
        asked = _ASKED.fullmatch(path)
        if asked is None or request.method != "GET":
            return _message(404, "Not Found")
        known = self._look_up(asked["name"], asked["id"])
        if known is None or (known.private and shown is None):
            return _message(404, "Not Found")
        if asked["name"] and unquote(asked["name"]).lower() != known.name.lower():
            place = f"{self.url}{API}/repositories/{known.number}/{asked['what']}/{asked['ref']}"
            return _message(301, "Moved Permanently", {"location": place}, url=place)
        ref = unquote(asked["ref"])
        if asked["what"] == "zipball":
            token = f"?token={DOWNLOAD_TOKEN}" if known.private else ""
            place = f"{self.url}{CODELOAD}/{known.name}/legacy.zip/{asked['ref']}{token}"
            return Reply(302, {"location": place, "content-type": "text/html"}, b"")
        return _commit(known.repository, ref, request.header("accept") or "")

    def _accepts(self, authorization: str) -> bool:
        scheme, _, token = authorization.partition(" ")
        return scheme.lower() in {"bearer", "token"} and token == self.token

    def _look_up(self, name: str | None, number: str | None) -> _Known | None:
        found = self._names.get(unquote(name).lower()) if name else int(number or 0)
        known = self._known.get(found) if found is not None else None
        return known if known is not None and known.name else None

    def _rate_limit(self, request: Request) -> dict[str, str]:
        with self._lock:
            self._used += 1
            used = self._used
        limit = 5000 if request.header("authorization") else 60
        return {
            "x-ratelimit-limit": str(limit),
            # The end of it comes only by a fault.
            "x-ratelimit-remaining": str(max(limit - used, 1)),
            "x-ratelimit-used": str(used),
            "x-ratelimit-reset": str(int(time.time()) + 3600),
            "x-ratelimit-resource": "core",
        }

    def _archive(self, request: Request, name: str, ref: str, query: str) -> Reply:
        if request.header("authorization") is not None:
            with self._lock:
                self.leaks.append(request)
        known = self._look_up(name, None)
        missing = Reply(404, {"content-type": "text/plain; charset=utf-8"}, b"404: Not Found")
        if known is None or known.name.lower() != name.lower():
            return missing
        if known.private and parse_qs(query).get("token") != [DOWNLOAD_TOKEN]:
            return missing
        sha = known.repository.find(ref)
        if sha is None:
            return missing
        stem = f"{known.name.replace('/', '-')}-{sha[:7]}"
        headers = {
            "content-type": "application/zip",
            "content-disposition": f"attachment; filename={stem}.zip",
        }
        return Reply(200, headers, known.repository.archive(sha, f"{stem}/"))


class Server(ThreadingHTTPServer):
    """A server on a free port of the loopback, which leaves nothing open or running behind."""

    daemon_threads = False

    def __init__(self, handler: Callable[..., Handler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self._open: set[Any] = set()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End every connection, and wait for every thread."""
        self.shutdown()
        self._thread.join()
        with self._lock:
            still_open = list(self._open)
        # A client that keeps its connection would be waited for.
        for connection in still_open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that went away; tests make them do so."""


class Handler(BaseHTTPRequestHandler):
    """What the code host and its proxy have in common."""

    protocol_version = "HTTP/1.1"
    # Head and body are two writes; the second would wait for the client's late acknowledgement.
    disable_nagle_algorithm = True

    def read(self) -> Request:
        """Return the request, its body read and dropped: no call of the API here has one."""
        self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = tuple((name.lower(), value) for name, value in self.headers.items())
        return Request(self.command, self.path, headers)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the tests' output clean."""


class _Answering(Handler):
    def __init__(self, host: CodeHost, *connection: Any) -> None:
        self._host = host
        super().__init__(*connection)

    def _handle(self) -> None:
        request = self.read()
        fault = self._host.take(request)
        if fault is not None and fault.before is not None:
            fault.before()
        if fault is not None and fault.drop:
            self.close_connection = True
            return
        reply = self._host.answer(request)
        if fault is not None:
            reply = fault.changed(reply)
        chunked = self._host.chunked and request.path.startswith(CODELOAD) and reply.status == 200
        self._send(reply, fault.cut if fault is not None else None, chunked=chunked)

    # The names are http.server's.
    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle  # noqa: N815

    def _send(self, reply: Reply, cut: int | None, *, chunked: bool) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if chunked:
            self.send_header("transfer-encoding", "chunked")
        else:
            self.send_header("content-length", str(len(reply.body)))
        self.end_headers()
        sent = reply.body if cut is None else reply.body[:cut]
        if chunked and sent:
            sent = as_chunk(sent)
        if chunked and cut is None:
            sent += b"0\r\n\r\n"
        self.wfile.write(sent)
        self.close_connection = self.close_connection or cut is not None


def as_chunk(data: bytes) -> bytes:
    """Return a part of a body in the chunked coding (RFC 9112, 7.1)."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def _commit(repository: Repository, ref: str, accept: str) -> Reply:
    if repository.is_empty():
        return _message(409, "Git Repository is empty.")
    sha = repository.find(ref)
    if sha is None:
        return _message(422, f"No commit found for SHA: {ref}")
    if accept in SHA_TYPES:
        return Reply(200, {"content-type": f"{accept}; charset=utf-8"}, sha.encode())
    return _document(200, {"sha": sha})


def _message(
    status: int, text: str, headers: Mapping[str, str] | None = None, **more: str
) -> Reply:
    return _document(status, {"message": text, **more}, headers)


def _document(status: int, body: object, headers: Mapping[str, str] | None = None) -> Reply:
    kind = {"content-type": "application/json; charset=utf-8"}
    return Reply(status, {**kind, **(headers or {})}, json.dumps(body).encode())
