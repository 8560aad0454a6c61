"""Credentials that are missing or broken, and that none of them is ever shown."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from botocore.credentials import Credentials
from botocore.session import Session
from loopback import Fault, Loopback

from skill_registry.agent.auth import BearerToken, SigV4
from skill_registry.agent.client import RegistryClient
from skill_registry.agent.problems import CredentialsFailed, RegistryUnreachable, TransferFailed
from skill_registry.agent.skillset import Skillset
from skill_registry.errors import RegistryError, RequestInvalid

if TYPE_CHECKING:
    from collections.abc import Generator

Connect = Callable[..., RegistryClient]
TOKEN, SECRET, SESSION_TOKEN = "a-bearer-token", "a-secret-key", "a-session-token"
# ``a-secret`` is what the loopback store has signed its URLs with.
HIDDEN = (TOKEN, SECRET, SESSION_TOKEN, "a-secret", "Signature=")


class Talkative:
    """A session that logs what it fetches, as botocore does of STS at DEBUG."""

    def get_credentials(self) -> Credentials:
        for name in ("botocore.parsers", "botocore.endpoint"):
            logging.getLogger(name).debug("Response body:\n%s", SESSION_TOKEN)
        return Credentials("key", SECRET, SESSION_TOKEN)


class Header(httpx.Auth):
    """An auth of somebody else, whose header cannot be sent."""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["X-Key"] = f"{TOKEN}\n"
        yield request


def failing() -> str:
    raise OSError(f"401 for https://idp.example.com/?client_secret={TOKEN}")


def test_without_region_or_credentials_the_reason_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", f"{tmp_path}/config")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", f"{tmp_path}/credentials")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    request = httpx.Request("GET", "https://registry.example.com/skills")
    signed = Session()
    signed.set_credentials("key", "secret")
    with pytest.raises(RequestInvalid) as refused:
        next(SigV4(session=signed).auth_flow(request))
    assert refused.value.code == "region_missing"
    with pytest.raises(RequestInvalid) as refused:
        next(SigV4("eu-west-1").auth_flow(request))
    assert refused.value.code == "credentials_missing"


def test_without_botocore_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.auth", None)
    with pytest.raises(RequestInvalid, match=r"skill-registry\[aws\]") as refused:
        next(SigV4("eu-west-1").auth_flow(httpx.Request("GET", "https://r.example.com")))
    assert refused.value.code == "aws_extra_missing"


@pytest.mark.parametrize("token", ["", " \n", "two words", "line\nline", "tok\u00e9n", "nul\0"])
def test_what_no_header_can_carry_is_no_token(token: str) -> None:
    with pytest.raises(RequestInvalid) as refused:
        BearerToken(token)
    assert refused.value.code == "token_invalid"
    assert token.strip() == "" or token not in str(refused.value)


@pytest.mark.parametrize("found", [None, "", "two words"])
def test_a_callable_that_returns_no_token_is_told(
    registry: Loopback, connect: Connect, found: Any
) -> None:
    with pytest.raises(RequestInvalid) as refused:
        connect(auth=BearerToken(lambda: found)).list_all()
    assert refused.value.code == "token_invalid"
    assert registry.requests == []


def test_a_callable_that_fails_is_an_error_with_a_code_and_without_its_text(
    registry: Loopback, connect: Connect
) -> None:
    with pytest.raises(CredentialsFailed, match="OSError") as failed:
        connect(auth=BearerToken(failing)).list_all()
    assert failed.value.code == "credentials_failed"
    assert TOKEN not in str(failed.value)
    assert isinstance(failed.value.__cause__, OSError)


def test_an_agent_goes_on_without_skills_where_its_token_cannot_be_had(
    registry: Loopback, connect: Connect
) -> None:
    skills = Skillset(connect(auth=BearerToken(failing)))
    assert "cannot be listed" in skills.instructions()
    assert skills.problem is not None
    assert skills.problem.code == "credentials_failed"
    assert skills.call("view_skill", {"name": "notes"}).code == "credentials_failed"


def test_an_error_of_ours_that_a_callable_raises_stays_what_it_is(
    registry: Loopback, connect: Connect
) -> None:
    def signed_out() -> str:
        raise RegistryError("Sign in first.", code="signed_out")

    with pytest.raises(RegistryError, match="Sign in") as failed:
        connect(auth=BearerToken(signed_out)).list_all()
    assert failed.value.code == "signed_out"


def test_a_profile_that_is_not_there_is_named(
    registry: Loopback, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "no-such-profile")
    with pytest.raises(CredentialsFailed, match="no-such-profile") as failed:
        connect(auth=SigV4("eu-west-1")).list_all()
    assert failed.value.code == "credentials_failed"
    assert registry.requests == []


def test_a_header_that_cannot_be_sent_is_not_repeated_in_the_error(
    registry: Loopback, connect: Connect
) -> None:
    with pytest.raises(RegistryUnreachable) as failed:
        connect(auth=Header()).list_all()
    assert "header" in str(failed.value)
    assert TOKEN not in "".join(traceback.format_exception(failed.value))


@pytest.mark.parametrize(
    "auth", [BearerToken(TOKEN), SigV4("eu-west-1", session=Talkative())], ids=["token", "aws"]
)
def test_no_log_line_and_no_error_shows_a_token_or_a_signed_url(
    registry: Loopback, connect: Connect, auth: httpx.Auth, caplog: pytest.LogCaptureFixture
) -> None:
    registry.house.publish("notes")
    for name in (None, "httpx", "httpcore", "botocore", "asyncio"):
        caplog.set_level(logging.DEBUG, logger=name)
    client = connect(auth=auth)
    client.list_all()
    copy = client.load_skill("notes")
    registry.faults += [Fault("GET /s3/", 403)] * 2
    with pytest.raises(TransferFailed) as failed:
        client.load_skill("notes")
    told = "".join(traceback.format_exception(failed.value))
    shown = (caplog.text, told, repr(auth), repr(client), repr(client.bundle("notes")), repr(copy))
    for text in shown:
        assert not [secret for secret in HIDDEN if secret in text]
    assert "/s3/" in caplog.text
    assert "httpcore" in caplog.text


def test_what_others_log_with_botocore_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="botocore")
    request = httpx.Request("GET", "https://registry.example.com/skills")
    next(SigV4("eu-west-1", session=Talkative()).auth_flow(request))
    assert caplog.text == ""
    logging.getLogger("botocore.auth").debug("Another signature")
    assert "Another signature" in caplog.text


def test_an_answer_that_no_registry_gives_shows_no_token(
    registry: Loopback, connect: Connect
) -> None:
    registry.faults.append(Fault("GET /skills", 401, {}, b"<html>Sign in</html>"))
    with pytest.raises(RegistryError) as refused:
        connect(auth=BearerToken(TOKEN)).list_all()
    assert TOKEN not in "".join(traceback.format_exception(refused.value))
    assert refused.value.code == "unauthenticated"
