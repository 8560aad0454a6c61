"""Resolving: from a name to the skill that a caller means, and who may have it.

For each scope asked, ``.version`` and ``settings.json`` are read in one parallel round; a managed
skill's revision comes from memory or is one more GET.

A refusal is the same whatever it is for: a name that is not there costs the same requests as one
that the caller may not see (architecture, section 8).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from skill_registry.catalog.cache import ByteLru
from skill_registry.catalog.log import RevisionLog
from skill_registry.catalog.overrides import Overrides, overrides_of
from skill_registry.catalog.principal import SYSTEM
from skill_registry.errors import RevisionDamaged, VersionNotFound
from skill_registry.spec.files import parse_sidecar
from skill_registry.store import keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skill_registry.catalog.loading import Loaded, Loader
    from skill_registry.catalog.principal import Principal
    from skill_registry.catalog.runtime import Runtime
    from skill_registry.store.base import SkillStore
    from skill_registry.store.keys import SkillId

Pin = int | str | None


@dataclass(frozen=True, slots=True)
class Refusal:
    """No skill for this caller. ``reason`` is for the log alone; see ``SkillRefused``."""

    reason: str


@dataclass(slots=True)
class _Place:
    """A skill of one scope: what its ``.version`` states, and what was decided about it.

    ``log`` holds the numbers of its revisions, None as long as nobody listed them.
    """

    skill: SkillId
    stated: int | None
    overrides: Overrides
    log: frozenset[int] | None = None


class Resolver:
    """Finds what a name means, in the scopes that a caller asks.

    Args:
        absence_age: Seconds that nothing is looked for in a tree again, once a LIST found nothing
            there. A directory that is copied there is noticed that late.
    """

    def __init__(
        self, store: SkillStore, runtime: Runtime, loader: Loader, *, absence_age: float = 0
    ) -> None:
        self._store = store
        self._runtime = runtime
        self._loader = loader
        self._log = RevisionLog(store, runtime)
        self._absence_age = absence_age
        self._looked: ByteLru[tuple[float, bool]] = ByteLru(1024 * 1024)

    def resolve(
        self, skills: Sequence[SkillId], principal: Principal, pin: Pin = None
    ) -> Loaded | Refusal:
        """Load the first of the skills that exists and that the principal may see.

        Args:
            skills: The same name in each scope, in order of precedence. One that is sealed in
                ``system`` comes from there alone, one that its owner hides from nowhere.
            pin: A revision number or ``@label`` instead of the head.

        Raises:
            VersionNotFound: The skill is there, the pinned version is not.
            Gone: The pinned version's bytes were pruned.
            RevisionDamaged: Its bytes are not those that were published.
            Unavailable: The store does not answer.
        """
        places = self._places(skills)
        hidden = any(place.overrides.hidden for place in places)
        sealed = any(p.overrides.sealed and p.skill.scope == SYSTEM for p in places)
        reasons = []
        for place in places:
            loaded = self._head(place)
            if hidden:
                reason: str | None = "hidden"
            elif sealed and place.skill.scope != SYSTEM:
                reason = "sealed"
            else:
                reason = loaded.refusal(principal) if loaded else "unknown"
            if loaded is not None and reason is None:
                return loaded if pin is None else self._pinned(loaded, pin)
            reasons.append(reason or "unknown")
            self._look_alike(place)
        return Refusal(next((each for each in reasons if each != "unknown"), "unknown"))

    def _places(self, skills: Sequence[SkillId]) -> list[_Place]:
        """Read in one round what decides about each scope.

        Where nothing was found a while ago, the log is listed along: the head of a first publish
        may have lost its sidecar.
        """
        again = [skill for skill in skills if self._is_recent(keys.tree(skill))]
        wanted = [key for skill in skills for key in (keys.sidecar(skill), keys.settings(skill))]
        found: list[Any] = self._runtime.parallel(
            [
                *(partial(self._loader.current, key) for key in wanted),
                *(partial(self._log.numbers, skill) for skill in again),
            ]
        )
        logs = dict(zip(again, found[len(wanted) :], strict=True))
        return [
            _Place(
                skill,
                parse_sidecar(sidecar.body) if sidecar else None,
                overrides_of(settings.body if settings else None),
                logs.get(skill),
            )
            for skill, sidecar, settings in zip(
                skills, found[: len(wanted) : 2], found[1 : len(wanted) : 2], strict=True
            )
        ]

    def _head(self, place: _Place) -> Loaded | None:
        """Load what a scope has by the name, a tombstone too; None where it has nothing.

        Raises:
            RevisionDamaged: Its bytes are damaged, and the skill is not disabled.
        """
        skill, overrides = place.skill, place.overrides
        if place.stated is None and place.log is None:
            self._ask_in_vain(keys.revision(skill, 1))
        if place.stated is not None or place.log is None or place.log:
            try:
                loaded = self._loader.visible_revision(skill, place.stated, overrides)
            except RevisionDamaged:
                if overrides.enabled:
                    raise
                return None
            if loaded is not None:
                return loaded
            place.log = frozenset()
        if self._is_empty(keys.tree(skill)):
            return None
        directory = self._loader.directory(skill, overrides)
        self._note(skill, empty=directory is None)
        return directory

    def _ask_in_vain(self, key: str) -> None:
        """Read what no answer depends on, once: of a name that is there a revision is read."""
        if self._looked.get(key) is None:
            self._store.get(key)
            self._looked.put(key, (0, False), len(key) + 64)

    def _look_alike(self, place: _Place) -> None:
        """List what is listed for a name that is not there, as far as that was not done."""
        if place.log is None:
            self._store.list_page(keys.revisions(place.skill))
        if not self._is_recent(keys.tree(place.skill)):
            self._store.list_page(keys.tree(place.skill))
            self._note(place.skill, empty=False)

    def _note(self, skill: SkillId, *, empty: bool) -> None:
        """Remember that a tree was listed, and whether there is a skill in it."""
        key = keys.tree(skill)
        self._looked.put(key, (self._runtime.monotonic() + self._absence_age, empty), len(key) + 64)

    def _is_recent(self, prefix: str) -> bool:
        until, _ = self._looked.get(prefix) or (0, False)
        return self._runtime.monotonic() < until

    def _is_empty(self, prefix: str) -> bool:
        _, empty = self._looked.get(prefix) or (0, False)
        return empty and self._is_recent(prefix)

    def _pinned(self, head: Loaded, pin: int | str) -> Loaded:
        number = head.overrides.number_of(pin, head.skill.name)
        if head.revision is None:
            raise VersionNotFound(f"`{head.skill.name}` has no version `{pin}`.")
        if number == head.revision.number:
            return head
        return self._loader.content(head.skill, number, head.overrides, head=head.revision.number)
