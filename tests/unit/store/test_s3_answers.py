"""What S3 answers, and what it fails to answer, as the port's values and errors."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import (
    ConnectTimeoutError,
    EndpointConnectionError,
    ParamValidationError,
    ReadTimeoutError,
)
from moto import mock_aws

from skill_registry.errors import Unavailable
from skill_registry.store.base import IfAbsent, IfMatch, Lost, NotModified, Written
from skill_registry.store.conditional import put_once
from skill_registry.store.s3 import S3SkillStore, make_client

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mypy_boto3_s3 import S3Client

KEY = "registry/system/example/revisions/00000001.zip"
EVENT = "before-send.s3"
WIRE = "wire"


class Wire:
    """Stands where the network is: answers every request of a client from a list.

    An answer is a status with an S3 error code, or an exception that the connection raises.
    """

    def __init__(self, *answers: tuple[int, str] | Exception) -> None:
        self.sent: list[Any] = []
        self._answers = list(answers)

    def __call__(self, request: Any, **_: object) -> AWSResponse:
        self.sent.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        status, code = answer
        body = f"<Error><Code>{code}</Code><Message>secret detail</Message></Error>" if code else ""
        return AWSResponse(request.url, status, HTTPHeaders(), Body(body.encode()))


class Body(io.BytesIO):
    """The part of urllib3's response that botocore reads."""

    def stream(self, **_: object) -> Iterator[bytes]:
        yield self.read()


def made_client(endpoint_url: str | None = None) -> S3Client:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.delenv("AWS_SESSION_TOKEN", raising=False)
        return make_client(region="us-east-1", endpoint_url=endpoint_url)


@pytest.fixture(scope="module")
def shared_client() -> Iterator[S3Client]:
    made = made_client()
    yield made
    made.close()


@pytest.fixture
def client(shared_client: S3Client, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Client]:
    # The SDK waits between its tries; there is nothing to wait for here.
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _: None)
    yield shared_client
    shared_client.meta.events.unregister(EVENT, unique_id=WIRE)


@pytest.fixture
def fresh_client(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Client]:
    """Yield a client that has failed at nothing yet: the SDK rations the retries of each."""
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _: None)
    made = made_client()
    yield made
    made.close()


@pytest.fixture
def store(client: S3Client) -> S3SkillStore:
    return S3SkillStore(client, "registry")


def intercept(client: S3Client, handler: Callable[..., Any]) -> None:
    client.meta.events.register(EVENT, handler, unique_id=WIRE)


def wired(client: S3Client, *answers: tuple[int, str] | Exception) -> Wire:
    wire = Wire(*answers)
    intercept(client, wire)
    return wire


REQUESTS: dict[str, Callable[[S3SkillStore], object]] = {
    "get": lambda store: store.get(KEY),
    "head": lambda store: store.head(KEY),
    "put": lambda store: store.put(KEY, b"x"),
    "create": lambda store: store.put(KEY, b"x", condition=IfAbsent()),
    "replace": lambda store: store.put(KEY, b"x", condition=IfMatch('"e"')),
    "delete": lambda store: store.delete(KEY),
    "list": lambda store: store.list_page("registry/"),
}


@pytest.fixture(params=REQUESTS)
def request_of(request: pytest.FixtureRequest) -> Callable[[S3SkillStore], object]:
    return REQUESTS[request.param]


@pytest.mark.parametrize(
    ("answer", "retry_after"),
    [
        ((500, "InternalError"), 2),
        ((503, "SlowDown"), 2),
        ((503, ""), 2),
        ((429, "TooManyRequests"), 2),
        ((400, "ExpiredToken"), 2),
        ((404, "NoSuchBucket"), 2),
        ((403, "AccessDenied"), 30),
        ((403, "SignatureDoesNotMatch"), 30),
        (ReadTimeoutError(endpoint_url="https://secret"), 2),
        (ConnectTimeoutError(endpoint_url="https://secret"), 2),
        (EndpointConnectionError(endpoint_url="https://secret"), 2),
    ],
)
def test_a_failure_is_unavailable_and_leaks_nothing(
    client: S3Client,
    store: S3SkillStore,
    request_of: Callable[[S3SkillStore], object],
    answer: tuple[int, str] | Exception,
    retry_after: int,
) -> None:
    wired(client, answer)
    with pytest.raises(Unavailable) as failure:
        request_of(store)
    assert failure.value.retry_after == retry_after
    assert "secret" not in failure.value.message
    assert "registry/" not in failure.value.message
    assert failure.value.__cause__ is not None


def test_what_may_pass_is_tried_three_times(fresh_client: S3Client) -> None:
    wire = wired(fresh_client, (503, "SlowDown"))
    with pytest.raises(Unavailable, match="busy"):
        S3SkillStore(fresh_client, "registry").get(KEY)
    assert len(wire.sent) == 3


def test_a_denial_is_not_tried_again(client: S3Client, store: S3SkillStore) -> None:
    wire = wired(client, (403, "AccessDenied"))
    with pytest.raises(Unavailable, match="denied"):
        store.get(KEY)
    assert len(wire.sent) == 1


