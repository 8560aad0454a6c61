"""What the registry answers about the versions of a skill, as values, and how it is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from skill_registry.agent.answers import CopiedFrom, ViewedFile
from skill_registry.agent.reading import read_fields, read_source

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

    from skill_registry.agent.fields import Fields


@dataclass(frozen=True, slots=True)
class VersionInfo:
    """One version of a skill.

    Attributes:
        state: ``content``, ``deleted`` for the mark of a deletion, ``pruned`` where the bytes are
            gone.
        created: RFC 3339.
        size: Bytes of its archive, None where it has none.
        restores: The version whose files were published again.
        unchanged: Its files are those of the version before.
        copied_from: The version of another scope that was published here.
    """

    version: int
    state: str
    author: str
    message: str | None
    created: str
    size: int | None
    sha256: str | None
    labels: tuple[str, ...]
    restores: int | None
    unchanged: bool
    copied_from: CopiedFrom | None = None


@dataclass(frozen=True, slots=True)
class VersionsPage:
    """A page of versions, newest first. ``next`` is the ``before`` of the next page.

    ``current`` is None for a skill that was never published.
    """

    name: str
    scope: str
    current: int | None
    versions: tuple[VersionInfo, ...]
    next: int | None
    answer: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that differs; ``old`` or ``new`` is None where there is none.

    ``change`` is ``added``, ``removed``, ``changed`` or ``mode``.
    """

    path: str
    change: str
    old: ViewedFile | None
    new: ViewedFile | None


@dataclass(frozen=True, slots=True)
class Diff:
    """What changed from version ``old`` to ``new``. ``text`` ends early where ``truncated``."""

    name: str
    scope: str
    old: int
    new: int
    files: tuple[ChangedFile, ...]
    text: str
    truncated: bool
    answer: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Deleted:
    """A deletion that is visible. ``version`` is the number that it took."""

    name: str
    scope: str
    version: int
    answer: Mapping[str, Any] = field(repr=False, compare=False)


def read_versions(response: httpx.Response) -> VersionsPage:
    """Read a page of versions."""
    answer = read_fields(response)
    return VersionsPage(
        name=answer.text("name"),
        scope=answer.text("scope"),
        current=answer.maybe_whole("current"),
        versions=tuple(_version(item) for item in answer.items("versions")),
        next=answer.maybe_whole("next"),
        answer=answer.values,
    )


def read_diff(response: httpx.Response) -> Diff:
    """Read what changed between two versions."""
    answer = read_fields(response)
    return Diff(
        name=answer.text("name"),
        scope=answer.text("scope"),
        old=answer.whole("from"),
        new=answer.whole("to"),
        files=tuple(_changed(item) for item in answer.items("files")),
        text=answer.text("diff"),
        truncated=answer.values.get("truncated") is True,
        answer=answer.values,
    )


def read_deleted(response: httpx.Response) -> Deleted:
    """Read an acknowledged deletion."""
    answer = read_fields(response)
    return Deleted(
        answer.text("name"), answer.text("scope"), answer.whole("version"), answer.values
    )


def _version(item: Fields) -> VersionInfo:
    return VersionInfo(
        version=item.whole("version"),
        state=item.text("state"),
        author=item.maybe_text("author") or "",
        message=item.maybe_text("message"),
        created=item.maybe_text("created") or "",
        size=item.maybe_whole("size"),
        sha256=item.maybe_text("sha256"),
        labels=item.words("labels"),
        restores=item.maybe_whole("restores"),
        unchanged=item.values.get("unchanged") is True,
        copied_from=read_source(item),
    )


def _changed(item: Fields) -> ChangedFile:
    path = item.text("path")
    old, new = item.maybe_object("old"), item.maybe_object("new")
    return ChangedFile(
        path=path,
        change=item.text("change"),
        old=_side(path, old) if old else None,
        new=_side(path, new) if new else None,
    )


def _side(path: str, side: Fields) -> ViewedFile:
    return ViewedFile(path, side.whole("size"), side.text("sha256"), side.text("mode"))
