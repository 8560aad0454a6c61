"""One registry's address, the connections to it, and how patient to be: what every call goes by.

Two clients, so that no credential of the registry can reach the object store.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

import httpx

from skill_registry import __version__
from skill_registry.agent import requests, transfers
from skill_registry.agent.etags import EtagCache
from skill_registry.agent.problems import unreachable
from skill_registry.agent.retries import REGISTRY_STATUSES, STORE_STATUSES, RetryPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from skill_registry.agent.requests import Call

T = TypeVar("T")

TIMEOUT = httpx.Timeout(30.0, connect=5.0)
# A proxy that the environment names cannot reach this machine's own local server.
_DIRECT: Final[Mapping[str, None]] = {
    f"all://{host}": None for host in ("127.0.0.1", "localhost", "[::1]")
}


class Connection:
    """Sends calls to one registry, and transfers to its store. May be shared by threads.

    Args:
        url: The registry's address; a path in it is kept.
        auth: Signs or marks the requests to the registry, and only those.
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
        self._base = requests.registry_url(url)
        headers = {"User-Agent": f"skill-registry/{__version__}", "Accept": "application/json"}
        if claims is not None:
            headers["X-Local-Claims"] = json.dumps(claims)
        transfers.hide_signatures()
        # One TLS context for both: reading the system's certificates is what takes the time here.
        tls = httpx.create_ssl_context()
        self._api = httpx.Client(
            auth=auth, headers=headers, timeout=timeout, verify=tls, mounts=_DIRECT
        )
        self._store = httpx.Client(timeout=timeout, verify=tls, mounts=_DIRECT)
        self._retry = retry or RetryPolicy()
        self._sleep = sleep
        self._etags: EtagCache[Any] = EtagCache()

    def _call(self, call: Call, headers: Mapping[str, str] | None = None) -> httpx.Response:
        """Send a call to the registry until it is answered, or patience ends.

        Raises:
            RegistryUnreachable: Nothing answers.
            AnswerInvalid: What answers cannot be decoded.
        """

        def build() -> httpx.Request:
            return self._api.build_request(
                call.method,
                self._base + call.target,
                headers={**call.headers, **(headers or {})},
                content=call.body,
            )

        return self._send(self._api, build, REGISTRY_STATUSES)

    def _read(self, call: Call, read: Callable[[httpx.Response], T]) -> T:
        """Return what ``read`` makes of the answer; an unchanged one costs a 304 only.

        Raises:
            RegistryProblem, AnswerInvalid: As ``read``.
            RegistryUnreachable: Nothing answers.
        """
        known = self._etags.get(call)
        headers = {} if known is None else {"If-None-Match": known.etag}
        response = self._call(call, headers)
        if response.status_code == 304 and known is not None:
            value: T = known.value
            return value
        value = read(response)
        self._etags.put(call, response.headers.get("etag"), value)
        return value

    def _transfer(self, build: Callable[[], httpx.Request]) -> httpx.Response:
        """Send to the object store, or read from it, what ``build`` makes anew for each attempt.

        Raises:
            RegistryUnreachable: Nothing answers.
        """
        return self._send(self._store, build, STORE_STATUSES)

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

    def _send(
        self,
        client: httpx.Client,
        build: Callable[[], httpx.Request],
        statuses: frozenset[int],
    ) -> httpx.Response:
        started = time.monotonic()
        attempt = 1
        while True:
            request = build()
            outcome: httpx.Response | httpx.HTTPError
            try:
                outcome = client.send(request)
            except httpx.HTTPError as error:
                outcome = error
            wait = self._retry.pause(
                outcome,
                attempt=attempt,
                elapsed=time.monotonic() - started,
                statuses=statuses,
            )
            if wait is None:
                break
            self._sleep(wait)
            attempt += 1
        if isinstance(outcome, httpx.Response):
            return outcome
        raise unreachable(request.url, outcome) from outcome
