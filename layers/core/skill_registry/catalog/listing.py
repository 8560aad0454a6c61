"""List: the short listing (L1) of what a caller may load, from one catalog per scope."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from skill_registry.catalog.cursors import Position, read_cursor, write_cursor
from skill_registry.catalog.facts import SkillListed
from skill_registry.catalog.filters import NO_FILTERS
from skill_registry.catalog.merging import Merge
from skill_registry.catalog.shadows import told_of
from skill_registry.errors import RequestInvalid

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from skill_registry.catalog.cache import Answered, CatalogCache
    from skill_registry.catalog.filters import Filters
    from skill_registry.catalog.principal import Principal
    from skill_registry.catalog.runtime import Runtime
    from skill_registry.catalog.snapshot import Entry
    from skill_registry.spec.model import Diagnostic

DEFAULT_LIMIT = 100
MAX_LIMIT = 500
MAX_NAMES = 20


@dataclass(frozen=True, slots=True)
class Listed:
    """An entry with the scope that it comes from.

    Attributes:
        description: In the language that was asked for.
        score: How well it matches what is searched for, 0 without a search.
    """

    scope: str
    entry: Entry
    description: str
    score: int = 0

    @property
    def position(self) -> Position:
        """Where in the whole listing it stands."""
        return Position(self.score, self.entry.name)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question for a page, with the catalogs that answer it. The store is done with.

    Attributes:
        query: Hash of what a cursor belongs to.
        after: Where the page before ended.
    """

    principal: Principal
    answers: Sequence[Answered]
    filters: Filters
    limit: int | None
    query: str
    after: Position | None

    @property
    def stamp(self) -> Hashable:
        """What the page depends on; its cursors depend on ``query`` besides."""
        stamps = tuple(answer.stamp for answer in self.answers)
        principal = self.principal
        return stamps, principal.viewer, principal.strict, self.filters, self.limit, self.after

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes that answer, in order of precedence."""
        return tuple(answer.catalog.scope for answer in self.answers)

    @property
    def stale(self) -> float | None:
        """Age in seconds of the oldest catalog that was served without the store."""
        return max((a.stale for a in self.answers if a.stale is not None), default=None)


@dataclass(frozen=True, slots=True)
class Listing:
    """One page.

    Attributes:
        versions: Catalog version by scope.
        next: Cursor of the next page, None on the last.
        diagnostics: On the first page: at most 100.
        omitted: How many diagnostics more there would be.
        stale: Age in seconds of the oldest catalog that was served without the store.
        query: What its cursors belong to.
    """

    skills: tuple[Listed, ...]
    versions: Mapping[str, int]
    next: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    omitted: int = 0
    stale: float | None = None
    query: str = ""

    def first(self, count: int) -> Listing:
        """Return the page cut after ``count`` skills, with a cursor that goes on behind them.

        Cut to nothing it keeps its own cursor, so that a client that follows it comes to an end.
        """
        if count >= len(self.skills):
            return self
        kept = self.skills[:count]
        cursor = write_cursor(self.query, kept[-1].position) if kept else self.next
        return replace(self, skills=kept, next=cursor)


class ListSkills:
    """The list use case: at most one store request per scope, whatever the number of skills."""

    def __init__(self, catalogs: CatalogCache, runtime: Runtime) -> None:
        self._catalogs = catalogs
        self._runtime = runtime

    def page(
        self,
        principal: Principal,
        *,
        scopes: tuple[str, ...] = (),
        filters: Filters = NO_FILTERS,
        limit: int | None = DEFAULT_LIMIT,
        cursor: str | None = None,
        at_least: Mapping[str, int] | None = None,
    ) -> Listing:
        """Return the skills that the principal may load, by name; what is searched for by score.

        Args:
            scopes: In order of precedence; empty for the principal's own order.
            limit: 1 to 500 skills a page; None for all of them in one.
            cursor: ``next`` of an earlier page of the same query.
            at_least: Catalog versions, by scope, below which no remembered catalog counts.

        Raises:
            RequestInvalid: ``limit_invalid`` or ``cursor_invalid``.
            Unavailable: The store does not answer and no recent catalog is known.
        """
        asked = self.ask(
            principal,
            scopes=scopes,
            filters=filters,
            limit=limit,
            cursor=cursor,
            at_least=at_least,
        )
        listing = self.answer(asked)
        self.tell(asked, len(listing.skills))
        return listing

    def ask(
        self,
        principal: Principal,
        *,
        scopes: tuple[str, ...] = (),
        filters: Filters = NO_FILTERS,
        limit: int | None = DEFAULT_LIMIT,
        cursor: str | None = None,
        at_least: Mapping[str, int] | None = None,
    ) -> Asked:
        """Check a question and fetch what answers it: the part of ``page`` that costs requests."""
        if limit is not None and not 1 <= limit <= MAX_LIMIT:
            raise RequestInvalid(f"`limit` is 1 to {MAX_LIMIT}.", code="limit_invalid")
        asked = principal.read_scopes(scopes)
        query = _query_hash(principal, asked, filters)
        after = read_cursor(cursor, query) if cursor is not None else None
        answers = self._catalogs.all(asked, at_least)
        return Asked(principal, answers, filters, limit, query, after)

    def answer(self, asked: Asked) -> Listing:
        """Return the page: the part of ``page`` that is the same for an equal question."""
        indexes = [answer.index for answer in asked.answers]
        merged = Merge(indexes, asked.principal, asked.filters)
        wanted = None if asked.limit is None else asked.limit + 1
        found = [
            self._listed(asked, merged.entry(place), place[0], score)
            for score, place in islice(merged.listed(asked.after), wanted)
        ]
        page = tuple(found[: asked.limit])
        more = len(found) > len(page)
        diagnostics, omitted = told_of(merged, indexes) if asked.after is None else ((), 0)
        return Listing(
            skills=page,
            versions={answer.catalog.scope: answer.catalog.version for answer in asked.answers},
            next=write_cursor(asked.query, page[-1].position) if more else None,
            diagnostics=diagnostics,
            omitted=omitted,
            stale=asked.stale,
            query=asked.query,
        )

    def tell(self, asked: Asked, count: int) -> None:
        """Tell that a page of ``count`` skills was given out."""
        searched = bool(asked.filters.query.words)
        agent = asked.principal.agent_name
        self._runtime.tell(SkillListed(asked.scopes, count, agent, searched))

    def names(self, principal: Principal, scopes: tuple[str, ...]) -> list[str]:
        """Return at most 20 names that the principal may load, for a refusal."""
        answers = self._catalogs.all(scopes)
        merged = Merge([answer.index for answer in answers], principal)
        return [name for _, (_, name) in islice(merged.listed(), MAX_NAMES)]

    @staticmethod
    def _listed(asked: Asked, entry: Entry, number: int, score: int) -> Listed:
        scope = asked.answers[number].catalog.scope
        return Listed(scope, entry, asked.filters.description(entry), score)


def _query_hash(principal: Principal, scopes: Sequence[str], filters: Filters) -> str:
    """Hash all that a page belongs to: who asks, as what, in which scopes, for what."""
    viewer = principal.viewer
    said = [
        principal.hash,
        [viewer.agent, viewer.tier, viewer.relevant_to, principal.strict],
        list(scopes),
        sorted(filters.tools) if filters.tools is not None else None,
        filters.query.text,
        filters.language,
    ]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]
