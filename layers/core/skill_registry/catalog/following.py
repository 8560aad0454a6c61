"""Following: what is derived from a skill, brought along after a write that already counts.

A write is done when it is visible. Catalog and plain tree come after it, best effort: the event
function and the schedule finish what fails here, so nothing of it may turn the write into an error.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from skill_registry.errors import RegistryError

if TYPE_CHECKING:
    from collections.abc import Callable

    from skill_registry.catalog.refreshing import Refresher
    from skill_registry.store.keys import SkillId

_LOGGER = logging.getLogger(__name__)


class Follower:
    """Lets catalog and tree follow. Never raises, never tries twice."""

    def __init__(self, refresher: Refresher) -> None:
        self._refresher = refresher

    def publish(self, skill: SkillId, number: int) -> None:
        """Follow a publish of ``number``: the tree becomes the head's, whoever edited it."""
        self._attempt(skill, lambda: self._refresher.refresh(skill.scope, [skill.name]))
        self._attempt(skill, lambda: self._refresher.take_over(skill, number))

    def refresh(self, skill: SkillId) -> None:
        """Follow a change of the overrides."""
        self._attempt(skill, lambda: self._refresher.refresh(skill.scope, [skill.name]))

    def _attempt(self, skill: SkillId, step: Callable[[], object]) -> None:
        try:
            step()
        except RegistryError as error:
            extra = {"skill": str(skill), "why": error.code}
            _LOGGER.warning("follow_incomplete", extra=extra)
        except Exception:
            _LOGGER.exception("follow_crashed", extra={"skill": str(skill)})
