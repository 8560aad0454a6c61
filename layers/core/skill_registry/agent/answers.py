"""What the registry answers, as values. Members unknown to this version stay in ``answer``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skill_registry.spec.model import Diagnostic

# Managed skills count in integers; a vendored one has the text of its frontmatter, or nothing.
Version = int | str | None


@dataclass(frozen=True, slots=True)
class ListedSkill:
    """One line of a listing."""

    name: str
    scope: str
    version: Version
    description: str
    answer: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of what the caller may see. ``next`` is the cursor of the next page."""

    skills: tuple[ListedSkill, ...]
    catalog_version: Mapping[str, int]
    next: str | None
    diagnostics: tuple[Diagnostic, ...]
    answer: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class CheckedSkill:
    """What became of a skill since a version of it was loaded.

    Attributes:
        state: ``current``, ``stale``, ``removed`` or ``disabled``.
        version: The version now; None also where there is none any more.
        scope: Where it is now, None where it is nowhere.
    """

    state: str
    version: Version
    scope: str | None


@dataclass(frozen=True, slots=True)
class ViewedFile:
    """One file of a skill, as a view lists it. ``size`` is bytes, ``sha256`` of stored bytes."""

    path: str
    size: int
    sha256: str
    mode: str


@dataclass(frozen=True, slots=True)
class Bundle:
    """Where a whole skill can be read, for ``expires`` seconds. The URL is a secret."""

    name: str
    scope: str
    version: Version
    url: str = field(repr=False)
    sha256: str
    size: int | None
    expires: int | None


@dataclass(frozen=True, slots=True)
class View:
    """The body of a skill, or one file of it.

    Attributes:
        version: Of exactly these bytes.
        data: The bytes that were asked for.
        files: Every file of the skill; empty in a raw view.
        answer: The whole answer, without the content where that came by another way.
    """

    name: str
    scope: str
    version: Version
    path: str
    data: bytes = field(repr=False)
    files: tuple[ViewedFile, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    answer: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class TooLong:
    """A view that does not fit into one answer: its file has to be read from the bundle."""

    path: str
    bundle: Bundle


@dataclass(frozen=True, slots=True)
class UploadTicket:
    """Leave to send one archive straight to the store. URL, headers and fields are secrets.

    Attributes:
        expires: Seconds from its issue.
        base: The head's version at its issue, None where there was no skill.
        max_size: Bytes.
    """

    upload_id: str
    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    fields: Mapping[str, str] = field(repr=False)
    expires: int | None
    base: int | None
    max_size: int | None


@dataclass(frozen=True, slots=True)
class CopiedFrom:
    """The version that a copy was made of."""

    scope: str
    version: Version


@dataclass(frozen=True, slots=True)
class Published:
    """A publish that is visible.

    ``unchanged`` says that the bytes were those of the head, ``restores`` which version a rollback
    went back to, ``copied_from`` what was copied.
    """

    name: str
    scope: str
    version: int
    sha256: str | None
    unchanged: bool
    restores: int | None
    copied_from: CopiedFrom | None
    upload_id: str | None
    diagnostics: tuple[Diagnostic, ...]
    answer: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class UploadState:
    """What became of an upload: ``received``, ``published``, ``rejected`` or ``validated``.

    ``code`` and ``detail`` say why it was rejected.
    """

    upload_id: str
    state: str
    version: int | None
    code: str | None
    detail: str | None
    diagnostics: tuple[Diagnostic, ...]
    answer: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Validation:
    """The diagnostics that a publish would have."""

    valid: bool
    name: str | None
    diagnostics: tuple[Diagnostic, ...]
    answer: Mapping[str, Any] = field(repr=False, compare=False)