@pytest.mark.parametrize(
    ("status", "code"),
    [(412, "PreconditionFailed"), (409, "ConditionalRequestConflict"), (404, "NoSuchKey")],
)
def test_a_lost_race_is_a_value(
    client: S3Client, store: S3SkillStore, status: int, code: str
) -> None:
    wire = wired(client, (status, code))
    assert store.put(KEY, b"x", condition=IfMatch('"e"')) == Lost(code)
    assert wire.sent[0].headers["If-Match"] in (b'"e"', '"e"')


def test_a_deletion_that_raced_is_not_done(client: S3Client, store: S3SkillStore) -> None:
    wired(client, (412, "PreconditionFailed"), (404, "NoSuchKey"))
    assert store.delete(KEY, if_match='"e"') is False
    assert store.delete(KEY, if_match='"e"') is True


def test_absent_and_unmodified_are_values(client: S3Client, store: S3SkillStore) -> None:
    wired(client, (404, "NoSuchKey"), (304, ""), (412, "PreconditionFailed"), (404, ""))
    assert store.get(KEY) is None
    assert store.get(KEY, if_none_match='"e"') == NotModified('"e"')
    assert store.get(KEY, if_match='"e"') is None
    assert store.head(KEY) is None


def test_a_listing_has_no_absence(client: S3Client, store: S3SkillStore) -> None:
    wired(client, (404, "NoSuchKey"))
    with pytest.raises(Unavailable):
        store.list_page("registry/")


def test_a_body_that_breaks_off_is_unavailable(client: S3Client, store: S3SkillStore) -> None:
    def answer(request: Any, **_: object) -> AWSResponse:
        headers = HTTPHeaders()
        headers["ETag"] = '"e"'
        headers["Content-Length"] = "100"
        headers["Last-Modified"] = "Mon, 30 Nov 2026 17:05:00 GMT"
        return AWSResponse(request.url, 200, headers, Body(b"only this"))

    intercept(client, answer)
    with pytest.raises(Unavailable):
        store.get(KEY)


def test_a_write_that_the_sdk_sent_twice_is_ours(fresh_client: S3Client) -> None:
    sent: list[str] = []

    def lose_the_first_reply(request: Any, **_: object) -> None:
        sent.append(request.method)
        if len(sent) == 1:
            raise ReadTimeoutError(endpoint_url=request.url)

    store = S3SkillStore(fresh_client, "registry")
    with mock_aws():
        fresh_client.create_bucket(Bucket="registry")
        # Last, so that moto has stored the object by the time that its reply is lost.
        fresh_client.meta.events.register_last("before-send", lose_the_first_reply)
        outcome = put_once(store, KEY, b"x", condition=IfAbsent(), write_id="0" * 32)
        # The HEAD shows that the second PUT was answered 412.
        assert sent == ["PUT", "PUT", "HEAD"]
        found = store.head(KEY)
    assert found is not None
    assert outcome == Written(found.etag)
    assert found.metadata == {"write-id": "0" * 32}


def test_missing_credentials_make_the_store_unavailable(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    nothing = str(tmp_path_factory.mktemp("aws") / "nothing")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", nothing)
    monkeypatch.setenv("AWS_CONFIG_FILE", nothing)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    made = make_client(region="us-east-1")
    store = S3SkillStore(made, "registry")
    with pytest.raises(Unavailable):
        store.presign_get(KEY, expires=1)
    with pytest.raises(Unavailable):
        store.presign_put(KEY, size=1, sha256="0" * 64, metadata={}, expires=1)
    with pytest.raises(Unavailable):
        store.get(KEY)
    made.close()


def test_a_mistake_of_the_program_is_not_dressed_up(client: S3Client) -> None:
    store = S3SkillStore(client, "no such bucket name")
    with pytest.raises(ParamValidationError):
        store.get(KEY)
    with pytest.raises(ParamValidationError):
        store.presign_get(KEY, expires=1)


def test_the_client_talks_to_the_regional_host_and_gives_up_before_the_gateway(
    client: S3Client,
) -> None:
    config = client.meta.config
    assert config.signature_version == "s3v4"  # type: ignore[attr-defined]
    assert (config.connect_timeout, config.read_timeout) == (2, 5)  # type: ignore[attr-defined]
    assert config.max_pool_connections == 32  # type: ignore[attr-defined]
    wire = wired(client, (404, "NoSuchKey"))
    S3SkillStore(client, "registry").get(KEY)
    assert wire.sent[0].url == f"https://registry.s3.us-east-1.amazonaws.com/{KEY}"


def test_another_endpoint_is_addressed_by_path_without_extra_checksums() -> None:
    made = made_client("http://127.0.0.1:9")
    wire = wired(made, (412, "PreconditionFailed"))
    S3SkillStore(made, "registry").put(KEY, b"x", condition=IfAbsent())
    made.close()
    (request,) = wire.sent
    assert request.url == f"http://127.0.0.1:9/registry/{KEY}"
    assert not any("checksum" in name.lower() for name in request.headers)
    assert "aws-chunked" not in str(request.headers.get("Content-Encoding"))
