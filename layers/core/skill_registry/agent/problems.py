"""What a client of the registry can be told besides its answer: the client half of the error tree.

RegistryError
├── RegistryProblem     the registry's own refusal, with its stable code
├── RegistryUnreachable registry_unreachable: no answer at all
├── AnswerInvalid       answer_invalid: an answer that is not the registry's
├── CredentialsFailed   credentials_failed: no token or AWS credentials could be had (agent/auth.py)
├── TransferFailed      transfer_failed: the object store refused an upload or a download
├── SourceUnreadable    source_unreadable: a directory of this machine that cannot be read
├── SourceFailed        source_failed: a fault of a source itself
├── DigestMismatch      skill_digest_mismatch: not the bytes of the lock file
├── CopyFailed          skill_copy_failed: a skill did not reach the workspace (agent/mount.py)
└── MountChanged        skill_mount_changed: a copy there was changed (agent/mount.py)

No message ever holds a presigned URL or a token.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import httpx

from skill_registry.agent.retries import read_retry_after
from skill_registry.errors import RegistryError
from skill_registry.spec.model import Diagnostic, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Where API Gateway answers before a function of ours runs, there is a status and no code.
_CODES = {
    400: "request_invalid",
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    413: "too_large",
    429: "too_many_requests",
}
_MEMBERS: dict[str, type | tuple[type, ...]] = {
    "code": str,
    "message": str,
    "field": str,
    "file": str,
    "line": int,
    "column": int,
    "limit": int,
    "actual": (int, str),
    "hint": str,
}


class RegistryProblem(RegistryError):
    """A refusal of the registry (RFC 9457).

    Attributes:
        status: HTTP status.
        code: The registry's stable code.
        detail: One sentence that says what is wrong and what to do.
        diagnostics: Every problem of a refused skill.
        available: Names or paths that would have been found.
        current: The head's version, after a failed precondition.
        retry_after: Seconds that the registry asked to wait, None where it asked for nothing.
        document: The problem document as it was served.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        diagnostics: Sequence[Diagnostic] = (),
        available: Sequence[str] = (),
        current: int | None = None,
        retry_after: float | None = None,
        document: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail, code=code)
        self.status = status
        self.detail = detail
        self.diagnostics = tuple(diagnostics)
        self.available = tuple(available)
        self.current = current
        self.retry_after = retry_after
        self.document = dict(document or {"status": status, "code": code, "detail": detail})


class RegistryUnreachable(RegistryError):
    """No answer came: wrong address, no network, or the registry is down."""

    code = "registry_unreachable"


class AnswerInvalid(RegistryError):
    """Something answered, and not as a registry does: a wrong address, or a proxy between."""

    code = "answer_invalid"


class CredentialsFailed(RegistryError):
    """What proves who calls could not be had: an identity provider or AWS did not give it."""

    code = "credentials_failed"


class SourceUnreadable(RegistryError):
    """A directory of skills cannot be read, or keeps changing while it is."""

    code = "source_unreadable"


class SourceFailed(RegistryError):
    """A source of skills failed in a way that it should not; the log says how."""

    code = "source_failed"


class DigestMismatch(RegistryError):
    """A skill's files are not those that the lock file of a run names."""

    code = "skill_digest_mismatch"


class TransferFailed(RegistryError):
    """The object store refused the bytes, or served other bytes than the registry announced.

    Attributes:
        status: HTTP status of the store, None where the bytes themselves were wrong.
        passing: Whether a new leave may help: that one had expired, or what it was for is gone.
    """

    code = "transfer_failed"

    def __init__(self, message: str, *, status: int | None = None, passing: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.passing = passing


def read_problem(response: httpx.Response) -> RegistryProblem:
    """Read a refusal; whatever its body holds, this returns and does not raise."""
    document = read_object(response.content) or {}
    code = document.get("code")
    detail = document.get("detail") or document.get("message")
    status = response.status_code
    if not isinstance(code, str) or not code:
        code = _CODES.get(status, "unavailable" if status >= 500 else "refused")
    if not isinstance(detail, str) or not detail:
        detail = f"{response.url.host} answered {_phrase(status)} without a reason."
        if not document:
            detail += " Is this the address of a registry?"
    current = document.get("current")
    return RegistryProblem(
        status,
        code,
        detail,
        diagnostics=read_diagnostics(document.get("diagnostics")),
        available=_texts(document.get("available")),
        current=current if isinstance(current, int) else None,
        retry_after=read_retry_after(response.headers),
        document={**document, "status": status, "code": code, "detail": detail},
    )


def unreachable(url: httpx.URL, error: httpx.HTTPError) -> RegistryError:
    """Say why a request brought no answer, without its query and headers: they hold secrets."""
    where = f"{url.scheme}://{url.netloc.decode()}"
    if isinstance(error, httpx.DecodingError):
        return AnswerInvalid(f"The answer of {where} cannot be decoded.")
    if isinstance(error, httpx.LocalProtocolError):
        # Its text repeats the header that cannot be sent, whatever secret that is.
        return RegistryUnreachable(f"A header for {where} is none that can be sent.")
    reason = str(error) or type(error).__name__
    return RegistryUnreachable(f"{where} does not answer: {reason}.")


def read_object(body: bytes) -> dict[str, Any] | None:
    """Read a JSON object, None where there is none, or one with text that cannot be written."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or _holds_halves(body, document):
        return None
    return document


def read_diagnostics(value: object) -> tuple[Diagnostic, ...]:
    """Read a list of diagnostics, leniently: newer registries may add members and severities."""
    if not isinstance(value, list):
        return ()
    return tuple(_diagnostic(item) for item in value if isinstance(item, dict))


def _diagnostic(item: dict[str, Any]) -> Diagnostic:
    severity: Any = item.get("severity")
    known: dict[str, Any] = {
        name: item[name] for name, kind in _MEMBERS.items() if isinstance(item.get(name), kind)
    }
    known.setdefault("code", "unknown")
    known.setdefault("message", "The registry gave no message.")
    # An unknown severity is shown as the gravest one, so that nobody overlooks it.
    level = Severity(severity) if severity in tuple(Severity) else Severity.ERROR
    return Diagnostic(severity=level, **known)


def _holds_halves(body: bytes, document: dict[str, Any]) -> bool:
    """Tell of halves of characters, lone surrogates, which no prompt and no file can hold."""
    # JSON can write them only so; hardly an answer has to be looked at twice.
    if b"\\ud" not in body and b"\\uD" not in body:
        return False
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        return True
    return False


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _phrase(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
