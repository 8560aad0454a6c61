"""One registry's address, the connections to it, and how patient to be: what every call goes by.

Two clients, so that no credential of the registry can reach the object store. What a call consists
of is written once, as a flow that yields what has to be sent or waited for; ``Connection`` and
``AsyncConnection`` do that.
"""

from __future__ import annotations

import json
import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

import httpx

from skill_registry import __version__
from skill_registry.agent import requests, transfers
from skill_registry.agent.etags import EtagCache, unless
from skill_registry.agent.network import settings_understood
from skill_registry.agent.problems import unreachable
from skill_registry.agent.retries import REGISTRY_STATUSES, STORE_STATUSES, RetryPolicy

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Mapping
    from types import TracebackType

    from skill_registry.agent.requests import Call
    from skill_registry.agent.source import SkillList

T = TypeVar("T")

TIMEOUT = httpx.Timeout(30.0, connect=5.0)
# A proxy that the environment names cannot reach this machine's own local server.
_DIRECT: Final[Mapping[str, None]] = {
    f"all://{host}": None for host in ("127.0.0.1", "localhost", "[::1]")
}


@dataclass(frozen=True, slots=True)
class Send:
    """A request to the registry, or past it to its store."""

    request: httpx.Request
    to_store: bool


@dataclass(frozen=True, slots=True)
class Pause:
    """A wait between two attempts, in seconds."""

    seconds: float


# What it is sent: the outcome of a request, nothing for a pause.
Exchange = Generator[Send | Pause, Any, T]


class Wire:
    """What sync and async connections have alike, and their calls as flows.

    Raises:
        RequestInvalid: ``url`` is no HTTP address.
    """

    def __init__(
        self, url: str, claims: Mapping[str, object] | None, retry: RetryPolicy | None
    ) -> None:
        self._base = requests.registry_url(url)
        self._headers = {
            "User-Agent": f"skill-registry/{__version__}",
            "Accept": "application/json",
            "Accept-Encoding": "gzip, deflate",
        }
        if claims is not None:
            self._headers["X-Local-Claims"] = json.dumps(claims)
        transfers.hide_signatures()
        self._retry = retry or RetryPolicy()
        self._etags: EtagCache[Any] = EtagCache()
        self._whole: EtagCache[SkillList] = EtagCache()

    def _calling(
        self, call: Call, headers: Mapping[str, str] | None = None
    ) -> Exchange[httpx.Response]:
        """Send a call to the registry until it is answered, or patience ends.

        Raises:
            RegistryUnreachable: Nothing answers.
            AnswerInvalid: What answers cannot be decoded.
        """

        def build() -> httpx.Request:
            return httpx.Request(
                call.method,
                self._base + call.target,
                headers={**self._headers, **call.headers, **(headers or {})},
                content=call.body,
            )

        return self._attempts(build, to_store=False)

    def _reading(self, call: Call, read: Callable[[httpx.Response], T]) -> Exchange[T]:
        """Return what ``read`` makes of the answer; an unchanged one costs a 304 only.

        Raises:
            RegistryProblem, AnswerInvalid: As ``read``.
            RegistryUnreachable: Nothing answers.
        """
        known = self._etags.get(call)
        response = yield from self._calling(call, unless(known))
        if response.status_code == 304 and known is not None:
            value: T = known.value
            return value
        value = read(response)
        self._etags.put(call, response.headers.get("etag"), value)
        return value

    def _transferring(self, build: Callable[[], httpx.Request]) -> Exchange[httpx.Response]:
        """Send to the object store, or read from it, what ``build`` makes anew for each attempt.

        Raises:
            RegistryUnreachable: Nothing answers.
        """
        return self._attempts(build, to_store=True)

    def _attempts(
        self, build: Callable[[], httpx.Request], *, to_store: bool
    ) -> Exchange[httpx.Response]:
        started = time.monotonic()
        attempt = 1
        while True:
            request = build()
            outcome: httpx.Response | httpx.HTTPError = yield Send(request, to_store)
            wait = self._retry.pause(
                outcome,
                attempt=attempt,
                elapsed=time.monotonic() - started,
                statuses=STORE_STATUSES if to_store else REGISTRY_STATUSES,
            )
            if wait is None:
                break
            yield Pause(wait)
            attempt += 1
        if isinstance(outcome, httpx.Response):
            return outcome
        secret = isinstance(outcome, httpx.LocalProtocolError)
        raise unreachable(request.url, outcome) from (None if secret else outcome)


