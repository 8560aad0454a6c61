"""Hostile requests over HTTP: what an HTTP server, a gateway and a process between make of them.

Each request in process is in ``unit/web/test_hostile_requests.py``; here is what only travelling
shows, and a part of the others.
"""

from __future__ import annotations

import http.client
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import pytest
from authorization.hostile import (
    BODIES,
    BROKEN_BASE64,
    PUT,
    TEXT,
    Case,
    media,
    numbers,
    places,
    preconditions,
    queries,
)
from authorization.hostile_bodies import bombs, members, texts

from local_stack.launcher import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

FAMILIES = (numbers, queries, places, media, preconditions, texts, members, bombs)
EVERY = 7
# More is answered by the HTTP server or the gateway itself, before any function.
LONGEST_HEADER = 16 * 1024
MOST_BYTES = 5_500_000
PROBLEM = "application/problem+json"
JSON = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True)
class Got:
    """An answer."""

    status: int
    headers: Mapping[str, str]
    data: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.data)

    @property
    def answer(self) -> tuple[int, str | None]:
        """Status and problem code; only a problem may be a refusal."""
        if self.status < 400:
            return self.status, None
        assert self.headers["content-type"] == PROBLEM, self
        return self.status, self.body["code"]


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, stack_environments: None
) -> Iterator[ServerProcess]:
    server = ServerProcess(tmp_path_factory.mktemp("hostile"), "--empty").start()
    try:
        for text in (TEXT, TEXT + "More.\n"):
            files = {"SKILL.md": text, "references/notes.md": "Notes.\n"}
            done = request(server, "PUT", "/skills/notes", JSON, json.dumps({"files": files}))
            assert done.status in (200, 201), done
        yield server
    finally:
        server.stop()


def request(
    server: ServerProcess,
    method: str,
    target: str,
    headers: Mapping[str, str] | list[tuple[str, str]] | None = None,
    body: bytes | str | None = None,
) -> Got:
    """Send a request whose target is not touched, as a library would that cleans paths."""
    address = urlsplit(server.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
    data = body.encode() if isinstance(body, str) else body
    try:
        connection.putrequest(method, target, skip_accept_encoding=True)
        for name, value in headers if isinstance(headers, list) else (headers or {}).items():
            connection.putheader(name, value)
        if data is not None:
            connection.putheader("content-length", str(len(data)))
        connection.endheaders(data)
        reply = connection.getresponse()
        got = {name.lower(): value for name, value in reply.getheaders()}
        return Got(reply.status, got, reply.read())
    finally:
        connection.close()


def target_of(case: Case) -> str:
    path = case.route.partition(" ")[2]
    for name, value in case.sent_path.items():
        path = path.replace("{" + name + "}", quote(value, safe=""))
    return f"{path}?{quote(case.query, safe='%&=+')}" if case.query else path


def travels(case: Case) -> bool:
    """Whether it comes to a function as it is: HTTP has no form for some of it."""
    body = case.sent_body
    values = [*case.sent_path.values()]
    return (
        body != BROKEN_BASE64
        and len(body or b"") <= MOST_BYTES
        and all(value and "/" not in value and len(value) < 2000 for value in values)
        and all(
            len(v) <= LONGEST_HEADER and re.fullmatch("[ -~]+", v) for v in case.headers.values()
        )
        and all(value == value.strip() for value in case.headers.values())
        and len(case.query) < LONGEST_HEADER
    )


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_a_part_of_the_hostile_requests_travels(
    server: ServerProcess, family: Callable[[], Iterator[Case]]
) -> None:
    wrong = []
    for case in [case for case in family() if travels(case)][::EVERY]:
        method = case.route.partition(" ")[0]
        got = request(server, method, target_of(case), case.sent_headers, case.sent_body)
        if got.answer != case.answer:
            wrong.append(f"{case}: {got.answer} instead of {case.answer}")
    assert wrong == []


@pytest.mark.parametrize(
    ("target", "answer"),
    [
        ("/skills/%6eotes", (200, None)),
        ("/%73kills/notes", (200, None)),
        ("/skills/%256eotes", (404, "skill_not_found")),
        ("/skills/%2e%2e", (404, "skill_not_found")),
        ("/skills/..", (404, "skill_not_found")),
        ("/skills/.", (404, "skill_not_found")),
        ("/skills/%252e%252e", (404, "skill_not_found")),
        ("/skills/%2e%2e%2fnotes", (404, "route_not_found")),
        ("/skills/x%2f..%2fnotes", (404, "route_not_found")),
        ("/skills/notes%2fbundle", (200, None)),
        ("/skills/notes%00", (404, "skill_not_found")),
        ("/skills/notes%0d%0aset-cookie:%20a=1", (404, "skill_not_found")),
        ("/skills/%c0%ae%c0%ae", (404, "skill_not_found")),
        ("/skills/%ed%a0%80", (404, "skill_not_found")),
        ("/skills/%ff", (404, "skill_not_found")),
        ("/skills/%", (404, "skill_not_found")),
        ("/skills/%zz", (404, "skill_not_found")),
        ("/skills/notes;a=b", (404, "skill_not_found")),
        ("/skills/notes%3fpath=x", (404, "skill_not_found")),
        ("/skills/notes?path=references/notes.md", (200, None)),
        ("/skills/notes?path=references%2Fnotes.md", (200, None)),
        ("/skills/notes?path=references%252Fnotes.md", (404, "file_not_found")),
        ("/skills/notes?path=%2e%2e%2f%2e%2e%2fregistry", (400, "skill_path_invalid")),
        ("/skills/notes?path=..", (400, "skill_path_invalid")),
        ("/skills/notes?path=%00", (400, "skill_path_invalid")),
        ("/skills/notes?path=%ff", (400, "query_invalid")),
        ("/skills/notes?path=%ed%a0%80", (400, "query_invalid")),
        ("/skills/notes?path=%", (404, "file_not_found")),
        ("/skills/notes?path=a&path=b", (400, "query_invalid")),
        ("/skills?scope=system%0d%0aset-cookie:x", (400, "scope_invalid")),
        ("/skills/", (404, "route_not_found")),
        ("//skills", (404, "route_not_found")),
        ("/skills/notes/", (404, "route_not_found")),
        ("/uploads/..", (404, "upload_not_found")),
        ("/../../etc/passwd", (404, "route_not_found")),
    ],
)
def test_what_is_encoded_is_decoded_once(
    server: ServerProcess, target: str, answer: tuple[int, str | None]
) -> None:
    got = request(server, "GET", target)
    assert got.answer == answer
    assert "set-cookie" not in got.headers


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "PROPFIND", "BREW", "HEAD"])
@pytest.mark.parametrize("path", ["/skills", "/skills/notes", "/uploads", "/maintenance/doctor"])
def test_an_unknown_method_is_refused_with_those_that_are_known(
    server: ServerProcess, method: str, path: str
) -> None:
    got = request(server, method, path)
    assert (got.status, got.headers["content-type"]) == (405, PROBLEM)
    assert got.headers["allow"]
    # The answer to a HEAD has no body (RFC 9110, section 9.3.2).
    assert (got.data == b"") is (method == "HEAD")


