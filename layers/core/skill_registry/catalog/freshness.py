"""Check: whether what a caller loaded earlier is still what it would load now."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from skill_registry.catalog.merging import Merge
from skill_registry.catalog.snapshot import State

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skill_registry.catalog.cache import CatalogCache
    from skill_registry.catalog.principal import Principal

MOST_NAMES = 1000

Version = int | str | None


class Freshness(StrEnum):
    """What became of a skill that was loaded.

    ``disabled`` is told to a caller who would see the skill but for that; to every other one it is
    ``removed``, as is what was deleted, hidden or never there.
    """

    CURRENT = "current"
    STALE = "stale"
    REMOVED = "removed"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class CheckedSkill:
    """What became of one skill; version and scope of now where there is one."""

    state: Freshness
    version: Version = None
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of each skill that was asked for.

    Attributes:
        versions: Catalog version by scope.
        stale: Age in seconds of the oldest catalog that was looked at without the store.
    """

    skills: Mapping[str, CheckedSkill]
    versions: Mapping[str, int]
    stale: float | None = None


class CheckSkills:
    """The check use case: at most one store request per scope, whatever the number of skills."""

    def __init__(self, catalogs: CatalogCache) -> None:
        self._catalogs = catalogs

    def check(
        self,
        principal: Principal,
        loaded: Mapping[str, Version],
        *,
        scopes: tuple[str, ...] = (),
    ) -> Checked:
        """Tell of each name whether a view would now give another version than the loaded one.

        Args:
            loaded: The version that was loaded, by name, as an answer had it: a directory's "6"
                is not the published 6.
            scopes: In order of precedence, as they were when the skills were loaded; empty for the
                principal's own order.

        Raises:
            Unavailable: The store does not answer and no recent catalog is known.
        """
        answers = self._catalogs.all(principal.read_scopes(scopes))
        merged = Merge([answer.index for answer in answers], principal)
        found = {}
        for name, version in loaded.items():
            number = merged.winner(name)
            if number is None:
                found[name] = CheckedSkill(_absence(merged, name))
                continue
            now = merged.entry((number, name)).version
            same = type(now) is type(version) and now == version
            state = Freshness.CURRENT if same else Freshness.STALE
            found[name] = CheckedSkill(state, now, answers[number].catalog.scope)
        return Checked(
            found,
            {answer.catalog.scope: answer.catalog.version for answer in answers},
            max((answer.stale for answer in answers if answer.stale is not None), default=None),
        )


def _absence(merged: Merge, name: str) -> Freshness:
    """Say why nothing of a name would load, as far as the caller may know."""
    there = (merged.find((number, name)) for number in merged.sources(name))
    disabled = (e for e in there if e and e.state is State.LIVE and not e.enabled)
    if any(merged.sees((entry.agents, entry.min_tier)) for entry in disabled):
        return Freshness.DISABLED
    return Freshness.REMOVED
