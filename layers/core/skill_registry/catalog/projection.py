"""The projection: the plain tree of a managed skill, brought to its head revision.

People and other tools read the tree; no answer of the registry is made from it. It is a pure
function of the head, written with conditions only, so that any number of projections may run.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING

from skill_registry.catalog.log import parse_sidecar
from skill_registry.store import keys
from skill_registry.store.base import IfAbsent, IfMatch, StoredObject, Written
from skill_registry.store.etags import content_etag

if TYPE_CHECKING:
    from collections.abc import Callable

    from skill_registry.catalog.loading import Loaded, Loader
    from skill_registry.catalog.runtime import Runtime
    from skill_registry.spec.model import SkillFile
    from skill_registry.store.base import ObjectInfo, SkillStore
    from skill_registry.store.keys import SkillId

ATTEMPTS = 8
LOOK_BACK = 20


class Verdict(Enum):
    """What an object of the tree is, next to the head."""

    RIGHT = "right"
    STALE = "stale"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class Projected:
    """What a projection did: objects written or removed, and paths that somebody edited by hand."""

    changed: int = 0
    drift: tuple[str, ...] = ()


class Projection:
    """Projects heads. Leaves objects alone that it did not write, unless told to take over."""

    def __init__(self, store: SkillStore, runtime: Runtime, loader: Loader) -> None:
        self._store = store
        self._runtime = runtime
        self._loader = loader

    def project(
        self, skill: SkillId, number: int | None = None, *, take_over: bool = False
    ) -> Projected:
        """Bring the tree to the head.

        Args:
            number: What ``.version`` stated a moment ago, where the caller knows.
            take_over: Replace objects that were edited by hand: a publish does. Otherwise they are
                reported as drift and stay (invariant I8).

        Raises:
            Unavailable: The store does not answer.
        """
        changed = 0
        drift: tuple[str, ...] = ()
        number = number or self._stated(skill)
        for _ in range(ATTEMPTS):
            head = self._loader.visible_revision(skill, number)
            if head is None or head.revision is None:
                return Projected(changed)
            done, clean, drift = self._once(skill, head, take_over=take_over)
            changed += done
            after = self._stated(skill)
            if clean and after == number:
                break
            number = after
        return Projected(changed, drift)

    def _stated(self, skill: SkillId) -> int | None:
        found = self._store.get(keys.sidecar(skill))
        return parse_sidecar(found.body) if isinstance(found, StoredObject) else None

    def _once(
        self, skill: SkillId, head: Loaded, *, take_over: bool
    ) -> tuple[int, bool, tuple[str, ...]]:
        """Return how much was changed, whether every condition held, and what is drift."""
        listed = self._loader.vendored.listing(skill).objects
        suspects = [info for path, info in listed.items() if _is_suspect(path, info, head)]
        looked = [partial(self._verdict, skill, head, info, take_over) for info in suspects]
        verdicts = self._runtime.parallel(looked)
        prefix = keys.tree(skill)
        judged = {
            info.key.removeprefix(prefix): verdict
            for info, verdict in zip(suspects, verdicts, strict=True)
        }
        writes: list[Callable[[], bool]] = [
            partial(self._write, skill, file, listed.get(path))
            for path, file in head.files.items()
            if judged.get(path, Verdict.RIGHT if path in listed else Verdict.STALE) is Verdict.STALE
        ]
        removals: list[Callable[[], bool]] = [
            partial(self._store.delete, listed[path].key, if_match=listed[path].etag)
            for path, verdict in judged.items()
            if verdict is Verdict.STALE and path not in head.files
        ]
        results = self._runtime.parallel(writes + removals)
        drift = tuple(path for path, verdict in judged.items() if verdict is Verdict.FOREIGN)
        return sum(results), all(results), drift

    def _verdict(
        self, skill: SkillId, head: Loaded, listed: ObjectInfo, take_over: bool
    ) -> Verdict:
        path = listed.key.removeprefix(keys.tree(skill))
        file = head.files.get(path)
        same_bytes = file is not None and listed.etag == content_etag(file.data)
        if take_over and not same_bytes:
            return Verdict.STALE
        found = self._store.head(listed.key)
        if found is None or found.etag != listed.etag:
            return Verdict.STALE
        written = found.metadata.get("sha256")
        if written is None and not same_bytes:
            return self._unmarked(skill, head, path, listed)
        if file is None or not (same_bytes or written == file.sha256):
            return Verdict.STALE
        right_mode = found.metadata.get("mode", "0644") == file.mode
        return Verdict.RIGHT if right_mode or not (written or take_over) else Verdict.STALE

    def _unmarked(self, skill: SkillId, head: Loaded, path: str, listed: ObjectInfo) -> Verdict:
        """Judge an object that no projection wrote by its bytes.

        An adopted directory is such: it equals the head, or a revision before it.
        """
        found = self._store.get(listed.key, if_match=listed.etag)
        if not isinstance(found, StoredObject):
            return Verdict.STALE
        file = head.files.get(path)
        if file is not None and file.data == found.body:
            return Verdict.RIGHT
        number = head.revision.number if head.revision else 0
        for earlier in range(number - 1, max(0, number - 1 - LOOK_BACK), -1):
            loaded = self._loader.visible_revision(skill, earlier)
            if loaded is None or loaded.revision is None or loaded.revision.number != earlier:
                break
            file = loaded.files.get(path)
            if file is not None and file.data == found.body:
                return Verdict.STALE
        return Verdict.FOREIGN

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


def _is_suspect(path: str, info: ObjectInfo, head: Loaded) -> bool:
    """Whether a listing alone cannot tell that an object is right."""
    file = head.files.get(path)
    if file is None or info.etag != content_etag(file.data):
        return True
    # The mode is not listed. Only a skill that ever had an executable can be wrong in it.
    return head.revision is not None and head.revision.executables
