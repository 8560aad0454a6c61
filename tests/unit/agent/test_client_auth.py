"""Who a client says it is: what goes over the wire, read by a verifier of our own."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import itertools
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import httpx
import pytest
from botocore.credentials import Credentials
from botocore.session import Session
from loopback import Fault, Loopback

from skill_registry.agent.async_client import AsyncRegistryClient
from skill_registry.agent.auth import BearerToken, SigV4
from skill_registry.agent.client import RegistryClient
from skill_registry.agent.problems import AnswerInvalid, RegistryProblem
from skill_registry.agent.source import SkillQuery

if TYPE_CHECKING:
    from local_stack.http_events import Request

Connect = Callable[..., RegistryClient]
KEY, SECRET, TOKEN = "AKIDEXAMPLE", "a-very-secret-key", "a-session-token"
REGION = "eu-central-1"


def session(token: str | None = TOKEN) -> Session:
    made = Session()
    made.set_credentials(KEY, SECRET, token)
    return made


class Renewing:
    """A session whose credentials are other ones each time, as those of a role are at last."""

    def __init__(self, fetch: Callable[[], object] = lambda: None) -> None:
        self._fetch = fetch
        self._count = itertools.count(1)

    def get_credentials(self) -> Credentials:
        self._fetch()
        number = next(self._count)
        return Credentials(f"key-{number}", SECRET, f"token-{number}")


def sent(registry: Loopback) -> list[tuple[Request, str]]:
    """Return every request with its target as it came over the wire."""
    return list(zip(registry.requests, registry.targets, strict=True))


def sent_tokens(registry: Loopback) -> list[str]:
    return [dict(request.headers)["authorization"] for request in registry.requests]


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


def test_every_request_to_the_registry_carries_a_signature_of_exactly_itself(
    registry: Loopback, connect: Connect
) -> None:
    registry.house.publish("notes")
    query = SkillQuery(scopes=("system", "team-a"), agent="rev iew/é~*", tier="ultra")
    client = connect(auth=SigV4(REGION, session=session()))
    client.list_skills(limit=1, words="does thing")
    client.list_all(SkillQuery(agent="review", tools=("b", "a", "b(c:*)")))
    client.check({"notes": 1})
    client.load_skill("notes")
    client.view_skill("notes", "SKILL.md", 1)
    with pytest.raises(RegistryProblem):
        client.view_skill("no.such", query=query)
    made = [each for each in sent(registry) if "/s3/" not in each[1]]
    assert len(made) == 6
    assert "no%2Esuch" in made[-1][1]
    for request, target in made:
        verify(request, target)
        assert dict(request.headers)["x-amz-security-token"] == TOKEN
        assert dict(request.headers)["host"] == registry.url.removeprefix("http://")


def test_a_verifier_of_our_own_notices_what_a_signature_does_not_cover(
    registry: Loopback, connect: Connect
) -> None:
    registry.house.publish("notes")
    connect(auth=SigV4(REGION, session=session())).check({"notes": 1})
    ((request, target),) = sent(registry)
    verify(request, target)
    for other, where in (
        (request, f"{target}?scope=x"),
        (replace(request, body=request.body + b" "), target),
        (replace(request, method="GET"), target),
    ):
        with pytest.raises(AssertionError):
            verify(other, where)


def test_credentials_without_a_session_token_sign_too(registry: Loopback, connect: Connect) -> None:
    connect(auth=SigV4(REGION, session=session(None))).list_all()
    ((request, target),) = sent(registry)
    verify(request, target)
    assert "x-amz-security-token" not in dict(request.headers)


@pytest.mark.parametrize(
    "auth", [SigV4(REGION, session=session()), BearerToken("secret-token")], ids=["aws", "token"]
)
def test_the_store_is_sent_neither_signature_nor_token(
    registry: Loopback, connect: Connect, auth: httpx.Auth
) -> None:
    registry.house.publish("notes")
    connect(auth=auth).load_skill("notes")
    call, transfer = (dict(request.headers) for request in registry.requests)
    assert "authorization" in call
    assert not {"authorization", "x-amz-security-token"} & set(transfer)


@pytest.mark.parametrize(
    "auth", [SigV4(REGION, session=session()), BearerToken(lambda: "secret-token")]
)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_takes_no_credentials_to_another_host(
    registry: Loopback, connect: Connect, auth: httpx.Auth, status: int
) -> None:
    with Loopback() as other:
        for route in ("GET /skills", "POST /check"):
            registry.faults.append(Fault(route, status, {"Location": f"{other.url}/skills"}))
        client = connect(auth=auth)
        with pytest.raises(AnswerInvalid, match="redirects"):
            client.list_all()
        with pytest.raises(AnswerInvalid, match="redirects"):
            client.check({"notes": 1})
        assert other.requests == []
    assert len(registry.requests) == 2


def test_every_attempt_is_signed_anew_with_the_credentials_of_then(
    registry: Loopback, connect: Connect
) -> None:
    registry.faults.append(Fault("GET /skills", 503, {"retry-after": "0"}))
    session = Renewing()
    connect(auth=SigV4(REGION, session=session)).list_all()
    made = [dict(request.headers) for request in registry.requests]
    assert [each["x-amz-security-token"] for each in made] == ["token-1", "token-2"]
    assert all(f"Credential=key-{n}/" in made[n - 1]["authorization"] for n in (1, 2))


def test_the_region_is_that_of_the_address() -> None:
    auth = SigV4(session=session())
    for host, region in {
        "abc123.execute-api.eu-west-3.amazonaws.com": "eu-west-3",
        "abc123.execute-api.cn-north-1.amazonaws.com.cn": "cn-north-1",
    }.items():
        request = httpx.Request("GET", f"https://{host}/skills")
        next(auth.auth_flow(request))
        assert f"/{region}/execute-api/aws4_request" in request.headers["authorization"]


def test_a_token_is_sent_and_asked_for_again_once_where_it_is_refused(
    registry: Loopback, connect: Connect
) -> None:
    tokens = iter(["old", "new", "newer"])
    registry.faults.append(Fault("GET /skills", 401))
    connect(auth=BearerToken(lambda: next(tokens))).list_all()
    assert sent_tokens(registry) == ["Bearer old", "Bearer new"]


def test_a_token_that_is_refused_again_is_not_asked_for_a_third_time(
    registry: Loopback, connect: Connect
) -> None:
    tokens = iter(["old", "new", "newer"])
    registry.faults += [Fault("GET /skills", 401)] * 3
    with pytest.raises(RegistryProblem) as refused:
        connect(auth=BearerToken(lambda: next(tokens))).list_all()
    assert refused.value.code == "unauthenticated"
    assert sent_tokens(registry) == ["Bearer old", "Bearer new"]


@pytest.mark.parametrize("token", ["fixed", lambda: "fixed"], ids=["text", "callable"])
def test_the_same_token_is_not_sent_twice(
    registry: Loopback, connect: Connect, token: str | Callable[[], str]
) -> None:
    registry.faults.append(Fault("GET /skills", 401))
    with pytest.raises(RegistryProblem, match="401"):
        connect(auth=BearerToken(token)).list_all()
    assert len(registry.requests) == 1


@pytest.mark.parametrize("token", ["fixed\n", lambda: " fixed\r\n"], ids=["text", "callable"])
def test_a_token_may_end_with_a_line_as_files_do(
    registry: Loopback, connect: Connect, token: str | Callable[[], str]
) -> None:
    connect(auth=BearerToken(token)).list_all()
    assert sent_tokens(registry) == ["Bearer fixed"]


@pytest.mark.parametrize("kind", ["token", "aws"])
def test_an_async_client_lets_others_go_on_while_credentials_are_fetched(
    registry: Loopback, kind: str
) -> None:
    others = threading.Event()

    def fetch() -> str:
        assert others.wait(30)
        return "token"

    async def go_on() -> None:
        others.set()

    async def both() -> None:
        auth = BearerToken(fetch) if kind == "token" else SigV4(REGION, session=Renewing(fetch))
        async with AsyncRegistryClient(registry.url, auth=auth) as client:
            await asyncio.gather(client.list_all(), go_on())

    asyncio.run(both())
    assert len(registry.requests) == 1
