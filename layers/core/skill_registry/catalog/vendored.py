"""A vendored skill: a directory that was put straight into the bucket and has no revision.

Served as it lies there. One answer never mixes two states: LIST, GET each object on its listed
ETag, LIST again, and start over unless both listings agree (invariant I14).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from skill_registry.catalog.snapshot import fingerprint
from skill_registry.errors import SkillInvalid, Unavailable
from skill_registry.spec.diagnostics import Place, warning
from skill_registry.spec.files import check_count, check_total, parse_sidecar
from skill_registry.spec.model import SKILL_MD, Severity, SkillFile
from skill_registry.spec.names import check_path_shape, is_sidecar
from skill_registry.store import keys
from skill_registry.store.base import StoredObject, list_all

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skill_registry.catalog.runtime import Runtime
    from skill_registry.spec.model import Diagnostic, Limits
    from skill_registry.store.base import ObjectInfo, SkillStore
    from skill_registry.store.keys import SkillId

ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Listing:
    """A directory as one LIST shows it: objects by path, the sidecar apart.

    Attributes:
        fingerprint: Hash of every path and ETag, the sidecar included: it may state the version.
        left_out: Objects whose paths are none inside a skill; they are named, never served.
    """

    objects: Mapping[str, ObjectInfo]
    sidecar: ObjectInfo | None
    fingerprint: str
    left_out: tuple[Diagnostic, ...] = ()

    @property
    def size(self) -> int:
        """Sum of the objects, in bytes."""
        return sum(info.size for info in self.objects.values())


@dataclass(frozen=True, slots=True)
class Directory:
    """One state of a directory: its files by path and the number its sidecar states."""

    fingerprint: str
    files: Mapping[str, SkillFile]
    stated: int | None
    left_out: tuple[Diagnostic, ...] = ()


class VendoredReader:
    """Reads directories of the plain tree in one consistent state."""

    def __init__(self, store: SkillStore, runtime: Runtime, limits: Limits) -> None:
        self._store = store
        self._runtime = runtime
        self._limits = limits

    def listing(self, skill: SkillId) -> Listing:
        """List a directory. Keys that end in a slash are folder marks of other tools."""
        prefix = keys.tree(skill)
        found = {o.key.removeprefix(prefix): o for o in list_all(self._store, prefix)}
        files = {path: o for path, o in found.items() if path and not path.endswith("/")}
        state = fingerprint({path: o.etag for path, o in files.items()})
        sidecar = files.pop(keys.SIDECAR, None)
        left_out = [fault for path in files for fault in _unsafe(path)]
        safe = {path: o for path, o in files.items() if not _unsafe(path)}
        return Listing(safe, sidecar, state, tuple(left_out))

    def skill_md(self, skill: SkillId) -> tuple[Listing, bytes | None]:
        """Read SKILL.md together with the listing that it belongs to."""
        for _ in range(ATTEMPTS):
            listing = self.listing(skill)
            listed = listing.objects.get(SKILL_MD)
            if listed is None or listed.size > self._limits.skill_md_bytes:
                return listing, None
            found = self._store.get(listed.key, if_match=listed.etag)
            if isinstance(found, StoredObject):
                return listing, found.body
        raise Unavailable(f"The directory of {skill} keeps changing; try again.")

    def _stated(self, skill: SkillId) -> int | None:
        found = self._store.get(keys.sidecar(skill))
        return parse_sidecar(found.body) if isinstance(found, StoredObject) else None

    def read(self, skill: SkillId, listing: Listing | None = None) -> Directory | None:
        """Read a whole directory in one state; None where there is no file.

        Raises:
            SkillInvalid: It is over the limits of a skill.
            Unavailable: It changed during every attempt, or the store does not answer.
        """
        for _ in range(ATTEMPTS):
            listing = listing or self.listing(skill)
            if not listing.objects:
                return None
            self._check_size(skill, listing)
            files = self._files(listing)
            stated = self._stated(skill) if listing.sidecar else None
            again = self.listing(skill)
            if files is not None and again == listing:
                return Directory(listing.fingerprint, files, stated, listing.left_out)
            listing = again
        raise Unavailable(f"The directory of {skill} keeps changing; try again.")

    def _files(self, listing: Listing) -> dict[str, SkillFile] | None:
        calls = [
            partial(self._store.get, info.key, if_match=info.etag)
            for info in listing.objects.values()
        ]
        found = self._runtime.parallel(calls)
        files = {}
        for path, stored in zip(listing.objects, found, strict=True):
            if not isinstance(stored, StoredObject):
                return None
            executable = stored.info.metadata.get("mode") == "0755"
            files[path] = SkillFile(path, stored.body, executable)
        return files

    def _check_size(self, skill: SkillId, listing: Listing) -> None:
        problems = (
            *check_count(len(listing.objects), self._limits),
            *check_total(listing.size, self._limits),
        )
        if problems:
            raise SkillInvalid(f"The vendored directory of {skill} is over a limit.", problems)


def _unsafe(path: str) -> list[Diagnostic]:
    """Name the rules for which a path could leave the skill, as warnings: the rest is served."""
    if is_sidecar(path):
        message = f"`{path}` was left out: the registry keeps versions in files of that name."
        return [warning("file_ignored", message, place=Place(path))]
    found = (fault for fault in check_path_shape(path) if fault.code != "path_not_nfc")
    return [replace(fault, severity=Severity.WARNING) for fault in found]
