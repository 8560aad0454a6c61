"""List: the short listing (L1) of what a caller may load, from one catalog per scope."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from skill_registry.catalog.snapshot import State
from skill_registry.errors import RequestInvalid
from skill_registry.spec.diagnostics import Place, error, first_of_each
from skill_registry.spec.model import SKILL_MD, Diagnostic, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from skill_registry.catalog.cache import Answered, CatalogCache
    from skill_registry.catalog.principal import Principal
    from skill_registry.catalog.runtime import Runtime
    from skill_registry.catalog.snapshot import Entry

DEFAULT_LIMIT = 100
MAX_LIMIT = 500
MAX_NAMES = 20

# Members of a diagnostic that a listing repeats.
_TOLD = ("code", "message", "field", "line", "column", "limit", "actual", "hint")


@dataclass(frozen=True, slots=True)
class Listed:
    """An entry with the scope that it comes from."""

    scope: str
    entry: Entry


@dataclass(frozen=True, slots=True)
class Listing:
    """One page.

    Attributes:
        versions: Catalog version by scope.
        next: Cursor of the next page, None on the last.
        stale: Age in seconds of the oldest catalog that was served without the store.
        query: What its cursors belong to.
    """

    skills: tuple[Listed, ...]
    versions: Mapping[str, int]
    next: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    stale: float | None = None
    query: str = ""

    def first(self, count: int) -> Listing:
        """Return the page cut after ``count`` skills, with a cursor that goes on behind them.

        Cut to nothing it keeps its own cursor, so that a client that follows it comes to an end.
        """
        if count >= len(self.skills):
            return self
        kept = self.skills[:count]
        cursor = _write_cursor(self.query, kept[-1].entry.name) if kept else self.next
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
        limit: int | None = DEFAULT_LIMIT,
        cursor: str | None = None,
    ) -> Listing:
        """Return the skills that the principal may load, by name.

        Args:
            scopes: In order of precedence; empty for the principal's own order.
            limit: 1 to 500 skills a page; None for all of them in one.
            cursor: ``next`` of an earlier page of the same query.

        Raises:
            RequestInvalid: ``limit_invalid`` or ``cursor_invalid``.
            Unavailable: The store does not answer and no recent catalog is known.
        """
        if limit is not None and not 1 <= limit <= MAX_LIMIT:
            raise RequestInvalid(f"`limit` is 1 to {MAX_LIMIT}.", code="limit_invalid")
        asked = principal.read_scopes(scopes)
        query = _query_hash(principal, asked)
        after = _read_cursor(cursor, query)
        answers = self._answers(asked)
        merged, diagnostics = _merge(asked, answers, principal)
        names = [name for name in sorted(merged) if after is None or name > after]
        page = tuple(merged[name] for name in names[:limit])
        more = limit is not None and len(names) > limit
        return Listing(
            skills=page,
            versions={s: a.catalog.version for s, a in zip(asked, answers, strict=True)},
            next=_write_cursor(query, page[-1].entry.name) if more else None,
            diagnostics=tuple(diagnostics) if after is None else (),
            stale=max((a.stale for a in answers if a.stale is not None), default=None),
            query=query,
        )

    def names(self, principal: Principal, scopes: tuple[str, ...]) -> list[str]:
        """Return at most 20 names that the principal may load, for a refusal."""
        merged, _ = _merge(scopes, self._answers(scopes), principal)
        return sorted(merged)[:MAX_NAMES]

    def _answers(self, scopes: Sequence[str]) -> list[Answered]:
        return self._runtime.parallel([partial(self._catalogs.get, scope) for scope in scopes])


def _merge(
    scopes: Sequence[str], answers: Sequence[Answered], principal: Principal
) -> tuple[dict[str, Listed], list[Diagnostic]]:
    """Take each name from the first scope that has it; name those that it shadows.

    A hidden skill keeps its name, as a view would load it; it is only left out of the page.
    """
    claimed: dict[str, Listed] = {}
    diagnostics: list[Diagnostic] = []
    for scope, answer in zip(scopes, answers, strict=True):
        for name, entry in answer.catalog.entries.items():
            if not _may_load(entry, principal):
                continue
            if entry.state is State.INVALID:
                diagnostics.append(_unreadable(scope, entry))
            elif name not in claimed:
                claimed[name] = Listed(scope, entry)
                diagnostics.extend(_reported(scope, entry))
            elif not claimed[name].entry.hidden and not entry.hidden:
                diagnostics.append(_collision(claimed[name], scope, name))
    page = {n: listed for n, listed in claimed.items() if not listed.entry.hidden}
    return page, first_of_each(diagnostics)


def _may_load(entry: Entry, principal: Principal) -> bool:
    if entry.state is State.DELETED or not entry.enabled:
        return False
    return principal.sees(entry.agents, entry.min_tier)


def _unreadable(scope: str, entry: Entry) -> Diagnostic:
    why = "; ".join(str(d.get("message", d.get("code", ""))) for d in entry.diagnostics)
    return error(
        "skill_unreadable",
        f"`{scope}/{entry.name}` is not listed: {why or 'its SKILL.md cannot be read'}",
        place=Place(f"{scope}/{entry.name}/SKILL.md"),
        hint="Mend its SKILL.md in the bucket, or publish the skill.",
    )


def _reported(scope: str, entry: Entry) -> list[Diagnostic]:
    """Return what was wrong with a directory that could be read; a publish told its author."""
    if entry.revision is not None:
        return []
    place = {"file": f"{scope}/{entry.name}/{SKILL_MD}", "severity": Severity.WARNING}
    told = ({key: d[key] for key in _TOLD if key in d} for d in entry.diagnostics)
    return [Diagnostic(**{**each, **place}) for each in told]


def _collision(winner: Listed, scope: str, name: str) -> Diagnostic:
    return Diagnostic(
        Severity.COLLISION,
        "collision",
        f"`{scope}/{name}` is shadowed by `{winner.scope}/{name}`.",
        file=f"{scope}/{name}/SKILL.md",
        hint=f"Ask with `scope={scope}` to get the other one.",
    )


def _query_hash(principal: Principal, scopes: Sequence[str]) -> str:
    text = json.dumps([principal.hash, *scopes])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _write_cursor(query: str, name: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([query, name]).encode()).decode().rstrip("=")


def _read_cursor(cursor: str | None, query: str) -> str | None:
    """Read the name after which to go on. A cursor belongs to the query that it came with."""
    if cursor is None:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        owner, name = json.loads(base64.urlsafe_b64decode(padded.encode()))
    except (ValueError, TypeError):
        owner, name = None, None
    if owner != query or not isinstance(name, str):
        raise RequestInvalid(
            "This cursor is not of this query. Start again without it.", code="cursor_invalid"
        )
    return name
