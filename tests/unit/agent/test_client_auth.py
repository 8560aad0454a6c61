"""Who a client says it is: what goes over the wire, read by a verifier of our own."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import sys
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import httpx
import pytest
from botocore.session import Session
from loopback import QUICK, Fault, Loopback

from skill_registry.agent.async_client import AsyncRegistryClient
from skill_registry.agent.auth import BearerToken, SigV4
from skill_registry.agent.client import RegistryClient
from skill_registry.agent.problems import RegistryProblem
from skill_registry.agent.source import SkillQuery
from skill_registry.errors import RequestInvalid

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_stack.http_events import Request

KEY, SECRET, TOKEN = "AKIDEXAMPLE", "a-very-secret-key", "a-session-token"
REGION = "eu-central-1"


def session(token: str | None = TOKEN) -> Session:
    made = Session()
    made.set_credentials(KEY, SECRET, token)
    return made


def verify(request: Request, target: str) -> None:
    """Check a signature of what came over the wire; nothing of botocore is used.

    Source: IAM user guide, "Create a signed AWS API request".
    """
    headers = dict(request.headers)
    scheme, _, rest = headers["authorization"].partition(" ")
    parts = dict(part.strip().split("=", 1) for part in rest.split(","))
    key, date, region, service, last = parts["Credential"].split("/")
    assert (scheme, key, region, service, last) == (
        "AWS4-HMAC-SHA256",
        KEY,
        REGION,
        "execute-api",
        "aws4_request",
    )
    signed = parts["SignedHeaders"].split(";")
    assert {"host", "x-amz-date"} <= set(signed)
    path, _, text = target.partition("?")
    pairs = [pair.partition("=")[::2] for pair in text.split("&") if pair]
    coded = [(quote(unquote(k), safe="-_.~"), quote(unquote(v), safe="-_.~")) for k, v in pairs]
    query = "&".join(f"{key}={value}" for key, value in sorted(coded))
    canonical = "\n".join(
        [
            request.method,
            # Encoded once more than it was sent, for every service but S3.
            quote(path, safe="/-_.~"),
            query,
            *(f"{name}:{' '.join(headers[name].split())}" for name in signed),
            "",
            ";".join(signed),
            hashlib.sha256(request.body).hexdigest(),
        ]
    )
    text = "\n".join(
        [
            "AWS4-HMAC-SHA256",
            headers["x-amz-date"],
            f"{date}/{region}/{service}/{last}",
            hashlib.sha256(canonical.encode()).hexdigest(),
        ]
    )
    assert parts["Signature"] == _signature(text, (date, region, service, last))


def _signature(text: str, scope: tuple[str, ...]) -> str:
    key = f"AWS4{SECRET}".encode()
    for part in scope:
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


@pytest.fixture
def calls_of(registry: Loopback) -> Callable[[httpx.Auth], list[tuple[Request, str]]]:
    """Call a registry in every way with some auth; return its requests and their targets."""

    def call(auth: httpx.Auth) -> list[tuple[Request, str]]:
        registry.house.publish("notes")
        query = SkillQuery(scopes=("system", "team-a"), agent="rev iew/é~*", tier="ultra")
        with RegistryClient(registry.url, auth=auth, retry=QUICK) as client:
            client.list_skills(limit=1, words="does thing")
            client.list_all(SkillQuery(agent="review", tools=("a", "b")))
            client.check({"notes": 1})
            client.load_skill("notes")
            client.view_skill("notes", "SKILL.md", 1)
            with pytest.raises(RegistryProblem):
                client.view_skill("no.such", query=query)
        made = zip(registry.requests, registry.targets, strict=True)
        return [(request, target) for request, target in made if "/s3/" not in target]

    return call


@pytest.mark.parametrize("token", [None, TOKEN], ids=["long-lived", "temporary"])
def test_every_request_to_the_registry_carries_a_signature_of_exactly_itself(
    calls_of: Callable[[httpx.Auth], list[tuple[Request, str]]], token: str | None
) -> None:
    made = calls_of(SigV4(REGION, session=session(token)))
    assert len(made) == 6
    assert "no%2Esuch" in made[-1][1]
    for request, target in made:
        verify(request, target)
        assert dict(request.headers).get("x-amz-security-token") == token


def test_the_store_is_sent_neither_signature_nor_token(registry: Loopback) -> None:
    registry.house.publish("notes")
    for auth in (SigV4(REGION, session=session()), BearerToken("secret-token")):
        with RegistryClient(registry.url, auth=auth) as client:
            client.load_skill("notes")
    transfers = [dict(r.headers) for r in registry.requests if r.path.startswith("/s3/")]
    assert len(transfers) == 2
    assert all(not {"authorization", "x-amz-security-token"} & set(each) for each in transfers)


def test_an_async_client_signs_alike(registry: Loopback) -> None:
    registry.house.publish("notes")

    async def call() -> None:
        auth = SigV4(REGION, session=session())
        async with AsyncRegistryClient(registry.url, auth=auth) as client:
            await client.list_all()
            await client.check({"notes": 1})

    asyncio.run(call())
    assert [request.method for request in registry.requests] == ["GET", "POST"]
    for request, target in zip(registry.requests, registry.targets, strict=True):
        verify(request, target)


def test_every_attempt_is_signed_anew(registry: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    signed: list[httpx.Request] = []
    real = SigV4._sign

    def note(auth: SigV4, request: httpx.Request) -> None:
        signed.append(request)
        real(auth, request)

    monkeypatch.setattr(SigV4, "_sign", note)
    registry.faults.append(Fault("GET /skills", 503, {"retry-after": "0"}))
    auth = SigV4(REGION, session=session())
    with RegistryClient(registry.url, auth=auth, retry=QUICK, sleep=lambda _: None) as client:
        client.list_all()
    assert len(signed) == 2
    assert signed[0] is not signed[1]


def test_the_region_is_that_of_the_address() -> None:
    auth = SigV4(session=session())
    for host, region in {
        "abc123.execute-api.eu-west-3.amazonaws.com": "eu-west-3",
        "abc123.execute-api.cn-north-1.amazonaws.com.cn": "cn-north-1",
    }.items():
        request = httpx.Request("GET", f"https://{host}/skills")
        next(auth.auth_flow(request))
        assert f"/{region}/execute-api/aws4_request" in request.headers["authorization"]


def test_without_region_or_credentials_the_reason_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", f"{tmp_path}/config")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", f"{tmp_path}/credentials")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    request = httpx.Request("GET", "https://registry.example.com/skills")
    with pytest.raises(RequestInvalid) as refused:
        next(SigV4(session=session()).auth_flow(request))
    assert refused.value.code == "region_missing"
    with pytest.raises(RequestInvalid) as refused:
        next(SigV4("eu-west-1").auth_flow(request))
    assert refused.value.code == "credentials_missing"


def test_without_botocore_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.auth", None)
    with pytest.raises(RequestInvalid, match=r"skill-registry\[aws\]") as refused:
        next(SigV4("eu-west-1").auth_flow(httpx.Request("GET", "https://r.example.com")))
    assert refused.value.code == "aws_extra_missing"


def test_a_token_is_sent_and_asked_for_again_once_where_it_is_refused(registry: Loopback) -> None:
    tokens = iter(["old", "new", "newer"])
    registry.faults.append(Fault("GET /skills", 401))
    with RegistryClient(registry.url, auth=BearerToken(lambda: next(tokens))) as client:
        client.list_all()
    sent = [dict(request.headers)["authorization"] for request in registry.requests]
    assert sent == ["Bearer old", "Bearer new"]


def test_a_fixed_token_is_not_sent_twice(registry: Loopback) -> None:
    registry.faults.append(Fault("GET /skills", 401))
    with (
        RegistryClient(registry.url, auth=BearerToken("fixed")) as client,
        pytest.raises(RegistryProblem, match="401"),
    ):
        client.list_all()
    assert len(registry.requests) == 1


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_no_log_line_and_no_error_shows_a_token_or_a_signed_url(
    registry: Loopback, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    registry.house.publish("notes")
    caplog.set_level(logging.DEBUG)
    auth = BearerToken("secret-token")
    registry.faults.append(Fault("GET /s3/", 403))
    registry.faults.append(Fault("GET /s3/", 403))
    told = ""
    try:
        if kind == "sync":
            with RegistryClient(registry.url, auth=auth) as client:
                client.load_skill("notes")
        else:

            async def load() -> None:
                async with AsyncRegistryClient(registry.url, auth=auth) as client:
                    await client.load_skill("notes")

            asyncio.run(load())
    except Exception as error:
        told = f"{error!r} {error}"
    assert "transfer" in told or "store" in told
    for text in (caplog.text, told, repr(auth)):
        assert "secret-token" not in text
        assert "a-secret" not in text
    assert "/s3/" in caplog.text
