"""The client of the registry's HTTP API.

Requests, retries and reading are pure and live in modules of their own; what is here is the order
of the calls, the state (connections and ETags), and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from typing import TYPE_CHECKING, Final, Self

import httpx

from skill_registry import __version__
from skill_registry.agent import bundles, reading, requests, transfers
from skill_registry.agent.answers import View
from skill_registry.agent.etags import EtagCache
from skill_registry.agent.problems import AnswerInvalid, unreachable
from skill_registry.agent.requests import NO_PRECONDITION, Call, Precondition
from skill_registry.agent.retries import REGISTRY_STATUSES, STORE_STATUSES, RetryPolicy
from skill_registry.spec.model import SKILL_MD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import TracebackType

    from skill_registry.agent.answers import (
        Bundle,
        Listing,
        Published,
        UploadState,
        UploadTicket,
        Validation,
    )
    from skill_registry.agent.transfers import Progress

_TIMEOUT = httpx.Timeout(30.0, connect=5.0)
# A proxy that the environment names cannot reach this machine's own local server.
_DIRECT: Final[Mapping[str, None]] = {
    f"all://{host}": None for host in ("127.0.0.1", "localhost", "[::1]")
}


class RegistryClient:
    """One registry, over HTTP. May be shared by threads; close it, or use it in ``with``.

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

    Every method raises ``RegistryProblem`` when the registry refuses, ``RegistryUnreachable`` when
    nothing answers, and ``AnswerInvalid`` when something else than a registry answers.
    """

    def __init__(
        self,
        url: str,
        *,
        auth: httpx.Auth | None = None,
        claims: Mapping[str, object] | None = None,
        timeout: float | httpx.Timeout = _TIMEOUT,
        retry: RetryPolicy | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._base = requests.registry_url(url)
        headers = {"User-Agent": f"skill-registry/{__version__}", "Accept": "application/json"}
        if claims is not None:
            headers["X-Local-Claims"] = json.dumps(claims)
        transfers.hide_signatures()
        # Two clients, so that no credential of the registry can reach the object store. One TLS
        # context for both: reading the system's certificates is what takes the time here.
        tls = httpx.create_ssl_context()
        self._api = httpx.Client(
            auth=auth, headers=headers, timeout=timeout, verify=tls, mounts=_DIRECT
        )
        self._store = httpx.Client(timeout=timeout, verify=tls, mounts=_DIRECT)
        self._retry = retry or RetryPolicy()
        self._sleep = sleep
        self._etags: EtagCache[Listing] = EtagCache()

    def list_skills(
        self, scopes: Sequence[str] = (), *, limit: int | None = None, cursor: str | None = None
    ) -> Listing:
        """Return one page of the listing; an unchanged one costs a 304 and is not read again."""
        call = requests.list_skills(scopes, limit, cursor)
        known = self._etags.get(call)
        headers = {} if known is None else {"If-None-Match": known.etag}
        response = self._call(call, headers)
        if response.status_code == 304 and known is not None:
            return known.value
        listing = reading.read_listing(response)
        self._etags.put(call, response.headers.get("etag"), listing)
        return listing

    def list_pages(
        self, scopes: Sequence[str] = (), *, limit: int | None = None
    ) -> Iterator[Listing]:
        """Yield the listing page by page."""
        page = self.list_skills(scopes, limit=limit)
        seen: set[str] = set()
        yield page
        while page.next is not None:
            if page.next in seen:
                raise AnswerInvalid("The registry's listing does not end: a cursor came twice.")
            seen.add(page.next)
            page = self.list_skills(scopes, limit=limit, cursor=page.next)
            yield page

    def view_skill(
        self,
        name: str,
        path: str | None = None,
        version: int | str | None = None,
        scope: str | None = None,
        raw: bool = False,
    ) -> View:
        """Return a skill's body, or the file at ``path``, or with ``raw`` the stored bytes.

        ``version`` is a number or a label (``@stable``); without it, the head. A file that is too
        large for one answer is taken out of the bundle.

        Raises:
            TransferFailed: That bundle could not be had.
        """
        response = self._call(requests.view_skill(name, path, version, scope, raw))
        if not raw:
            view = reading.read_view(response)
            if isinstance(view, View):
                return view
            return bundles.view_of(view.bundle, self.download(view.bundle), view.path, raw=False)
        stored = reading.read_raw_view(response, name, path)
        if stored is not None:
            return stored
        whole = self.bundle(name, version, scope)
        return bundles.view_of(whole, self.download(whole), path or SKILL_MD, raw=True)

    def bundle(
        self, name: str, version: int | str | None = None, scope: str | None = None
    ) -> Bundle:
        """Return where the whole skill can be read for a while."""
        return reading.read_bundle(self._call(requests.bundle(name, version, scope)))

    def download(self, bundle: Bundle) -> bytes:
        """Read a bundle and return its bytes once their digest is right.

        Raises:
            TransferFailed: The store refused, or the digest is wrong.
        """
        response = self._transfer(lambda: transfers.bundle_request(bundle))
        return bundles.check_digest(bundle, transfers.check_download(response))

    def create_upload(
        self,
        name: str,
        *,
        size: int | None = None,
        sha256: str | None = None,
        message: str | None = None,
        scope: str | None = None,
        precondition: Precondition = NO_PRECONDITION,
    ) -> UploadTicket:
        """Ask for leave to upload. With ``size`` (bytes) and ``sha256`` it binds those bytes."""
        call = requests.create_upload(name, size, sha256, message, scope, precondition)
        return reading.read_ticket(self._call(call))

    def send_upload(
        self, ticket: UploadTicket, data: bytes, progress: Progress | None = None
    ) -> None:
        """Send the archive straight to the store, without any credential of the registry.

        Args:
            ticket: The leave.
            data: The archive.
            progress: Called with the bytes sent and the bytes in all.

        Raises:
            TransferFailed: The store refused.
        """
        response = self._transfer(lambda: transfers.upload_request(ticket, data, progress))
        transfers.check_upload(ticket, response)

    def complete(self, upload_id: str) -> Published:
        """Publish an upload now. Repeating it returns the same version."""
        return reading.read_published(self._call(requests.complete(upload_id)))

    def upload_state(self, upload_id: str) -> UploadState:
        """Return what became of an upload."""
        return reading.read_upload_state(self._call(requests.upload_state(upload_id)))

    def publish(
        self,
        name: str,
        data: bytes,
        *,
        message: str | None = None,
        scope: str | None = None,
        precondition: Precondition = NO_PRECONDITION,
        progress: Progress | None = None,
    ) -> Published:
        """Ticket, upload and completion in one: publish an archive exactly once."""
        ticket = self.create_upload(
            name,
            size=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
            message=message,
            scope=scope,
            precondition=precondition,
        )
        self.send_upload(ticket, data, progress)
        return self.complete(ticket.upload_id)

    def publish_inline(
        self,
        name: str,
        skill: bytes | Mapping[str, str],
        *,
        message: str | None = None,
        scope: str | None = None,
        precondition: Precondition = NO_PRECONDITION,
        key: str | None = None,
    ) -> Published:
        """Publish a small skill (at most 4 MiB) in one request, exactly once.

        Args:
            name: The skill.
            skill: A zip archive, or text files by their paths.
            message: Why.
            scope: Where to; without it the caller's default scope.
            precondition: What must hold.
            key: The idempotency key, for a caller that may repeat the whole call; else a new one.
        """
        key = key or uuid.uuid4().hex
        call = requests.publish_inline(name, skill, key, message, scope, precondition)
        return reading.read_published(self._call(call))

    def validate(self, skill: bytes | Mapping[str, str], name: str | None = None) -> Validation:
        """Return the diagnostics that a publish would have; nothing is stored."""
        return reading.read_validation(self._call(requests.validate(name, skill)))

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

    def _call(self, call: Call, headers: Mapping[str, str] | None = None) -> httpx.Response:
        def build() -> httpx.Request:
            return self._api.build_request(
                call.method,
                self._base + call.target,
                headers={**call.headers, **(headers or {})},
                content=call.body,
            )

        return self._send(self._api, build, REGISTRY_STATUSES)

    def _transfer(self, build: Callable[[], httpx.Request]) -> httpx.Response:
        return self._send(self._store, build, STORE_STATUSES)

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
