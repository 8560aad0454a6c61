"""The projection: the plain tree of a managed skill, brought to its head revision.

People and other tools read the tree; no answer of the registry is made from it. It is a pure
function of the head, written with conditions only, so that any number of projections may run.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from skill_registry.catalog.comparing import Difference, TreeComparer
from skill_registry.errors import RevisionDamaged
from skill_registry.spec.files import parse_sidecar
from skill_registry.store import keys
from skill_registry.store.base import IfAbsent, IfMatch, StoredObject, Written

if TYPE_CHECKING:
    from collections.abc import Callable

    from skill_registry.catalog.loading import Loader
    from skill_registry.catalog.runtime import Runtime
    from skill_registry.spec.model import SkillFile
    from skill_registry.store.base import ObjectInfo, SkillStore
    from skill_registry.store.keys import SkillId

_LOGGER = logging.getLogger(__name__)

ATTEMPTS = 8


@dataclass(frozen=True, slots=True)
class Projected:
    """What a projection did.

    Attributes:
        changed: Objects written or removed.
        drift: Paths that somebody edited by hand.
        sidecar: ETag of ``.version`` as a heal left it, None where there is none.
    """

    changed: int = 0
    drift: tuple[str, ...] = ()
    sidecar: str | None = None


class Projection:
    """Projects heads. Leaves objects alone that it did not write, unless told to take over."""

    def __init__(self, store: SkillStore, runtime: Runtime, loader: Loader) -> None:
        self._store = store
        self._runtime = runtime
        self._loader = loader
        self._comparer = TreeComparer(store, runtime, loader)

    def project(
        self,
        skill: SkillId,
        number: int | None = None,
        *,
        take_over: bool = False,
        exact: bool = False,
    ) -> Projected:
        """Bring the tree to the head. A damaged head leaves the tree as it is.

        Args:
            number: What ``.version`` stated a moment ago, where the caller knows.
            take_over: Replace objects that were edited by hand: a publish does. Otherwise they are
                reported as drift and stay (invariant I8).
            exact: Believe bytes alone, not the digest that is stored beside them.

        Raises:
            Unavailable: The store does not answer.
        """
        changed = 0
        drift: tuple[str, ...] = ()
        number = number or self._stated(skill)
        for _ in range(ATTEMPTS):
            try:
                head = self._loader.visible_revision(skill, number)
            except RevisionDamaged as damage:
                extra = {"skill": str(skill), "version": damage.number}
                _LOGGER.warning("revision_damaged", extra=extra)
                return Projected(changed)
            if head is None or head.revision is None:
                return Projected(changed)
            listing = self._loader.vendored.listing(skill)
            hasty = take_over and not exact
            found = self._comparer.compare(head, listing, hasty=hasty, exact=exact)
            drift = () if take_over else tuple(each.path for each in found if each.by_hand)
            done = self._mend(skill, [each for each in found if take_over or not each.by_hand])
            changed += sum(done)
            after = self._stated(skill)
            if all(done) and after == number:
                break
            number = after
        return Projected(changed, drift)

    def _stated(self, skill: SkillId) -> int | None:
        found = self._store.get(keys.sidecar(skill))
        return parse_sidecar(found.body) if isinstance(found, StoredObject) else None

    def _mend(self, skill: SkillId, differences: list[Difference]) -> list[bool]:
        """Write and remove; return of each whether its condition held."""
        calls: list[Callable[[], bool]] = []
        for each in differences:
            if each.wanted is not None:
                calls.append(partial(self._write, skill, each.wanted, each.listed))
            elif each.listed is not None:
                etag = each.listed.etag
                calls.append(partial(self._store.delete, each.listed.key, if_match=etag))
        return self._runtime.parallel(calls)

    def _write(self, skill: SkillId, file: SkillFile, listed: ObjectInfo | None) -> bool:
        text = file.path.endswith(".md")
        result = self._store.put(
            keys.tree_file(skill, file.path),
            file.data,
            condition=IfAbsent() if listed is None else IfMatch(listed.etag),
            metadata={"sha256": file.sha256, "mode": file.mode},
            content_type="text/markdown; charset=utf-8" if text else "application/octet-stream",
        )
        return isinstance(result, Written)
