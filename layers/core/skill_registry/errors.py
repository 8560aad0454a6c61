"""The whole exception tree. Each class has a stable ``code``; codes are only ever added.

RegistryError
├── RequestInvalid      request_invalid, or a narrower code given by the caller
│   ├── PathInvalid     skill_path_invalid
│   └── ScopeRequired   scope_required
├── SkillInvalid        skill_invalid: carries every diagnostic
├── TooLarge            too_large, use_upload
│   └── ScopeFull       scope_full
├── TooManyUploads      too_many_uploads: carries ``retry_after`` seconds
├── NotFound            not_found
│   ├── SkillNotFound   skill_not_found
│   ├── FileNotFound    file_not_found
│   ├── VersionNotFound version_not_found
│   └── UploadNotFound  upload_not_found
├── Gone                version_pruned
├── Conflict            conflict
│   ├── VersionConflict version_conflict: carries the current version
│   ├── UploadAlreadyUsed upload_already_used
│   ├── TicketStale     ticket_stale
│   ├── VersionInUse    version_in_use
│   └── SettingsUnreadable settings_unreadable
├── Forbidden           forbidden
├── Unauthenticated     unauthenticated
└── Unavailable         store_unavailable: carries ``retry_after`` seconds
    ├── AccessUnreadable access_unreadable
    ├── TimeIsUp        time_is_up
    └── RevisionDamaged revision_damaged

Nothing here knows HTTP; ``web/problems.py`` maps the classes to statuses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skill_registry.spec.model import Diagnostic


class RegistryError(Exception):
    """Root of every error that a caller may see.

    Args:
        message: One sentence that says what is wrong and what to do.
        code: Overrides the class's stable code with a narrower one.
    """

    code = "internal_error"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code


class RequestInvalid(RegistryError, ValueError):
    """The request itself is malformed; sending it again cannot help."""

    code = "request_invalid"


class PathInvalid(RequestInvalid):
    """A file path leaves its skill or is not a plain relative path (seed 1)."""

    code = "skill_path_invalid"


class ScopeRequired(RequestInvalid):
    """A write names no scope and its principal has no default one."""

    code = "scope_required"


class SkillInvalid(RegistryError, ValueError):
    """The skill breaks rules. ``diagnostics`` holds every one of them, warnings included."""

    code = "skill_invalid"

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)


class TooLarge(RegistryError):
    """A body is over a limit, in bytes."""

    code = "too_large"


class ScopeFull(TooLarge):
    """The scope holds as many skills, or as many bytes, as the deployment lets it."""

    code = "scope_full"


class TooManyUploads(RegistryError):
    """The principal has too many uploads that nobody published. ``retry_after`` is in seconds."""

    code = "too_many_uploads"

    def __init__(self, message: str, *, retry_after: int = 60) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class NotFound(RegistryError, LookupError):
    """Nothing by that name, or nothing that this caller may know of."""

    code = "not_found"

    def __init__(self, message: str, *, available: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.available = tuple(available)


class SkillNotFound(NotFound):
    """Unknown, deleted, disabled or hidden: all answer alike."""

    code = "skill_not_found"


class FileNotFound(NotFound):
    """The skill has no file at that path; ``available`` holds the nearest paths."""

    code = "file_not_found"


class VersionNotFound(NotFound):
    """The skill never had that version or label."""

    code = "version_not_found"


class UploadNotFound(NotFound):
    """No such upload of this principal, or it expired."""

    code = "upload_not_found"


class Gone(RegistryError, LookupError):
    """The version existed and its bytes were pruned or purged."""

    code = "version_pruned"


class Conflict(RegistryError):
    """The request lost against another state of the registry."""

    code = "conflict"


class VersionConflict(Conflict):
    """A precondition does not hold. ``current`` is the head's version, None where there is none."""

    code = "version_conflict"

    def __init__(self, message: str, *, current: int | None) -> None:
        super().__init__(message)
        self.current = current


class UploadAlreadyUsed(Conflict):
    """The upload id or idempotency key was used for other bytes or another call."""

    code = "upload_already_used"


class TicketStale(Conflict):
    """So many versions were published since the ticket was issued that it no longer counts."""

    code = "ticket_stale"


class VersionInUse(Conflict):
    """The version is the head or has a label, so its bytes cannot be purged."""

    code = "version_in_use"


class SettingsUnreadable(Conflict):
    """The skill's ``settings.json`` is not one of ours to understand, so it is not replaced."""

    code = "settings_unreadable"


class Forbidden(RegistryError):
    """The principal is known and may not do this."""

    code = "forbidden"


class Unauthenticated(RegistryError):
    """The request carries no identity that the registry knows. Fail closed."""

    code = "unauthenticated"


class Unavailable(RegistryError):
    """The store did not answer. ``retry_after`` is in seconds."""

    code = "store_unavailable"

    def __init__(self, message: str, *, retry_after: int = 1) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class AccessUnreadable(Unavailable):
    """``access.json`` cannot be read, so that nobody whom it names is let in."""

    code = "access_unreadable"


class TimeIsUp(Unavailable):
    """The call used the time that it has. What it began is either done whole or not at all."""

    code = "time_is_up"


class RevisionDamaged(Unavailable):
    """The stored bytes of a revision are not those that were published.

    Unavailable, since a publish or a restored object brings the skill back; asking again does not.
    """

    code = "revision_damaged"

    def __init__(self, message: str, *, number: int) -> None:
        super().__init__(message, retry_after=60)
        self.number = number
