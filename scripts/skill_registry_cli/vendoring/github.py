"""GitHub's REST API, and GitHub Enterprise Server's: one request for a ref, one for an archive.

Sources: GitHub REST API, "Get a commit" (media type ``sha``), "Download a repository archive",
"Rate limits for the REST API", "Redirects". A token goes to the API alone, never to the place that
an archive is redirected to.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self
from urllib.parse import quote

import httpx

from skill_registry import __version__
from skill_registry.agent.network import settings_understood
from skill_registry.agent.retries import RetryPolicy
from skill_registry.spec.text import shown
from skill_registry_cli.vendoring.hosts import MOST_ARCHIVE_BYTES
from skill_registry_cli.vendoring.manifest import COMMIT
from skill_registry_cli.vendoring.problems import VendoringRefused
from skill_registry_cli.vendoring.repositories import GITHUB

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import BinaryIO

    from skill_registry_cli.vendoring.hosts import Progress
    from skill_registry_cli.vendoring.repositories import Repository

_TIMEOUT = httpx.Timeout(30.0)
_PASSING = frozenset({500, 502, 503, 504})
_MOVED = frozenset({301, 302, 307, 308})
_UNKNOWN_REF = frozenset({409, 422})
# As GitHub's own command line looks for them, in this order.
_TOKENS = ("GH_TOKEN", "GITHUB_TOKEN")
_OTHER_TOKENS = ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")


@dataclass(frozen=True, slots=True)
class Token:
    """What shows a host who asks, and the variable that held it."""

    variable: str
    value: str = field(repr=False)


def token_variables(origin: str) -> tuple[str, str]:
    """Return the variables that hold the token for a host: the first one that does counts."""
    return _TOKENS if origin == GITHUB else _OTHER_TOKENS


class GitHub:
    """Code hosts that speak GitHub's API. Close it, or use it in ``with``.

    A proxy and certificates are those of the environment (``HTTPS_PROXY``, ``SSL_CERT_FILE``).

    Args:
        tokens: By origin, what is shown to that host's API.
        retry: How patient to be.
        sleep: Waits that many seconds.
    """

    def __init__(
        self,
        tokens: Mapping[str, Token],
        *,
        retry: RetryPolicy | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._tokens = dict(tokens)
        self._retry = retry or RetryPolicy()
        self._sleep = sleep
        # Made when it is needed: repositories of this machine ask nothing of a network.
        self._opened: httpx.Client | None = None

    def resolve(self, repository: Repository, ref: str) -> str:
        """As ``CodeHost``."""
        path = f"/commits/{quote(ref, safe='')}"
        response = self._ask(repository, path, "application/vnd.github.sha")
        if response.status_code in _UNKNOWN_REF:
            message = f"{repository.url} has no branch, tag or commit {shown(ref)}."
            raise VendoringRefused(message, code="ref_not_found")
        self._check(repository, response)
        commit = response.text.strip()
        if not COMMIT.fullmatch(commit):
            raise _unreachable(repository, "it did not answer with a commit")
        return commit

    def archive(
        self, repository: Repository, commit: str, target: BinaryIO, progress: Progress
    ) -> None:
        """As ``CodeHost``."""
        response = self._ask(repository, f"/zipball/{commit}", "application/vnd.github+json")
        if response.status_code != 302:
            self._check(repository, response)
            raise _unreachable(repository, "it did not say where the archive is")
        place = response.headers.get("location", "")
        # Where the API is encrypted, the archive has to be.
        schemes = ("https://",) if repository.api.startswith("https://") else ("http://",)
        if not place.startswith(schemes):
            raise _unreachable(repository, "it named a place that is no such URL")
        self._download(repository, place, target, progress)

    def close(self) -> None:
        """Close every connection."""
        if self._opened is not None:
            self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def _http(self) -> httpx.Client:
        if self._opened is None:
            agent = {"User-Agent": f"skillctl/{__version__}"}
            with settings_understood():
                self._opened = httpx.Client(timeout=_TIMEOUT, headers=agent)
        return self._opened

    def _ask(self, repository: Repository, path: str, accept: str) -> httpx.Response:
        headers = {"Accept": accept}
        if token := self._tokens.get(repository.origin):
            headers["Authorization"] = f"Bearer {token.value}"
        url = f"{repository.api}/repos/{repository.slug}{path}"

        def send() -> httpx.Response:
            return self._http.get(url, headers=headers)

        return self._again(repository, send)

    def _again(self, repository: Repository, send: Callable[[], httpx.Response]) -> httpx.Response:
        """Send, and again while that may help."""
        began, attempt = time.monotonic(), 0
        while True:
            attempt += 1
            outcome: httpx.Response | httpx.HTTPError
            try:
                outcome = send()
            except httpx.HTTPError as failure:
                outcome = failure
            except (httpx.InvalidURL, UnicodeError) as failure:
                raise _unreachable(repository, "its address is none") from failure
            pause = self._retry.pause(
                outcome, attempt=attempt, elapsed=time.monotonic() - began, statuses=_PASSING
            )
            if pause is not None:
                self._sleep(pause)
            elif isinstance(outcome, httpx.LocalProtocolError):
                # Its text repeats the header that cannot be sent, whatever secret that is.
                raise _unreachable(repository, "a header for it is none that can be sent")
            elif isinstance(outcome, httpx.HTTPError):
                raise _unreachable(repository, str(outcome) or type(outcome).__name__)
            else:
                return outcome

    def _check(self, repository: Repository, response: httpx.Response) -> None:
        """Raise for every answer but a success."""
        status = response.status_code
        if response.is_success:
            return
        if status in _MOVED:
            message = (
                f"{repository.url} has another address now. Look where it went and whose it is,"
                " and put the new address into the manifest."
            )
            raise VendoringRefused(message, code="upstream_moved")
        token = self._tokens.get(repository.origin)
        if limited := _rate_limit(response, repository, known=token is not None):
            raise limited
        if status in {404, 410, 451}:
            message = f"The code host knows no repository {repository.url}, or no such commit"
            shows = "with this token" if token else "without a token"
            raise VendoringRefused(f"{message}, {shows}.", code="upstream_not_found")
        if status in {401, 403}:
            message = f"The code host refuses to show {repository.url} ({status})."
            if status == 401 and token:
                message = f"The code host of {repository.url} does not take the token in"
                message = f"{message} {token.variable}."
            raise VendoringRefused(message, code="upstream_refused")
        raise _unreachable(repository, f"it answered {status}")

    def _download(
        self, repository: Repository, place: str, target: BinaryIO, progress: Progress
    ) -> None:
        def send() -> httpx.Response:
            with self._http.stream("GET", place) as response:
                if response.is_success:
                    _write(repository, response, target, progress)
                elif response.status_code == 403:
                    # It may be a rate limit, which only its text tells.
                    response.read()
                return response

        response = self._again(repository, send)
        self._check(repository, response)


def _write(
    repository: Repository, response: httpx.Response, target: BinaryIO, progress: Progress
) -> None:
    length = response.headers.get("content-length", "")
    total = int(length) if length.isdecimal() else None
    so_far = 0
    # An attempt before may have ended on the way.
    target.seek(0)
    target.truncate()
    for chunk in response.iter_bytes(1024 * 1024):
        so_far += len(chunk)
        if so_far > MOST_ARCHIVE_BYTES:
            message = f"The archive of {repository.url} is over {MOST_ARCHIVE_BYTES} bytes."
            raise VendoringRefused(message, code="archive_invalid")
        target.write(chunk)
        progress(so_far, total)


def _rate_limit(
    response: httpx.Response, repository: Repository, *, known: bool
) -> VendoringRefused | None:
    """Return the refusal that an answer is, None for another one; ``known``: a token was shown."""
    headers = response.headers
    spent = headers.get("x-ratelimit-remaining") == "0"
    # A secondary limit may say so in its text alone.
    limited = spent or "retry-after" in headers or _says_rate_limit(response)
    if response.status_code != 429 and not (response.status_code == 403 and limited):
        return None
    when = ""
    reset = headers.get("x-ratelimit-reset", "")
    if spent and reset.isdecimal() and len(reset) < 12:
        when = f" until {datetime.fromtimestamp(int(reset), UTC):%H:%M} UTC"
    elif headers.get("retry-after", "").isdecimal():
        when = f" for {headers['retry-after']} seconds"
    names = " or ".join(token_variables(repository.origin))
    hint = "" if known else f" A token in {names} allows more."
    message = f"The code host of {repository.url} takes no more requests{when}.{hint}"
    return VendoringRefused(message, code="rate_limited")


def _says_rate_limit(response: httpx.Response) -> bool:
    return response.status_code == 403 and b"rate limit" in response.content.lower()


def _unreachable(repository: Repository, why: str) -> VendoringRefused:
    message = f"The code host of {repository.url} cannot be used: {why}."
    return VendoringRefused(message, code="upstream_unreachable")
