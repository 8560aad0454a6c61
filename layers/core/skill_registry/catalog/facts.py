"""Facts of use: what happened to skills, for the operator's logs and metrics.

A use case tells a fact once, when it is true; the web ring writes it down. A fact never holds a
body, a URL or a token.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class SkillListed:
    """Somebody listed skills.

    Attributes:
        count: Skills on the page.
        agent: The verified agent, else the one that the request names.
        searched: Whether words were searched for.
    """

    scopes: tuple[str, ...]
    count: int
    agent: str | None = None
    searched: bool = False


@dataclass(frozen=True, slots=True)
class SkillLoaded:
    """Somebody loaded a skill: its body, one of its files, or the whole as a bundle.

    Attributes:
        path: The file; None for a bundle.
        source, upstream: Where a vendored copy came from, as its frontmatter says.
        body_bytes: Bytes of the file, or of the SKILL.md that a bundle brings.
    """

    skill: str
    description: str
    version: int | str | None
    scope: str
    body_bytes: int
    path: str | None = None
    agent: str | None = None
    source: str | None = None
    upstream: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class SkillRefused:
    """A skill was not given, or not taken.

    Attributes:
        reason: For a reader ``unknown``, ``scope`` (it reads none that it asked for), ``deleted``,
            ``disabled``, ``hidden``, ``agent``, ``tier``, ``sealed``, ``unreadable``, which the
            caller is not told; for a writer a problem code.
        skill: Its name; the upload's id where an upload is refused by it.
        correlation: Id of the call that announced the upload.
    """

    skill: str
    reason: str
    scope: str | None = None
    agent: str | None = None
    correlation: str | None = None


@dataclass(frozen=True, slots=True)
class SkillPublished:
    """A version came to be: by a publish, a deletion, a rollback or a copy.

    Attributes:
        kind: ``content`` or ``tombstone``.
        size: Bytes of the stored archive.
        correlation: Id of the call that announced the upload.
    """

    skill: str
    version: int
    scope: str
    author: str
    kind: str
    size: int
    upload_id: str
    restores: int | None = None
    correlation: str | None = None


Fact = SkillListed | SkillLoaded | SkillRefused | SkillPublished


def untold(_fact: Fact) -> None:
    """Take a fact, and let it go."""
