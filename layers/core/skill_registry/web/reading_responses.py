"""Answers of the calls that read skills, as pydantic models; see ``responses.py``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from skill_registry.web.responses import (
    Answer,
    Bytes,
    CatalogVersions,
    Count,
    Diagnostic,
    Mode,
    Number,
    Scope,
    Sha256,
    Version,
    optional,
)
from skill_registry.web.writing_responses import CopiedFrom

Tier = Literal["lite", "ultra"]


class ListedSkill(Answer):
    """A skill as a listing shows it."""

    name: str
    scope: Scope
    version: Version
    description: str
    license: str = optional()
    compatibility: str = optional()
    allowed_tools: list[str] = optional()
    min_tier: Tier = optional()
    tags: list[str] = optional()
    source: str = optional()
    upstream: dict[str, str] = optional(description="Where a mirrored skill comes from.")


class AskedAgent(Answer):
    """The agent that `agent=` named. Unverified, it hides what is for others and opens nothing."""

    name: str
    verified: bool


class Listing(Answer):
    """A page of the skills that the caller may load, by name."""

    skills: list[ListedSkill]
    catalog_version: CatalogVersions
    agent: AskedAgent = optional()
    shortened: Count = optional(description="Descriptions that the budget cut.")
    omitted: Count = optional(description="Skills of the page that did not fit the budget.")
    next: str = optional(description="`cursor` of the next page; left out on the last.")
    diagnostics: list[Diagnostic] = optional(description="On the first page only.")
    diagnostics_omitted: Count = optional(description="Diagnostics that there are besides.")


class CheckedSkill(Answer):
    """What became of a skill since its version was loaded."""

    state: Literal["current", "stale", "removed", "disabled"]
    version: Version = optional(description="The version now.")
    scope: Scope = optional()


class Checked(Answer):
    """What became of each skill that was asked for."""

    skills: dict[str, CheckedSkill]
    catalog_version: CatalogVersions


class File(Answer):
    """A file of a skill, as it is stored."""

    path: str
    size: Bytes
    sha256: Sha256
    mode: Mode


class Metadata(Answer):
    """The frontmatter as its author typed it, without what is empty."""

    name: str = optional()
    description: str = optional()
    descriptions: dict[str, str] = optional(description="Translations, by language.")
    license: str = optional()
    compatibility: str = optional()
    allowed_tools: list[str] = optional()
    version: str = optional()
    min_tier: Tier = optional()
    agents: list[str] = optional()
    source: str = optional()
    upstream: dict[str, str] = optional()
    disable_model_invocation: bool = optional()
    dependencies: dict[str, list[str]] = optional()
    metadata: dict[str, Any] = optional()
    extra: dict[str, Any] = optional(description="Keys that the format does not know.")


class View(Answer):
    """A file of a skill; of SKILL.md the text below its frontmatter."""

    name: str
    scope: Scope
    version: Version
    path: str
    content: str
    encoding: Literal["base64"] = optional(description="Given where the file is no UTF-8 text.")
    files: list[File]
    metadata: Metadata
    diagnostics: list[Diagnostic] = optional()


class Link(Answer):
    """A presigned download of a whole skill as a zip archive."""

    url: str
    sha256: Sha256
    size: Bytes
    expires: Annotated[int, Field(ge=1, description="Seconds.")]


class LargeView(Answer):
    """In place of a file that is too large to travel in an answer: where to get it."""

    name: str
    scope: Scope
    version: Version
    path: str
    content: None
    size: Bytes
    sha256: Sha256
    bundle: Link


class Bundle(Link):
    """A presigned download of a whole skill, and which version it is."""

    name: str
    scope: Scope
    version: Version


class PastVersion(Answer):
    """One version of a skill."""

    version: Number
    state: Annotated[
        Literal["content", "deleted", "pruned"],
        Field(description="What can be had of it: its files, nothing, nothing any more."),
    ]
    author: str
    message: str | None
    created: Annotated[str, Field(description="RFC 3339, UTC.")]
    size: Annotated[int | None, Field(description="Bytes of its archive, where it has files.")]
    sha256: Sha256
    labels: list[str]
    restores: Annotated[int | None, Field(description="The version that it brought back.")]
    unchanged: Annotated[bool, Field(description="Whether the version before has the same files.")]
    copied_from: CopiedFrom = optional()


class Versions(Answer):
    """A page of versions, newest first."""

    name: str
    scope: Scope
    current: Annotated[int | None, Field(description="Null where the skill was never published.")]
    versions: list[PastVersion]
    next: Number = optional(description="`before` of the next page; left out on the last.")


class Side(Answer):
    """A file in one of two versions."""

    size: Bytes
    sha256: Sha256
    mode: Mode


class FileChange(Answer):
    """What became of a file."""

    path: str
    change: Literal["added", "removed", "changed", "mode"]
    old: Side | None
    new: Side | None


class Diff(Answer):
    """What changed from one version to another."""

    name: str
    scope: Scope
    from_: Annotated[int, Field(alias="from", ge=0, description="0 before the first version.")]
    to: Number
    files: list[FileChange]
    diff: Annotated[str, Field(description="A unified diff of the text files.")]
    truncated: Annotated[bool, Field(description="Whether the diff leaves something out.")]
