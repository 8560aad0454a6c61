"""The registry's own code behind a real HTTP socket, with faults on demand, for tests of clients.

One server plays API Gateway and, below ``/s3/``, the object store. Its bucket is a memory store
whose presigned targets are URLs that it answers, and enforces as S3 does.
"""

from __future__ import annotations

import itertools
import json
import threading
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from house import House

from local_stack.http_events import (
    LOCAL_ADMINISTRATOR,
    Reply,
    Request,
    reply_from_result,
    request_event,
)
from local_stack.routing import RouteTable
from local_stack.template import Route
from skill_registry.agent.retries import RetryPolicy
from skill_registry.errors import Forbidden, RequestInvalid
from skill_registry.store.base import Lost, StoredObject
from skill_registry.store.memory import MemorySkillStore
from skill_registry.web import contract
from skill_registry.web.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from skill_registry.store.base import UploadTarget

# A client in a test tries as often as a real one and waits for nothing.
QUICK = RetryPolicy(attempts=4, base=0.001)
SIGNATURE = "X-Amz-Signature"
# What an HTTP library sends of its own accord.
_LIBRARY_HEADERS = {"host", "connection", "accept", "accept-encoding", "user-agent"}


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to the next request of a route instead of its answer.

    Attributes:
        route: Method and the start of the path.
        status: The answer's status; None cuts the connection.
        applied: Whether the request takes effect first, so that only its reply is lost.
    """

    route: str
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    applied: bool = False

    def concerns(self, method: str, path: str) -> bool:
        """Tell whether a request is of the route."""
        wanted, _, start = self.route.partition(" ")
        return wanted == method and path.startswith(start)


class ServedBucket(MemorySkillStore):
    """A memory store whose presigned URLs point at a server; ``origin`` is that server's."""

    def __init__(self) -> None:
        super().__init__()
        self.origin = ""
        self.targets: dict[str, UploadTarget | str] = {}
        self._numbers = itertools.count(1)

    def presign_get(self, key: str, *, expires: int, filename: str | None = None) -> str:
        return self._served(key)

    def presign_put(self, key: str, **terms: Any) -> UploadTarget:
        target = super().presign_put(key, **terms)
        return replace(target, url=self._served(target))

    def presign_post(self, key: str, **terms: Any) -> UploadTarget:
        target = super().presign_post(key, **terms)
        return replace(target, url=self._served(target))

    def _served(self, target: UploadTarget | str) -> str:
        path = f"/s3/{next(self._numbers)}"
        self.targets[path] = target
        return f"{self.origin}{path}?{SIGNATURE}=a-secret"


