"""How a client says who it is: a bearer token, or a signature with AWS credentials.

Both are given to a client as ``auth``. They go to the registry alone: the object store is reached
through another HTTP client, and redirects are not followed. No token, no signature and nothing that
one is made with stands in a message, a log line or a ``repr``.
"""

from __future__ import annotations

import logging
import re
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import httpx

from skill_registry.agent.problems import CredentialsFailed
from skill_registry.errors import RegistryError, RequestInvalid

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Iterator

_EXECUTE_API = re.compile(r"[a-z0-9-]+\.execute-api(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com(\.cn)?")
# What a signature covers besides. Proxies change the others on the way.
_SIGNED = ("content-type",)
_TOKEN = re.compile(r"[!-~]+")
# At DEBUG these tell what is signed, session tokens included, and how credentials are fetched.
_TALKATIVE = ("botocore.auth", "botocore.endpoint", "botocore.parsers")
_SIGNING: ContextVar[bool] = ContextVar("skill_registry_signing", default=False)


class BearerToken(httpx.Auth):
    """Sends a token of the identity provider.

    Args:
        token: The token, or what returns one; that is asked for every request, so it may remember
            one, and asked again once where a token is refused (401). Async clients ask it in a
            thread.

    Raises:
        RequestInvalid: ``token_invalid``, then or with a request: it is no token.
    """

    def __init__(self, token: str | Callable[[], str]) -> None:
        self._token = _checked(token) if isinstance(token, str) else token

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Mark a request.

        Raises:
            CredentialsFailed: What returns tokens failed.
        """
        token = self._current()
        response = yield _marked(request, token)
        if response.status_code == 401 and (renewed := self._current()) != token:
            yield _marked(request, renewed)

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """As ``auth_flow``."""
        token = await self._awaited()
        response = yield _marked(request, token)
        if response.status_code == 401 and (renewed := await self._awaited()) != token:
            yield _marked(request, renewed)

    def _current(self) -> str:
        if isinstance(self._token, str):
            return self._token
        try:
            token = self._token()
        except RegistryError:
            raise
        except Exception as error:
            # Whose text that is, and what secrets are in it, is not known.
            kind = type(error).__name__
            raise CredentialsFailed(f"No token could be had: {kind}.") from error
        return _checked(token)

    async def _awaited(self) -> str:
        if isinstance(self._token, str):
            return self._token
        import asyncio

        return await asyncio.to_thread(self._current)

    def __repr__(self) -> str:
        return "BearerToken(...)"


class SigV4(httpx.Auth):
    """Signs requests with AWS credentials, by botocore (the extra ``aws``).

    Source: AWS General Reference, "Signature Version 4".

    Args:
        region: Of the registry; else that of its ``execute-api`` address, else of the session.
        service: What the registry's address belongs to.
        session: A ``botocore.session.Session``; else one as the environment has it. Its credentials
            are read anew for each request, so that temporary ones are renewed in time.
    """

    requires_request_body = True

    def __init__(
        self, region: str | None = None, *, service: str = "execute-api", session: Any = None
    ) -> None:
        self._region = region
        self._service = service
        self._session = session
        self._opening = threading.Lock()

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Sign a request.

        Raises:
            RequestInvalid: ``credentials_missing``, ``region_missing``, ``aws_extra_missing``.
            CredentialsFailed: There are some, and they could not be read or renewed.
        """
        self._sign(request)
        yield request

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Sign a request; credentials may have to be fetched, so that is done in a thread."""
        import asyncio

        await request.aread()
        await asyncio.to_thread(self._sign, request)
        yield request

    def _sign(self, request: httpx.Request) -> None:
        try:
            from botocore.auth import SigV4Auth
            from botocore.awsrequest import AWSRequest
        except ImportError as error:
            raise RequestInvalid(
                "Signing needs botocore: pip install 'skill-registry[aws]'.",
                code="aws_extra_missing",
            ) from error
        headers = {name: request.headers[name] for name in _SIGNED if name in request.headers}
        # The host as it goes over the wire, which botocore would otherwise make from the address.
        headers["Host"] = request.headers["Host"]
        unsigned = AWSRequest(request.method, str(request.url), headers, request.content)
        with _quietly(), _explaining():
            credentials, region = self._credentials(), self._region_of(request.url)
            SigV4Auth(credentials, self._service, region).add_auth(unsigned)
        for name, value in unsigned.headers.items():
            request.headers[name] = value

    def _credentials(self) -> Any:
        credentials = self._opened().get_credentials()
        if credentials is None:
            raise RequestInvalid(
                "There are no AWS credentials here: set AWS_PROFILE, or sign in.",
                code="credentials_missing",
            )
        return credentials.get_frozen_credentials()

    def _region_of(self, url: httpx.URL) -> str:
        if self._region is not None:
            return self._region
        found = _EXECUTE_API.fullmatch(url.host)
        region: str | None = found[1] if found else self._opened().get_config_variable("region")
        if not region:
            raise RequestInvalid(
                "Name the region of the registry: its address does not tell it.",
                code="region_missing",
            )
        return region

    def _opened(self) -> Any:
        with self._opening:
            if self._session is None:
                from botocore.session import Session

                self._session = Session()
            return self._session

    def __repr__(self) -> str:
        return f"SigV4({self._region!r}, service={self._service!r})"


def _marked(request: httpx.Request, token: str) -> httpx.Request:
    request.headers["Authorization"] = f"Bearer {token}"
    return request


def _checked(token: object) -> str:
    """Return a token as a header can carry it; those that are read from files end with a line."""
    bare = token.strip() if isinstance(token, str) else ""
    if not _TOKEN.fullmatch(bare):
        raise RequestInvalid(
            "The bearer token is none: it is empty, or has blanks or other characters in it that a"
            " header cannot carry.",
            code="token_invalid",
        )
    return bare


@contextmanager
def _explaining() -> Iterator[None]:
    """Say what failed in AWS's own code, which raises many kinds of exceptions, as one of ours."""
    try:
        yield
    except RegistryError:
        raise
    except Exception as error:
        reason = str(error).rstrip(".") or type(error).__name__
        raise CredentialsFailed(f"The AWS credentials could not be had: {reason}.") from error


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep what botocore logs of secrets out of every log while this thread signs."""
    for name in _TALKATIVE:
        logging.getLogger(name).addFilter(_SILENCE)
    signing = _SIGNING.set(True)
    try:
        yield
    finally:
        _SIGNING.reset(signing)


class _WhileSigning(logging.Filter):
    """Drops all records of a thread that signs; others pass."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not _SIGNING.get()


_SILENCE = _WhileSigning()
