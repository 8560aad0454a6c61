"""The calls that read, as flows: the order of requests, for sync and async clients alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skill_registry.agent import bundles, reading, requests, transfers
from skill_registry.agent.answers import View
from skill_registry.agent.connection import Exchange, Wire
from skill_registry.agent.etags import unless
from skill_registry.agent.problems import AnswerInvalid, RegistryProblem, TransferFailed
from skill_registry.agent.requests import ListFilters
from skill_registry.agent.source import SkillCopy, SkillList, SkillQuery
from skill_registry.spec.model import SKILL_MD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skill_registry.agent.answers import Bundle, CheckedSkill, Listing, Version
    from skill_registry.agent.requests import Call

# The most that a registry puts on one page.
LARGEST_PAGE = 500
# How often a listing is begun whose pages turn out to be of several catalogs.
_ATTEMPTS = 3
# A listing of so many pages, half a million skills, is none of a registry.
_MOST_PAGES = 1000
_CURSOR_INVALID = "cursor_invalid"


class ReadingCalls(Wire):
    """Part of both clients. Raises what ``RegistryClient`` says."""

    def _page(self, query: SkillQuery, filters: ListFilters) -> Exchange[Listing]:
        return self._reading(requests.list_skills(query, filters), reading.read_listing)

    def _whole_listing(self, query: SkillQuery) -> Exchange[SkillList]:
        """Collect every page. An unchanged listing costs one 304, that of its first page.

        The first page stands for the rest: it has the number of every catalog that is looked at,
        which each change raises, and its cursor is of the question as the registry understood it,
        with the caller's scopes, agent and tier. So what is on later pages changes only with it,
        but for members that other code of the registry may write there.

        Pages that are not of one catalog are read again from the first on. A registry that does
        not stand still is listed all the same, each page as it was read, and nothing is remembered
        of that.

        Raises:
            AnswerInvalid: The registry refuses the cursors that it gave.
        """
        call = requests.list_skills(query, ListFilters(limit=LARGEST_PAGE))
        known = self._whole.get(call)
        refused: RegistryProblem | None = None
        for attempt in range(1, _ATTEMPTS + 1):
            response = yield from self._calling(call, unless(known))
            if response.status_code == 304 and known is not None:
                return known.value
            first = reading.read_listing(response)
            pages = [first]
            try:
                settled = yield from self._following(query, pages, mixed=attempt == _ATTEMPTS)
            except RegistryProblem as problem:
                if problem.code != _CURSOR_INVALID:
                    raise
                refused = problem
                continue
            if not settled and attempt < _ATTEMPTS:
                continue
            skills = tuple(skill for page in pages for skill in page.skills)
            whole = SkillList(skills, first.diagnostics)
            self._whole.put(call, response.headers.get("etag") if settled else None, whole)
            return whole
        raise AnswerInvalid("The registry refuses the cursors that it gave itself.") from refused

    def _following(self, query: SkillQuery, pages: list[Listing], *, mixed: bool) -> Exchange[bool]:
        """Add the pages behind the first; tell whether all are of one catalog.

        Without ``mixed`` it ends at the first page that is not.
        """
        page, seen, settled = pages[0], set[str](), True
        while page.next is not None and (settled or mixed):
            follow(page.next, seen, most=_MOST_PAGES)
            more = ListFilters(limit=LARGEST_PAGE, cursor=page.next)
            response = yield from self._calling(requests.list_skills(query, more))
            page = reading.read_listing(response)
            settled = settled and page.catalog_version == pages[0].catalog_version
            pages.append(page)
        return settled

    def _view(
        self, name: str, path: str | None, version: int | str | None, query: SkillQuery, raw: bool
    ) -> Exchange[View]:
        response = yield from self._calling(requests.view_skill(name, path, version, query, raw))
        again = requests.bundle(name, version, query)
        if not raw:
            view = reading.read_view(response)
            if isinstance(view, View):
                return view
            whole, data = yield from self._brought(view.bundle, again)
            return bundles.view_of(whole, data, view.path, raw=False)
        stored = reading.read_raw_view(response, name, path)
        if stored is not None:
            return stored
        link = yield from self._bundle(name, version, query)
        whole, data = yield from self._brought(link, again)
        return bundles.view_of(whole, data, path or SKILL_MD, raw=True)

    def _bundle(self, name: str, version: int | str | None, query: SkillQuery) -> Exchange[Bundle]:
        response = yield from self._calling(requests.bundle(name, version, query))
        return reading.read_bundle(response)

    def _downloaded(self, bundle: Bundle) -> Exchange[bytes]:
        response = yield from self._transferring(lambda: transfers.bundle_request(bundle))
        return bundles.check_digest(bundle, transfers.check_download(response))

    def _brought(self, bundle: Bundle, again: Call) -> Exchange[tuple[Bundle, bytes]]:
        """Download a bundle; where its URL has had its time, ask once ``again`` for another."""
        try:
            data = yield from self._downloaded(bundle)
        except TransferFailed as failure:
            if not failure.passing:
                raise
            bundle = reading.read_bundle((yield from self._calling(again)))
            data = yield from self._downloaded(bundle)
        return bundle, data

    def _copy(
        self, name: str, version: int | str | None, query: SkillQuery, known: str | None
    ) -> Exchange[SkillCopy | None]:
        bundle = yield from self._bundle(name, version, query)
        if bundles.tag_of(bundle) == known:
            return None
        again = requests.bundle(name, version, query)
        bundle, data = yield from self._brought(bundle, again)
        return bundles.copy_of(bundle, data)

    def _checked(
        self, loaded: Mapping[str, Version], query: SkillQuery
    ) -> Exchange[Mapping[str, CheckedSkill]]:
        response = yield from self._calling(requests.check(loaded, query))
        return reading.read_checked(response, loaded.keys())


def follow(cursor: str, seen: set[str], most: int | None = None) -> None:
    """Go on to the next page, whose cursor must be a new one, and among the first ``most``."""
    if cursor in seen:
        raise AnswerInvalid("The registry's listing does not end: a cursor came twice.")
    seen.add(cursor)
    if most is not None and len(seen) > most:
        raise AnswerInvalid(f"The registry's listing does not end: it has over {most} pages.")
