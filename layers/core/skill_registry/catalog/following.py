"""Following: what is derived from a skill, brought along after a write that already counts.

A write is done when it is visible. Catalog and plain tree come after it, best effort: the event
function and the schedule finish what fails here, so nothing of it may turn the write into an error.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, TypeVar

from skill_registry.errors import RegistryError

if TYPE_CHECKING:
    from collections.abc import Callable

    from skill_registry.catalog.refreshing import Refresher
    from skill_registry.catalog.snapshot import Entry
    from skill_registry.store.keys import SkillId

R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")

_LOGGER = logging.getLogger(__name__)


class Follower:
    """Lets catalog and tree follow. Never raises, never tries twice."""

    def __init__(self, refresher: Refresher) -> None:
        self._refresher = refresher

    def open(self, skill: SkillId) -> None:
        """Make ready for what may be the first record of a scope."""
        self._attempt(skill, lambda: self._refresher.open(skill.scope))

    def publish(self, skill: SkillId, number: int) -> Entry | None:
        """Follow a publish of ``number``: the tree becomes the head's, whoever edited it.

        Returns the skill's entry as it is now, None where the catalog could not follow.
        """
        done = self._attempt(skill, lambda: self._refresher.refresh(skill.scope, [skill.name]))
        self._attempt(skill, lambda: self._refresher.take_over(skill, number))
        return done.catalog.entries.get(skill.name) if done else None

    def around(
        self, skill: SkillId, look: Callable[[], S], write: Callable[[S], tuple[R, Entry | None]]
    ) -> R:
        """Make a write, and let the skill's entry follow it in one more request.

        What the two raise, this raises.

        Args:
            look: Reads the authority; refuses what cannot be written.
            write: Given what was seen, writes, and returns its result with the entry that the skill
                has now.
        """
        known = self._attempt(skill, lambda: self._refresher.known(skill.scope))
        seen = look()
        if known is not None and known.etag is None:
            self.open(skill)
            known = self._attempt(skill, lambda: self._refresher.known(skill.scope))
            seen = look()
        result, entry = write(seen)
        if known is not None:
            self._attempt(skill, lambda: self._refresher.enter(known, skill, entry))
        return result

    def _attempt(self, skill: SkillId, step: Callable[[], T]) -> T | None:
        try:
            return step()
        except RegistryError as error:
            extra = {"skill": str(skill), "why": error.code}
            _LOGGER.warning("follow_incomplete", extra=extra)
        except Exception:
            _LOGGER.exception("follow_crashed", extra={"skill": str(skill)})
        return None
