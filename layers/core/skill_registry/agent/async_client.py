"""The calls of the registry's HTTP API that read, for async agents."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skill_registry.agent.connection import AsyncConnection
from skill_registry.agent.reading_calls import ReadingCalls, follow
from skill_registry.agent.requests import ListFilters
from skill_registry.agent.source import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from skill_registry.agent.answers import Bundle, CheckedSkill, Listing, Version, View
    from skill_registry.agent.source import SkillCopy, SkillList, SkillQuery


class AsyncRegistryClient(ReadingCalls, AsyncConnection):
    """One registry, over HTTP: an ``AsyncSkillSource``, for the tasks of one event loop.

    Close it with ``aclose``, or use it in ``async with``. ``RegistryClient`` says what every
    method promises and raises; what changes a registry is there alone.
    """

    async def list_skills(
        self,
        scopes: Sequence[str] = (),
        *,
        limit: int | None = None,
        cursor: str | None = None,
        query: SkillQuery = EVERYTHING,
        words: str | None = None,
        at_least: Mapping[str, int] | None = None,
    ) -> Listing:
        """As ``RegistryClient.list_skills``."""
        filters = ListFilters(words, at_least or {}, limit, cursor)
        return await self._take(self._page(query.within(scopes), filters))

    async def list_pages(
        self,
        scopes: Sequence[str] = (),
        *,
        limit: int | None = None,
        query: SkillQuery = EVERYTHING,
        words: str | None = None,
        at_least: Mapping[str, int] | None = None,
    ) -> AsyncIterator[Listing]:
        """As ``RegistryClient.list_pages``."""
        seen: set[str] = set()
        filters = ListFilters(words, at_least or {}, limit)
        while True:
            page = await self._take(self._page(query.within(scopes), filters))
            yield page
            if page.next is None:
                return
            follow(page.next, seen)
            filters = replace(filters, cursor=page.next)

    async def list_all(self, query: SkillQuery = EVERYTHING) -> SkillList:
        """As ``RegistryClient.list_all``."""
        return await self._take(self._whole_listing(query))

    async def view_skill(
        self,
        name: str,
        path: str | None = None,
        version: int | str | None = None,
        scope: str | None = None,
        raw: bool = False,
        *,
        query: SkillQuery = EVERYTHING,
    ) -> View:
        """As ``RegistryClient.view_skill``."""
        return await self._take(self._view(name, path, version, query.within(scope), raw))

    async def load_skill(
        self,
        name: str,
        version: int | str | None = None,
        *,
        query: SkillQuery = EVERYTHING,
        known: str | None = None,
    ) -> SkillCopy | None:
        """As ``RegistryClient.load_skill``."""
        return await self._take(self._copy(name, version, query, known))

    async def check(
        self, loaded: Mapping[str, Version], *, query: SkillQuery = EVERYTHING
    ) -> Mapping[str, CheckedSkill]:
        """As ``RegistryClient.check``."""
        return await self._take(self._checked(loaded, query))

    async def bundle(
        self,
        name: str,
        version: int | str | None = None,
        scope: str | None = None,
        *,
        query: SkillQuery = EVERYTHING,
    ) -> Bundle:
        """As ``RegistryClient.bundle``."""
        return await self._take(self._bundle(name, version, query.within(scope)))

    async def download(self, bundle: Bundle) -> bytes:
        """As ``RegistryClient.download``."""
        return await self._take(self._downloaded(bundle))
