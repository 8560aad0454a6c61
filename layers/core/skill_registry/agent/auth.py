"""How a client says who it is: a bearer token, or a signature with AWS credentials.

Both are given to a client as ``auth``. They go to the registry alone: the object store is reached
through another HTTP client, and redirects are not followed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import httpx

from skill_registry.errors import RequestInvalid

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator

_EXECUTE_API = re.compile(r"[a-z0-9-]+\.execute-api(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com(\.cn)?")
# What a signature covers besides. Proxies change the others on the way.
_SIGNED = ("content-type",)


class BearerToken(httpx.Auth):
    """Sends a token of the identity provider.

    Args:
        token: The token, or what returns one; that is asked again where a token is refused (401).
    """

    def __init__(self, token: str | Callable[[], str]) -> None:
        self._token = token

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Mark a request."""
        token = self._current()
        request.headers["Authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code == 401 and (renewed := self._current()) != token:
            request.headers["Authorization"] = f"Bearer {renewed}"
            yield request

    def _current(self) -> str:
        return self._token if isinstance(self._token, str) else self._token()

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

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Sign a request.

        Raises:
            RequestInvalid: ``credentials_missing``, ``region_missing``, ``aws_extra_missing``.
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
        SigV4Auth(self._credentials(), self._service, self._region_of(request.url)).add_auth(
            unsigned
        )
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
        if self._session is None:
            from botocore.session import Session

            self._session = Session()
        return self._session