@pytest.mark.parametrize("size", [1024, 8 * 1024, LONGEST_HEADER])
def test_a_large_header_is_no_reason_to_fail(server: ServerProcess, size: int) -> None:
    for name in ("x-junk", "accept", "if-none-match", "cookie", "accept-encoding", "user-agent"):
        assert request(server, "GET", "/skills", {name: "a" * size}).status == 200


@pytest.mark.parametrize("size", [64 * 1024, 256 * 1024])
def test_a_huge_header_is_refused_or_ignored(server: ServerProcess, size: int) -> None:
    for name in ("x-junk", "accept", "if-none-match", "cookie"):
        try:
            status = request(server, "GET", "/skills", {name: "a" * size}).status
        except ConnectionError:
            # The server hung up on a sender that went on.
            continue
        assert status == 200 or 400 <= status < 500
    assert request(server, "GET", "/skills").status == 200


def test_headers_sent_twice_are_one_that_is_none(server: ServerProcess) -> None:
    twice = [("content-type", "application/json"), ("if-match", '"1"'), ("if-match", '"2"')]
    got = request(server, "PUT", "/skills/notes", twice, json.dumps(BODIES[PUT]))
    assert got.answer == (400, "precondition_invalid")
    kinds = [("content-type", "application/json"), ("content-type", "application/zip")]
    got = request(server, "PUT", "/skills/notes", kinds, json.dumps(BODIES[PUT]))
    assert got.answer == (400, "content_type_invalid")
    ids = [("x-correlation-id", "one"), ("x-correlation-id", "two")]
    assert request(server, "GET", "/skills", ids).headers["x-correlation-id"] not in (
        *("one", "two", "one,two"),
    )


def test_nothing_of_a_request_becomes_a_header(server: ServerProcess) -> None:
    sneaky = "limit=1&x=%0d%0aset-cookie:%20a=1&agent=a"
    for path in (f"/skills?{sneaky}", f"/skills/notes?{sneaky}&raw=1"):
        got = request(server, "GET", path, {"x-correlation-id": "a b", "accept": "text/plain"})
        assert got.status == 200
        assert "set-cookie" not in got.headers
        assert re.fullmatch("[A-Za-z0-9._-]{1,64}", got.headers["x-correlation-id"])
    assert request(server, "GET", "/skills", {"x-correlation-id": "a.b-c_1"}).headers[
        "x-correlation-id"
    ] == ("a.b-c_1")


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "application/zip", None])
def test_a_body_of_a_get_is_ignored(server: ServerProcess, kind: str | None) -> None:
    headers = {"content-type": kind} if kind else {}
    for body in (b"{", b"\xff" * 1000, b"x" * 3_000_000):
        assert request(server, "GET", "/skills/notes", headers, body).status == 200


@pytest.mark.parametrize("path", ["/skills/notes", "/validate"])
def test_a_chunked_body_is_a_body(server: ServerProcess, path: str) -> None:
    method = "PUT" if path != "/validate" else "POST"
    chunk = json.dumps(BODIES[PUT]).encode()
    body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(chunk), chunk)
    address = urlsplit(server.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
    try:
        connection.putrequest(method, path)
        connection.putheader("content-type", "application/json")
        connection.putheader("transfer-encoding", "chunked")
        connection.endheaders(body)
        assert connection.getresponse().status == 200
    finally:
        connection.close()


def test_a_server_that_was_asked_all_this_still_serves(server: ServerProcess) -> None:
    got = request(server, "GET", "/skills")
    assert [skill["name"] for skill in got.body["skills"]] == ["notes"]
