"""Answers of the calls that write skills, as pydantic models; see ``responses.py``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from skill_registry.web.responses import (
    Answer,
    Bytes,
    Change,
    Count,
    Diagnostic,
    Number,
    ProblemCode,
    Scope,
    Sha256,
    UploadId,
    Version,
    optional,
)


class _Ticket(Answer):
    """Where to send an archive."""

    upload_id: UploadId
    url: str
    expires: Annotated[int, Field(ge=0, description="Seconds that the target accepts it.")]
    base: Annotated[int | None, Field(description="The version now, null for a new skill.")]
    max_size: Bytes


class PutTicket(_Ticket):
    """Send exactly the announced bytes to `url`, with these headers."""

    method: Literal["PUT"]
    headers: dict[str, str]


class PostTicket(_Ticket):
    """Send a form to `url`: these fields, then the archive as `file`."""

    method: Literal["POST"]
    fields: dict[str, str]


class CopiedFrom(Answer):
    """The version that a copy was made of."""

    scope: Scope
    version: Version


class Published(Answer):
    """A version that is visible now."""

    state: Literal["published"]
    upload_id: UploadId
    name: str
    scope: Scope
    version: Number
    sha256: Sha256
    unchanged: Annotated[bool, Field(description="Whether the version before has the same files.")]
    diagnostics: list[Diagnostic] = optional(description="Left out once it was purged.")
    restores: Number = optional(description="The version that a rollback went back to.")
    copied_from: CopiedFrom = optional()


class Received(Answer):
    """An upload that was not published yet."""

    state: Literal["received"]
    upload_id: UploadId
    name: str
    scope: Scope


class Rejected(Answer):
    """An upload that was refused."""

    state: Literal["rejected"]
    upload_id: UploadId
    name: str
    scope: Scope
    code: ProblemCode
    detail: str
    diagnostics: list[Diagnostic] = optional()
    current: int | None = optional(description="The version that the precondition met.")


class Validated(Answer):
    """What a publish of an upload would have said; nothing was published."""

    state: Literal["validated"]
    upload_id: UploadId
    name: str
    scope: Scope
    valid: bool
    diagnostics: list[Diagnostic]


class Deleted(Answer):
    """The version that says that there is no skill any more."""

    state: Literal["deleted"]
    name: str
    scope: Scope
    version: Number


class Validation(Answer):
    """What a publish would say of these files."""

    valid: bool
    name: str | None
    diagnostics: list[Diagnostic]


class Configured(Answer):
    """What operators decided about a skill."""

    name: str
    scope: Scope
    enabled: bool
    agents: Annotated[
        list[str] | None, Field(description="Who may see it; null leaves that to its frontmatter.")
    ]
    hidden: bool
    sealed: bool
    labels: dict[str, Number]
    prune_below: Count
    purged: list[Number]
    changes: Annotated[list[Change], Field(description="The last 50, newest last.")]


class Purged(Answer):
    """A version whose bytes are gone for good."""

    state: Literal["purged"]
    name: str
    scope: Scope
    version: Number
    removed: Annotated[int, Field(ge=0, description="Object versions that left the bucket.")]
    also_in: Annotated[
        dict[str, list[str]], Field(description="Other versions with the same files: their paths.")
    ]
