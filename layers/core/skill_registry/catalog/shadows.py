"""What a listing has to say about the scopes that it merged: unreadable and shadowed skills."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from skill_registry.catalog.snapshot import State
from skill_registry.spec.diagnostics import Place, error
from skill_registry.spec.model import SKILL_MD, Diagnostic, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from skill_registry.catalog.indexing import CatalogIndex
    from skill_registry.catalog.merging import Merge
    from skill_registry.catalog.snapshot import Entry

UNREADABLE = "skill_unreadable"
COLLISION = "collision"
MOST_DIAGNOSTICS = 100
_MOST_OF_A_CODE = 50

# Members of a diagnostic that a listing repeats.
_TOLD = ("code", "message", "field", "line", "column", "limit", "actual", "hint")

Told = tuple[str, "Callable[[], Diagnostic]"]


def told_of(merged: Merge, indexes: Sequence[CatalogIndex]) -> tuple[tuple[Diagnostic, ...], int]:
    """Return what is to be told, and of how much more there is no room to tell.

    At most 100 diagnostics, and 50 of one code; the last kept one of a code says how many more of
    it there are. What keeps a skill out of the listing is told before what does not. Nothing is
    told of a skill that the caller may not see, nor of one that the filters leave out.
    """
    totals: Counter[str] = Counter()
    found: list[Told] = []
    for code, make in _found(merged, indexes):
        totals[code] += 1
        if totals[code] <= _MOST_OF_A_CODE:
            found.append((code, make))
    by_weight = sorted(range(len(found)), key=lambda place: _weight(found[place][0]))
    chosen = [found[place] for place in sorted(by_weight[:MOST_DIAGNOSTICS])]
    more = totals - Counter(code for code, _ in chosen)
    last = {code: place for place, (code, _) in enumerate(chosen)}
    told = tuple(
        _with_more(make(), more[code] if last[code] == place else 0)
        for place, (code, make) in enumerate(chosen)
    )
    return told, more.total()


def _found(merged: Merge, indexes: Sequence[CatalogIndex]) -> Iterator[Told]:
    """Return all that could be told, by scope and name."""
    for number, index in enumerate(indexes):
        shared = _shared(indexes, number)
        for name in sorted(shared.union(index.told)) if shared else index.told:
            yield from _of(merged, indexes, number, name)


def _weight(code: str) -> int:
    return {UNREADABLE: 0, COLLISION: 1}.get(code, 2)


def _with_more(diagnostic: Diagnostic, more: int) -> Diagnostic:
    if not more:
        return diagnostic
    return replace(diagnostic, message=f"{diagnostic.message} There are {more} more.")


def _shared(indexes: Sequence[CatalogIndex], number: int) -> set[str]:
    """Return the names that a scope has in common with others; quick where one is small."""
    mine = indexes[number].entries.keys()
    others = (index.entries.keys() for other, index in enumerate(indexes) if other != number)
    return set().union(*(mine & theirs for theirs in others))


def _of(merged: Merge, indexes: Sequence[CatalogIndex], number: int, name: str) -> Iterator[Told]:
    """Return what is told of one name in one scope."""
    scope, entry = indexes[number].scope, indexes[number].entries[name]
    if entry.state is State.INVALID:
        if _is_unreadable(merged, number, entry):
            yield UNREADABLE, partial(_unreadable, scope, entry)
        return
    if not merged.may_load(entry):
        return
    winner = merged.winner(name)
    if winner is None:
        return
    if winner == number:
        if entry.revision is None and merged.matches((number, name)):
            for each in entry.diagnostics:
                yield str(each.get("code", "")), partial(_reported, scope, entry, each)
    elif not entry.hidden and merged.is_listed((winner, name)):
        yield COLLISION, partial(_collision, indexes[winner].scope, scope, name)


def _is_unreadable(merged: Merge, number: int, entry: Entry) -> bool:
    place = (number, entry.name)
    audience = (entry.agents, entry.min_tier)
    wanted = number in merged.sources(entry.name) and entry.enabled
    return wanted and merged.sees(audience) and merged.matches(place)


def _unreadable(scope: str, entry: Entry) -> Diagnostic:
    why = "; ".join(str(d.get("message", d.get("code", ""))) for d in entry.diagnostics)
    return error(
        UNREADABLE,
        f"`{scope}/{entry.name}` is not listed: {why or 'its SKILL.md cannot be read'}",
        place=Place(f"{scope}/{entry.name}/SKILL.md"),
        hint="Mend its SKILL.md in the bucket, or publish the skill.",
    )


def _reported(scope: str, entry: Entry, said: Mapping[str, Any]) -> Diagnostic:
    """Return what was wrong with a directory that could be read."""
    place = {"file": f"{scope}/{entry.name}/{SKILL_MD}", "severity": Severity.WARNING}
    return Diagnostic(**{**{key: said[key] for key in _TOLD if key in said}, **place})


def _collision(winner: str, scope: str, name: str) -> Diagnostic:
    return Diagnostic(
        Severity.COLLISION,
        COLLISION,
        f"`{scope}/{name}` is shadowed by `{winner}/{name}`.",
        file=f"{scope}/{name}/SKILL.md",
        hint=f"Ask with `scope={scope}` to get the other one.",
    )