class Loopback:
    """A registry at ``url``, over the bucket of ``house``. Use it in ``with``.

    Attributes:
        requests: Every request, in the order of arrival.
        targets: Their paths and queries as they came over the wire.
        faults: Taken from the front, each by the first request that it concerns.
        before: Called with each request that is answered; what it returns is answered instead.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.bucket = ServedBucket()
        settings = settings or Settings(registry_administrators=(LOCAL_ADMINISTRATOR,))
        self.house = House(bucket=self.bucket, settings=settings)
        self.requests: list[Request] = []
        self.targets: list[str] = []
        self.faults: list[Fault] = []
        self.before: Callable[[Request], Request] = lambda request: request
        registry = self.house.registry
        self._apis = {
            **dict.fromkeys(contract.LIST_ROUTES, registry.list_api()),
            **dict.fromkeys(contract.VIEW_ROUTES, registry.view_api()),
            **dict.fromkeys(contract.UPLOAD_ROUTES, registry.upload_api()),
            **dict.fromkeys(contract.MAINTENANCE_ROUTES, registry.maintenance_api()),
        }
        self._default = registry.list_api()
        self._routes = RouteTable(
            [_route(key) for key in contract.ROUTES] + [Route("ANY", "$default", function="")]
        )
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}
        )

    @property
    def url(self) -> str:
        """The registry's address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Loopback:
        self.bucket.origin = self.url
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
        self._server.server_close()

    def seen(self) -> list[str]:
        """Return method and path of every request, those of the store without their number."""
        return [
            f"{each.method} {'/s3' if each.path.startswith('/s3/') else each.path}"
            for each in self.requests
        ]

    def take_fault(self, method: str, path: str) -> Fault | None:
        """Return the fault that concerns a request, once."""
        found = next((fault for fault in self.faults if fault.concerns(method, path)), None)
        if found is not None:
            self.faults.remove(found)
        return found

    def answer(self, request: Request) -> Reply:
        """Answer as the deployed parts would."""
        request = self.before(request)
        if request.path.startswith("/s3/"):
            return self._store(request)
        match = self._routes.find(request.method, request.path)
        assert match is not None
        api = self._apis.get(match.route.key, self._default)
        return reply_from_result(json.dumps(api.answer(request_event(request, match))).encode())

    def _store(self, request: Request) -> Reply:
        target = self.bucket.targets.get(request.path)
        if target is None or SIGNATURE not in request.query:
            return _refusal(403, "AccessDenied")
        if isinstance(target, str):
            found = self.bucket.get(target)
            return Reply(200, (), found.body) if isinstance(found, StoredObject) else Reply(404)
        sent = {name: value for name, value in request.headers if name not in _LIBRARY_HEADERS}
        data = request.body
        if target.method == "POST":
            fields, data = _read_form(sent.pop("content-type"), data)
            sent = dict(fields)
            wanted = dict(target.fields)
        else:
            wanted = dict(target.headers)
        # Besides what was signed S3 ignores most headers; a client of ours sends none.
        if sent != wanted or request.method != target.method:
            return _refusal(403, "SignatureDoesNotMatch")
        try:
            written = self.bucket.receive(target, data)
        except Forbidden:
            return _refusal(403, "AccessDenied")
        except RequestInvalid:
            return _refusal(400, "BadDigest")
        return _refusal(412, "PreconditionFailed") if isinstance(written, Lost) else Reply(200)


def _route(key: str) -> Route:
    method, _, path = key.partition(" ")
    return Route(method, path, function="")


def _refusal(status: int, code: str) -> Reply:
    body = f"<Error><Code>{code}</Code></Error>".encode()
    return Reply(status, (("content-type", "application/xml"),), body)


def _read_form(content_type: str, body: bytes) -> tuple[list[tuple[str, str]], bytes]:
    """Read a multipart form as S3 does: fields in order, then the file, which ends the form."""
    boundary = b"--" + content_type.partition("boundary=")[2].encode()
    fields: list[tuple[str, str]] = []
    for part in body.split(boundary)[1:]:
        head, _, content = part.partition(b"\r\n\r\n")
        name = head.partition(b'name="')[2].partition(b'"')[0].decode()
        if name == "file":
            return fields, content.removesuffix(b"\r\n")
        fields.append((name, content.removesuffix(b"\r\n").decode()))
    return fields, b""


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(self, loopback: Loopback) -> None:
        self.loopback = loopback
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that went away; tests make them do so."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body are two writes; the second would wait for the client's late acknowledgement.
    disable_nagle_algorithm = True
    server: _Server

    def _handle(self) -> None:
        loopback = self.server.loopback
        path, _, query = self.path.partition("?")
        headers = [(name.lower(), value) for name, value in self.headers.items()]
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        request = Request(self.command, unquote(path), query, headers, body)
        loopback.requests.append(request)
        loopback.targets.append(self.path)
        fault = loopback.take_fault(self.command, request.path)
        if fault is None:
            self._send(loopback.answer(request))
            return
        if fault.applied:
            loopback.answer(request)
        if fault.status is None:
            self.close_connection = True
            return
        self._send(Reply(fault.status, tuple(fault.headers.items()), fault.body))

    # The names are http.server's.
    do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = _handle  # noqa: N815

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers:
            self.send_header(name, value)
        if reply.status != 304:
            self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the tests' output clean."""
