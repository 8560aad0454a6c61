"""Comparing: each object of a managed skill's plain tree, judged next to the head.

Reads only. What is right is left out of the answer, so that an empty one means a tree in step.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

from skill_registry.catalog.log import sidecar_body
from skill_registry.errors import RevisionDamaged
from skill_registry.store.base import StoredObject
from skill_registry.store.etags import content_etag

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from skill_registry.catalog.loading import Loaded, Loader
    from skill_registry.catalog.runtime import Runtime
    from skill_registry.catalog.vendored import Listing
    from skill_registry.spec.model import SkillFile
    from skill_registry.store.base import ObjectInfo, SkillStore
    from skill_registry.store.keys import SkillId

LOOK_BACK = 20


class Verdict(StrEnum):
    """What an object of the tree is, next to the head. Foreign ones were put there by hand."""

    RIGHT = "right"
    MISSING = "missing"
    STALE = "stale"
    FOREIGN = "foreign"
    MODE = "mode"
    FOREIGN_MODE = "foreign mode"


@dataclass(frozen=True, slots=True)
class Difference:
    """An object that is not as the head has it.

    Attributes:
        listed: What lies there, None where nothing does.
        wanted: What should, None where nothing should.
    """

    path: str
    verdict: Verdict
    listed: ObjectInfo | None
    wanted: SkillFile | None

    @property
    def by_hand(self) -> bool:
        """Whether no projection made it so: it is drift, and stays until somebody takes over."""
        return self.verdict in (Verdict.FOREIGN, Verdict.FOREIGN_MODE)


@dataclass(frozen=True, slots=True)
class _Look:
    """How closely one comparison looks.

    Attributes:
        hasty: Whoever asks replaces whatever is not right, so that it need not be told what it is.
        exact: Believe bytes alone, not the digest that a projection wrote beside them.
        digests: The ETags of this bucket are digests of the bytes, as far as the sidecar shows.
        earlier: The files of a revision before the head, as digest by path.
    """

    head: Loaded
    hasty: bool
    exact: bool
    digests: bool
    earlier: Callable[[int], Mapping[str, str] | None]


class TreeComparer:
    """Compares trees with heads."""

    def __init__(self, store: SkillStore, runtime: Runtime, loader: Loader) -> None:
        self._store = store
        self._runtime = runtime
        self._loader = loader

    def compare(
        self, head: Loaded, listing: Listing, *, hasty: bool = False, exact: bool = False
    ) -> list[Difference]:
        """Return every object of the listing that is not as the head has it, and what is missing.

        Args:
            hasty: Do not look at what an object is that is certainly not right.
            exact: Compare bytes wherever the listing alone proves nothing.
        """
        assert head.revision is not None
        stated = content_etag(sidecar_body(head.revision.number))
        digests = listing.sidecar is not None and listing.sidecar.etag == stated
        memory: dict[int, Mapping[str, str] | None] = {}

        def earlier(number: int) -> Mapping[str, str] | None:
            if number not in memory:
                memory[number] = self._shas(head.skill, number)
            return memory[number]

        look = _Look(head, hasty, exact, digests, earlier)
        listed = listing.objects
        suspects = [path for path, info in listed.items() if _is_suspect(path, info, head)]
        calls = [partial(self._judge, look, path, listed[path]) for path in suspects]
        verdicts = dict(zip(suspects, self._runtime.parallel(calls), strict=True))
        verdicts |= {path: Verdict.MISSING for path in head.files if path not in listed}
        return [
            Difference(path, verdict, listed.get(path), head.files.get(path))
            for path, verdict in sorted(verdicts.items())
            if verdict is not Verdict.RIGHT
        ]

    def _judge(self, look: _Look, path: str, listed: ObjectInfo) -> Verdict:
        file = look.head.files.get(path)
        same = file is not None and listed.etag == content_etag(file.data)
        if look.hasty and look.digests and not same:
            return Verdict.STALE
        found = self._store.head(listed.key)
        if found is None or found.etag != listed.etag:
            # It changed meanwhile: no write on the listed ETag will hold, so there is another look.
            return Verdict.STALE
        written = found.metadata.get("sha256")
        if not same and (written is None or _is_doubtful(look, file, written)):
            verdict = self._by_bytes(look, path, listed)
        else:
            ours = file is not None and (same or written == file.sha256)
            verdict = Verdict.RIGHT if ours else Verdict.STALE
        if verdict is not Verdict.RIGHT or file is None:
            return verdict
        if found.metadata.get("mode", "0644") == file.mode:
            return Verdict.RIGHT
        return Verdict.FOREIGN_MODE if written is None else Verdict.MODE

    def _by_bytes(self, look: _Look, path: str, listed: ObjectInfo) -> Verdict:
        """Judge an object that no projection wrote, or that only says so.

        An adopted directory is such: it equals the head, or a revision before it.
        """
        found = self._store.get(listed.key, if_match=listed.etag)
        if not isinstance(found, StoredObject):
            return Verdict.STALE
        file = look.head.files.get(path)
        if file is not None and file.data == found.body:
            return Verdict.RIGHT
        number = look.head.revision.number if look.head.revision else 0
        sha256 = hashlib.sha256(found.body).hexdigest()
        for before in range(number - 1, max(0, number - 1 - LOOK_BACK), -1):
            files = look.earlier(before)
            if files is None:
                break
            if files.get(path) == sha256:
                return Verdict.STALE
        return Verdict.FOREIGN

    def _shas(self, skill: SkillId, number: int) -> Mapping[str, str] | None:
        """Return the files of an earlier revision, none for a damaged one; None for no revision."""
        try:
            loaded = self._loader.revision(skill, number)
        except RevisionDamaged:
            return {}
        if loaded is None:
            return None
        return {path: file.sha256 for path, file in loaded.files.items()}


def _is_suspect(path: str, info: ObjectInfo, head: Loaded) -> bool:
    """Whether a listing alone cannot tell that an object is right."""
    file = head.files.get(path)
    if file is None or info.etag != content_etag(file.data):
        return True
    # The mode is not listed. Only a skill that ever had an executable can be wrong in it.
    return head.revision is not None and head.revision.executables


def _is_doubtful(look: _Look, file: SkillFile | None, written: str) -> bool:
    """Whether an object that says it is right should be read: its ETag says something else."""
    return file is not None and written == file.sha256 and (look.digests or look.exact)
