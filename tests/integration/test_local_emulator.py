"""The embedded S3 as the project runs it: safe on loopback, durable over kill -9, restartable."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import httpx
import pytest
from botocore.exceptions import ClientError

from local_stack.emulator import Emulator, Endpoint
from local_stack.files import FileLock
from local_stack.recovery import undo_torn_writes
from local_stack.resources import make_keys
from local_stack.template import Function
from local_stack.virtualenvs import PROJECT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BUCKET = "kept-bucket"


@pytest.fixture
def own_emulator(stack_environments: None, tmp_path: Path) -> Iterator[Emulator]:
    """An emulator that the test may kill."""
    with Emulator(tmp_path) as running:
        running.endpoint.make_bucket(BUCKET)
        yield running


def kill(emulator: Emulator) -> None:
    owner = FileLock(emulator.data / "emulator.lock").owner()
    assert owner is not None
    os.kill(owner, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while emulator.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    emulator.stop()


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("POST", "/_ministack/reset", {}),
        ("POST", "/_ministack/config", {}),
        ("GET", "/_ministack/health", {"Host": "rebound.example"}),
        ("GET", "/_ministack/health", {"Origin": "https://page.example"}),
        ("GET", "/_ministack/health", {"Origin": "null"}),
    ],
)
def test_administration_and_foreign_pages_are_refused(
    emulator: Endpoint, method: str, path: str, headers: dict[str, str]
) -> None:
    response = httpx.request(method, emulator.url + path, headers=headers, trust_env=False)
    assert response.status_code == 403


def test_requests_without_a_signature_are_refused(emulator: Endpoint) -> None:
    bucket = emulator.make_bucket()
    response = httpx.put(f"{emulator.url}/{bucket}/key", content=b"1", trust_env=False)
    assert response.status_code == 403


def test_conditional_writes_hold(emulator: Endpoint) -> None:
    bucket, s3 = emulator.make_bucket(), emulator.client("s3")
    s3.put_object(Bucket=bucket, Key="a", Body=b"1", IfNoneMatch="*")
    with pytest.raises(ClientError, match="PreconditionFailed"):
        s3.put_object(Bucket=bucket, Key="a", Body=b"2", IfNoneMatch="*")
    s3.close()


def test_a_function_has_the_rights_of_its_role_and_no_more(emulator: Endpoint) -> None:
    bucket = emulator.make_bucket()
    allowed = f"arn:aws:s3:::{bucket}/mine/*"
    statement = {"Effect": "Allow", "Action": ["s3:PutObject"], "Resource": [allowed]}
    function = Function("writer", "writer.handler", PROJECT, statements=(statement,))
    s3 = Endpoint(emulator.url, make_keys(emulator, bucket, function)).client("s3")
    s3.put_object(Bucket=bucket, Key="mine/a", Body=b"1")
    with pytest.raises(ClientError, match="AccessDenied"):
        s3.put_object(Bucket=bucket, Key="other/a", Body=b"1")
    with pytest.raises(ClientError, match="AccessDenied"):
        s3.get_object(Bucket=bucket, Key="mine/a")
    s3.close()


def test_objects_and_their_versions_outlive_a_kill(own_emulator: Emulator) -> None:
    s3 = own_emulator.endpoint.client("s3")
    for body in (b"1", b"2"):
        etag = s3.put_object(Bucket=BUCKET, Key="a/b", Body=body, Metadata={"m": body.decode()})
    kill(own_emulator)
    own_emulator.start()
    own_emulator.endpoint.make_bucket(BUCKET)
    answer = s3.get_object(Bucket=BUCKET, Key="a/b")
    assert answer["Body"].read() == b"2"
    assert (answer["ETag"], answer["Metadata"]) == (etag["ETag"], {"m": "2"})
    assert len(s3.list_object_versions(Bucket=BUCKET)["Versions"]) == 2
    s3.close()


def test_a_write_that_a_kill_tore_apart_is_undone(own_emulator: Emulator) -> None:
    s3 = own_emulator.endpoint.client("s3")
    s3.put_object(Bucket=BUCKET, Key="over", Body=b"old", Metadata={"m": "old"})
    objects = own_emulator.data / "s3" / "000000000000" / BUCKET
    sidecar = (objects / "over.meta.json").read_bytes()
    s3.put_object(Bucket=BUCKET, Key="over", Body=b"new", Metadata={"m": "new"})
    s3.put_object(Bucket=BUCKET, Key="made", Body=b"new")
    kill(own_emulator)
    # As if the kill had come between the bytes and what describes them.
    (objects / "over.meta.json").write_bytes(sidecar)
    (objects / "made.meta.json").unlink()
    own_emulator.start()
    own_emulator.endpoint.make_bucket(BUCKET)
    answer = s3.get_object(Bucket=BUCKET, Key="over")
    assert (answer["Body"].read(), answer["Metadata"]) == (b"old", {"m": "old"})
    listing = s3.list_objects_v2(Bucket=BUCKET)["Contents"]
    assert [entry["Key"] for entry in listing] == ["over"]
    s3.close()
    own_emulator.stop()
    assert undo_torn_writes(own_emulator.data / "s3") == []


def test_an_emulator_ends_with_its_parent_and_never_blocks_the_next(
    stack_environments: None, tmp_path: Path
) -> None:
    script = (
        "import os, pathlib, sys\n"
        "from local_stack.emulator import Emulator\n"
        "Emulator(pathlib.Path(sys.argv[1])).start()\n"
        "os.kill(os.getpid(), 9)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(PROJECT / "scripts")}
    done = subprocess.run([sys.executable, "-c", script, tmp_path], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    with Emulator(tmp_path) as second:
        assert second.poll() is None
    lock = FileLock(tmp_path / "emulator.lock")
    assert lock.acquire()
    lock.close()
