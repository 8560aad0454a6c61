"""The calls that read, as flows: the order of requests, for sync and async clients alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skill_registry.agent import bundles, reading, requests, transfers
from skill_registry.agent.answers import View
from skill_registry.agent.connection import Exchange, Wire
from skill_registry.agent.problems import AnswerInvalid, RegistryProblem, TransferFailed
from skill_registry.agent.requests import ListFilters
from skill_registry.agent.source import SkillCopy, SkillList, SkillQuery
from skill_registry.spec.model import SKILL_MD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skill_registry.agent.answers import Bundle, CheckedSkill, ListedSkill, Listing, Version

# The most that a registry puts on one page.
LARGEST_PAGE = 500
# A catalog that changes between two pages makes the next cursor one of another listing.
_ATTEMPTS = 5
_MOST_LISTINGS = 64
_CURSOR_INVALID = "cursor_invalid"
# Of the store, for a URL that has expired.
_EXPIRED = 403


class ReadingCalls(Wire):
    """Part of both clients. Raises what ``RegistryClient`` says."""

    def _page(self, query: SkillQuery, filters: ListFilters) -> Exchange[Listing]:
        return self._reading(requests.list_skills(query, filters), reading.read_listing)

    def _whole_listing(self, query: SkillQuery) -> Exchange[SkillList]:
        """Collect every page; where the first one is unchanged, so is the rest.

        Every change of a catalog changes its number, and so the first page. Only a change of what
        the caller is granted may show on later pages first; the first page's cursor is of the
        query that it was granted, and changes with it.
        """
        for _ in range(_ATTEMPTS):
            first = yield from self._page(query, ListFilters(limit=LARGEST_PAGE))
            known = self._listings.get(query)
            if known is not None and known[0] is first:
                return known[1]
            try:
                whole = yield from self._following(query, first)
            except RegistryProblem as problem:
                if problem.code != _CURSOR_INVALID:
                    raise
                continue
            while len(self._listings) >= _MOST_LISTINGS:
                self._listings.pop(next(iter(self._listings)), None)
            self._listings[query] = (first, whole)
            return whole
        raise AnswerInvalid("The registry's catalog changes faster than its pages can be read.")

    def _following(self, query: SkillQuery, first: Listing) -> Exchange[SkillList]:
        skills: list[ListedSkill] = list(first.skills)
        page, seen = first, set[str]()
        while page.next is not None:
            follow(page.next, seen)
            more = ListFilters(limit=LARGEST_PAGE, cursor=page.next)
            page = yield from self._page(query, more)
            if page.catalog_version != first.catalog_version:
                raise RegistryProblem(409, _CURSOR_INVALID, "The catalog changed between pages.")
            skills.extend(page.skills)
        return SkillList(tuple(skills), first.diagnostics)

    def _view(
        self, name: str, path: str | None, version: int | str | None, query: SkillQuery, raw: bool
    ) -> Exchange[View]:
        response = yield from self._calling(requests.view_skill(name, path, version, query, raw))
        if not raw:
            view = reading.read_view(response)
            if isinstance(view, View):
                return view
            data = yield from self._downloaded(view.bundle)
            return bundles.view_of(view.bundle, data, view.path, raw=False)
        stored = reading.read_raw_view(response, name, path)
        if stored is not None:
            return stored
        whole = yield from self._bundle(name, version, query)
        data = yield from self._downloaded(whole)
        return bundles.view_of(whole, data, path or SKILL_MD, raw=True)

    def _bundle(self, name: str, version: int | str | None, query: SkillQuery) -> Exchange[Bundle]:
        response = yield from self._calling(requests.bundle(name, version, query))
        return reading.read_bundle(response)

    def _downloaded(self, bundle: Bundle) -> Exchange[bytes]:
        response = yield from self._transferring(lambda: transfers.bundle_request(bundle))
        return bundles.check_digest(bundle, transfers.check_download(response))

    def _copy(
        self, name: str, version: int | str | None, query: SkillQuery, known: str | None
    ) -> Exchange[SkillCopy | None]:
        bundle = yield from self._bundle(name, version, query)
        if bundles.tag_of(bundle) == known:
            return None
        try:
            data = yield from self._downloaded(bundle)
        except TransferFailed as failure:
            if failure.status != _EXPIRED:
                raise
            bundle = yield from self._bundle(name, version, query)
            data = yield from self._downloaded(bundle)
        return bundles.copy_of(bundle, data)

    def _checked(
        self, loaded: Mapping[str, Version], query: SkillQuery
    ) -> Exchange[Mapping[str, CheckedSkill]]:
        response = yield from self._calling(requests.check(loaded, query))
        return reading.read_checked(response)


def follow(cursor: str, seen: set[str]) -> None:
    """Go on to the next page, whose cursor must be a new one."""
    if cursor in seen:
        raise AnswerInvalid("The registry's listing does not end: a cursor came twice.")
    seen.add(cursor)
