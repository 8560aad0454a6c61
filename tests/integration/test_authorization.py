"""The authorization table over HTTP: the real server, the real functions, a real S3.

Every call by every role, and every role in every scope with every state; all of it in process is in
``unit/web/test_authorization_matrix.py``.
"""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx
import pytest
from authorization.calls import CALLS
from authorization.estate import claims, everything
from authorization.evidence import Reply
from authorization.judging import Row, judge
from authorization.sampling import changing, unchanging
from authorization.table import ROLES, Role, Scope, State
from real_store.clients import opened

from local_stack.http_events import CLAIMS_HEADER, ROLE_HEADER
from local_stack.launcher import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from local_stack.emulator import Endpoint

CALLERS = 8


@pytest.fixture(scope="module")
def bucket(emulator: Endpoint) -> str:
    """A bucket with every scope, every skill and every grant of the table."""
    name = emulator.make_bucket()
    with opened(emulator, name) as store, ThreadPoolExecutor(CALLERS) as pool:
        sent = [
            pool.submit(
                store.put,
                each.info.key,
                each.body,
                metadata=each.info.metadata,
                content_type=each.info.content_type or "application/octet-stream",
            )
            for each in everything().objects()
        ]
        for each in sent:
            each.result()
    return name


@pytest.fixture(scope="module")
def client(
    emulator: Endpoint,
    bucket: str,
    tmp_path_factory: pytest.TempPathFactory,
    stack_environments: None,
) -> Iterator[httpx.Client]:
    folder: Path = tmp_path_factory.mktemp("authorization")
    options = ("--empty", "--store", emulator.url, "--bucket", bucket)
    server = ServerProcess(folder, *options, "--parameter", "AccessMaxAge=0").start()
    try:
        with httpx.Client(base_url=server.url, timeout=60, trust_env=False) as client:
            yield client
    finally:
        server.stop()


def caller(role: Role) -> dict[str, str]:
    """Return the headers that make the caller this role."""
    if role.kind == "iam":
        return {ROLE_HEADER: role.session}
    return {CLAIMS_HEADER: json.dumps(claims(role))}


def send(client: httpx.Client, row: Row) -> Reply:
    sent = row.sent
    method, _, path = sent.route.partition(" ")
    for name, value in sent.path.items():
        path = path.replace("{" + name + "}", quote(value, safe=""))
    answer = client.request(
        method,
        path,
        params=list(sent.query),
        headers={**sent.headers, **caller(row.role)},
        content=sent.body_text,
    )
    return Reply(answer.status_code, dict(answer.headers), answer.text)


def wrong(client: httpx.Client, row: Row) -> list[str]:
    return [f"{row}: {fault}" for fault in judge(row, send(client, row))]


def objects(emulator: Endpoint, bucket: str) -> dict[str, Any]:
    """Return every object with its ETag, but for archives of directories and what dry runs say."""
    s3 = emulator.client("s3")
    try:
        pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket)
        found = {each["Key"]: each["ETag"] for page in pages for each in page["Contents"]}
    finally:
        s3.close()
    derived = re.compile(r"/snapshots/|^uploads/.*\.json$")
    return {key: etag for key, etag in found.items() if derived.search(key) is None}


def test_reads_and_refusals_are_as_the_table_says_and_change_nothing(
    client: httpx.Client, emulator: Endpoint, bucket: str
) -> None:
    before = objects(emulator, bucket)
    with ThreadPoolExecutor(CALLERS) as pool:
        found = list(pool.map(lambda row: wrong(client, row), unchanging()))
    assert [fault for faults in found for fault in faults] == []
    assert objects(emulator, bucket) == before


def test_what_is_allowed_is_done(client: httpx.Client) -> None:
    def done_by(role: Role) -> list[str]:
        return [fault for row in changing() if row.role is role for fault in wrong(client, row)]

    with ThreadPoolExecutor(CALLERS) as pool:
        found = list(pool.map(done_by, ROLES))
    assert [fault for faults in found for fault in faults] == []


def test_every_call_by_every_role_and_every_role_in_every_place_is_among_them() -> None:
    rows = {*unchanging(), *changing()}
    assert {(row.call.name, row.role) for row in rows} == {
        (call.name, role) for call in CALLS.values() for role in call.roles
    }
    assert {(row.role, row.scope, row.state) for row in rows} >= {
        (role, scope, state) for role in ROLES for scope in Scope for state in State
    }
