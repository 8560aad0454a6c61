"""Where an agent's skills come from: one protocol for a registry and for directories.

What a source raises is a ``RegistryError`` with a stable code, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from skill_registry.agent.answers import CheckedSkill, ListedSkill, Version, View
    from skill_registry.spec.model import Diagnostic, SkillFile

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SkillQuery:
    """Who asks, and among which skills. A member that is empty or None narrows nothing.

    Attributes:
        scopes: Where to look, in order of precedence.
        agent: Whom skills are for. An agent "" is nobody's: it sees what is for everyone only.
        tier: ``lite`` or ``ultra``; None is ``lite``.
        tools: What the agent can call; a listing leaves out skills that need anything else.
        language: In which descriptions are listed, where there are any in it.
    """

    scopes: tuple[str, ...] = ()
    agent: str | None = None
    tier: str | None = None
    tools: tuple[str, ...] | None = None
    language: str | None = None

    def within(self, scopes: str | Sequence[str] | None) -> SkillQuery:
        """Return the same in other scopes; for None or none, as it is."""
        if not scopes:
            return self
        return replace(self, scopes=(scopes,) if isinstance(scopes, str) else tuple(scopes))


EVERYTHING = SkillQuery()


@dataclass(frozen=True, slots=True)
class SkillList:
    """A whole listing: by precedence, no name twice, and without what no model is to be shown."""

    skills: tuple[ListedSkill, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class SkillCopy:
    """A whole skill at one version.

    Attributes:
        files: Every file, as stored, without the version sidecar.
        tag: Two copies with one tag are the same; opaque.
    """

    name: str
    scope: str
    version: Version
    files: tuple[SkillFile, ...]
    tag: str


class SkillSource(Protocol):
    """A registry or a set of directories. May be shared by threads.

    Names that are unknown, deleted, disabled or not for who asks are all ``skill_not_found``.
    """

    def list_all(self, query: SkillQuery = EVERYTHING) -> SkillList:
        """Return the whole listing as it is now."""

    def view_skill(
        self,
        name: str,
        path: str | None = None,
        version: int | str | None = None,
        *,
        query: SkillQuery = EVERYTHING,
    ) -> View:
        """Return the body of a skill, or the file at ``path``, also of one that no listing shows.

        ``version`` is a number or a label (``@stable``); without it, what is current.
        """

    def load_skill(
        self,
        name: str,
        version: int | str | None = None,
        *,
        query: SkillQuery = EVERYTHING,
        known: str | None = None,
    ) -> SkillCopy | None:
        """Return all files of a skill; None where they are the copy whose tag is ``known``."""

    def check(
        self, loaded: Mapping[str, Version], *, query: SkillQuery = EVERYTHING
    ) -> Mapping[str, CheckedSkill]:
        """Tell of each name what became of it since the given version was loaded."""


class AsyncSkillSource(Protocol):
    """``SkillSource``, awaited."""

    async def list_all(self, query: SkillQuery = EVERYTHING) -> SkillList:
        """As ``SkillSource.list_all``."""

    async def view_skill(
        self,
        name: str,
        path: str | None = None,
        version: int | str | None = None,
        *,
        query: SkillQuery = EVERYTHING,
    ) -> View:
        """As ``SkillSource.view_skill``."""

    async def load_skill(
        self,
        name: str,
        version: int | str | None = None,
        *,
        query: SkillQuery = EVERYTHING,
        known: str | None = None,
    ) -> SkillCopy | None:
        """As ``SkillSource.load_skill``."""

    async def check(
        self, loaded: Mapping[str, Version], *, query: SkillQuery = EVERYTHING
    ) -> Mapping[str, CheckedSkill]:
        """As ``SkillSource.check``."""


def in_threads(source: SkillSource) -> AsyncSkillSource:
    """Return a sync source for async agents: each call is made in a thread."""
    return _InThreads(source)


class _InThreads:
    def __init__(self, source: SkillSource) -> None:
        self._source = source

    async def list_all(self, query: SkillQuery = EVERYTHING) -> SkillList:
        return await _in_thread(lambda: self._source.list_all(query))

    async def view_skill(
        self,
        name: str,
        path: str | None = None,
        version: int | str | None = None,
        *,
        query: SkillQuery = EVERYTHING,
    ) -> View:
        return await _in_thread(lambda: self._source.view_skill(name, path, version, query=query))

    async def load_skill(
        self,
        name: str,
        version: int | str | None = None,
        *,
        query: SkillQuery = EVERYTHING,
        known: str | None = None,
    ) -> SkillCopy | None:
        return await _in_thread(
            lambda: self._source.load_skill(name, version, query=query, known=known)
        )

    async def check(
        self, loaded: Mapping[str, Version], *, query: SkillQuery = EVERYTHING
    ) -> Mapping[str, CheckedSkill]:
        return await _in_thread(lambda: self._source.check(loaded, query=query))


async def _in_thread(call: Callable[[], T]) -> T:
    # At import this would cost every sync agent.
    import asyncio

    return await asyncio.to_thread(call)