class Connection(Wire):
    """Sends calls to one registry, and transfers to its store. May be shared by threads.

    Args:
        url: The registry's address; a path in it is kept.
        auth: Signs or marks the requests to the registry, and only those; see ``auth.py``.
        claims: The local identity that the local server takes for JWT claims. A deployed registry
            does not look at it.
        timeout: Seconds, for each connect, read and write.
        retry: How patient to be.
        sleep: Waits that many seconds.

    Raises:
        RequestInvalid: ``url`` is no HTTP address.
    """

    def __init__(
        self,
        url: str,
        *,
        auth: httpx.Auth | None = None,
        claims: Mapping[str, object] | None = None,
        timeout: float | httpx.Timeout = TIMEOUT,
        retry: RetryPolicy | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(url, claims, retry)
        with settings_understood():
            more = _settings(timeout)
            self._api = httpx.Client(auth=auth, **more)
            self._store = httpx.Client(**more)
        self._sleep = sleep

    def _call(self, call: Call) -> httpx.Response:
        return self._take(self._calling(call))

    def _read(self, call: Call, read: Callable[[httpx.Response], T]) -> T:
        return self._take(self._reading(call, read))

    def _take(self, flow: Exchange[T]) -> T:
        """Do what a flow asks for, and return what it returns."""
        outcome: object = None
        while True:
            try:
                step = flow.send(outcome)
            except StopIteration as done:
                result: T = done.value
                return result
            outcome = None
            if isinstance(step, Pause):
                self._sleep(step.seconds)
                continue
            try:
                outcome = (self._store if step.to_store else self._api).send(step.request)
            except httpx.HTTPError as error:
                outcome = error
            except UnicodeError:
                # httpx looks at where a redirect leads, also to no host name at all.
                outcome = httpx.DecodingError("No redirect leads there.")

    def close(self) -> None:
        """Close every connection."""
        self._api.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class AsyncConnection(Wire):
    """``Connection`` for the tasks of one event loop.

    Args:
        sleep: Waits that many seconds; ``asyncio.sleep`` where there is none.
    """

    def __init__(
        self,
        url: str,
        *,
        auth: httpx.Auth | None = None,
        claims: Mapping[str, object] | None = None,
        timeout: float | httpx.Timeout = TIMEOUT,
        retry: RetryPolicy | None = None,
        sleep: Callable[[float], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__(url, claims, retry)
        with settings_understood():
            more = _settings(timeout)
            self._api = httpx.AsyncClient(auth=auth, **more)
            self._store = httpx.AsyncClient(**more)
        self._sleep = sleep

    async def _take(self, flow: Exchange[T]) -> T:
        """Do what a flow asks for, and return what it returns."""
        outcome: object = None
        while True:
            try:
                step = flow.send(outcome)
            except StopIteration as done:
                result: T = done.value
                return result
            outcome = None
            if isinstance(step, Pause):
                await self._wait(step.seconds)
                continue
            try:
                outcome = await (self._store if step.to_store else self._api).send(step.request)
            except httpx.HTTPError as error:
                outcome = error
            except UnicodeError:
                # httpx looks at where a redirect leads, also to no host name at all.
                outcome = httpx.DecodingError("No redirect leads there.")

    async def _wait(self, seconds: float) -> None:
        # At import this would cost every sync agent.
        import asyncio

        await (self._sleep or asyncio.sleep)(seconds)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._api.aclose()
        await self._store.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


def _settings(timeout: float | httpx.Timeout) -> dict[str, Any]:
    # One TLS context for both: reading the system's certificates is what takes the time here.
    tls: ssl.SSLContext = httpx.create_ssl_context()
    return {"timeout": timeout, "verify": tls, "mounts": _DIRECT}
