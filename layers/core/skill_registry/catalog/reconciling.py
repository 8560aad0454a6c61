"""Reconcile: compare everything with a few LISTs, and repair only what differs.

The schedule runs it. It is the one thing needed when every event was lost (invariant I13).
"""

from __future__ import annotations

import logging
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skill_registry.catalog.log import sidecar_body
from skill_registry.catalog.principal import is_scope
from skill_registry.catalog.snapshot import Entry, decode, listed_fingerprint
from skill_registry.errors import RegistryError
from skill_registry.store import keys
from skill_registry.store.base import StoredObject, list_all, list_folders
from skill_registry.store.etags import content_etag
from skill_registry.store.keys import SkillId

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skill_registry.catalog.refreshing import Refresher
    from skill_registry.catalog.uploading import Uploader
    from skill_registry.store.base import ObjectInfo, SkillStore

_LOGGER = logging.getLogger(__name__)


@dataclass(slots=True)
class _Seen:
    """What the listings show of one skill."""

    tree: list[ObjectInfo] = field(default_factory=list)
    sidecar: ObjectInfo | None = None
    top: int = 0
    settings: str | None = None


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What a run found: uploads that it published, skills that it repaired or could not."""

    uploads: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class Reconciler:
    """The reconcile use case."""

    def __init__(self, store: SkillStore, uploader: Uploader, refresher: Refresher) -> None:
        self._store = store
        self._uploader = uploader
        self._refresher = refresher

    def run(self) -> Reconciled:
        """Publish what arrived and was never published, then repair every scope.

        A second run finds nothing to repair. One skill that cannot be repaired costs no other.
        """
        uploads = self._pending_uploads()
        repaired: list[str] = []
        failed: list[str] = []
        for scope in self._scopes():
            try:
                done, bad = self._scope(scope)
            except Exception:
                # Whatever is wrong with one scope, the others are repaired.
                _LOGGER.exception("reconcile_failed", extra={"scope": scope})
                done, bad = [], [scope]
            repaired += done
            failed += bad
        return Reconciled(tuple(uploads), tuple(repaired), tuple(failed))

    def _scopes(self) -> list[str]:
        trees = list_folders(self._store, keys.SKILLS)
        records = list_folders(self._store, keys.REGISTRY)
        return sorted(scope for scope in {*trees, *records} if is_scope(scope))

    def _pending_uploads(self) -> list[str]:
        listed = {info.key for info in list_all(self._store, keys.UPLOADS)}
        published = []
        for key in sorted(listed):
            upload = keys.parse_upload(key)
            if upload is None or keys.outcome(upload) in listed:
                continue
            try:
                self._uploader.publish(upload)
            except RegistryError as error:
                _LOGGER.info("publish_refused", extra={"upload": upload.id, "why": error.code})
            else:
                published.append(upload.id)
        return published

    def _scope(self, scope: str) -> tuple[list[str], list[str]]:
        seen = self._look(scope)
        found = self._store.get(keys.catalog(scope))
        catalog = decode(scope, found.body) if isinstance(found, StoredObject) else None
        entries: Mapping[str, Entry] = catalog.entries if catalog else {}
        names = sorted(
            name
            for name in {*seen, *entries}
            if not _in_step(SkillId(scope, name), seen.get(name), entries.get(name))
        )
        done, failed = [], []
        for name in names:
            skill = SkillId(scope, name)
            try:
                self._refresher.settle(skill)
                done.append(name)
            except RegistryError as error:
                _LOGGER.warning("settle_failed", extra={"skill": str(skill), "why": error.code})
                failed.append(str(skill))
        if done or catalog is None:
            self._refresher.refresh(scope, done)
        return [f"{scope}/{name}" for name in done], failed

    def _look(self, scope: str) -> dict[str, _Seen]:
        seen: dict[str, _Seen] = defaultdict(_Seen)
        for info in list_all(self._store, keys.scope_tree(scope)):
            skill = keys.parse_skill(info.key)
            if skill is None:
                continue
            if info.key == keys.sidecar(skill):
                seen[skill.name].sidecar = info
            else:
                seen[skill.name].tree.append(info)
        for info in list_all(self._store, keys.scope_records(scope)):
            skill = keys.parse_skill(info.key)
            number = keys.revision_number(info.key)
            if skill is not None and number is not None:
                seen[skill.name].top = max(seen[skill.name].top, number)
            elif skill is not None:
                seen[skill.name].settings = info.etag
        return dict(seen)


def _in_step(skill: SkillId, seen: _Seen | None, entry: Entry | None) -> bool:
    """Whether the listings say all that the entry says. A doubt is a no."""
    if seen is None or entry is None:
        return False
    if (seen.top or None) != entry.revision or seen.settings != entry.settings:
        return False
    tree = seen.tree
    if seen.top:
        stated = seen.sidecar.etag if seen.sidecar else None
        if stated != content_etag(sidecar_body(seen.top)):
            return False
    elif seen.sidecar:
        # A vendored skill's version may come from its sidecar, so that is part of its state.
        tree = [*tree, seen.sidecar]
    return listed_fingerprint(keys.tree(skill), tree) == entry.tree
