"""Reconcile: compare everything with a few LISTs, and repair only what differs.

The schedule runs it. It is the one thing needed when every event was lost (invariant I13). It also
prunes, since its listings show where there is something to prune.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skill_registry.catalog.log import sidecar_body
from skill_registry.catalog.places import read_place, read_upload_place
from skill_registry.catalog.publishing import Published
from skill_registry.catalog.snapshot import Entry, decode, listed_fingerprint
from skill_registry.catalog.surveying import Seen, scopes_of, survey
from skill_registry.errors import RegistryError
from skill_registry.store import keys
from skill_registry.store.base import StoredObject, list_all
from skill_registry.store.etags import content_etag
from skill_registry.store.keys import SkillId

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skill_registry.catalog.pruning import Pruner
    from skill_registry.catalog.refreshing import Refresher
    from skill_registry.catalog.runtime import Runtime
    from skill_registry.catalog.uploading import Uploader
    from skill_registry.store.base import SkillStore

_LOGGER = logging.getLogger(__name__)

# Skills of which the catalog is written at once: none of their repairs waits long to be listed.
CHUNK = 100
_HOUR = 60 * 60
# Multiples of it, modulo 1, come near every place soon.
_GOLDEN = 0.6180339887498949


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What a run did.

    Attributes:
        uploads: Uploads that it published.
        repaired: Skills that were not in step: something was written for them. A fault that no
            run can mend is none of them, however often one meets it.
        failed: Skills, or whole scopes, that could not be repaired.
        drift: Skills whose plain tree was edited by hand. It stays (invariant I8).
        pruned: Versions that lost their bytes, by skill.
        next: Where another run goes on, None where this one came to the end.
    """

    uploads: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    drift: tuple[str, ...] = ()
    pruned: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    next: str | None = None


@dataclass(slots=True)
class _Run:
    """One run as it goes."""

    deadline: float | None
    turn: float
    place: str | None = None
    uploads: list[str] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    drift: list[str] = field(default_factory=list)
    pruned: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def turned(self, items: list[str]) -> list[str]:
        """Begin the items at this run's turn."""
        start = int(len(items) * self.turn)
        return items[start:] + items[:start]


@dataclass(frozen=True, slots=True)
class _Task:
    """What there is to do for a skill."""

    settle: bool
    prune: bool
    sidecar: str | None


class Reconciler:
    """The reconcile use case."""

    def __init__(
        self,
        store: SkillStore,
        runtime: Runtime,
        uploader: Uploader,
        refresher: Refresher,
        pruner: Pruner | None = None,
    ) -> None:
        self._store = store
        self._runtime = runtime
        self._uploader = uploader
        self._refresher = refresher
        self._pruner = pruner

    def run(
        self, *, budget: float | None = None, start: str | None = None, anywhere: bool = False
    ) -> Reconciled:
        """Publish what arrived and was never published, then repair and prune every scope.

        A second run finds nothing to repair. One skill that cannot be repaired costs no other.

        Args:
            budget: Seconds after which no further skill is begun; at least one always is.
            start: ``next`` of an earlier run.
            anywhere: Begin at a place that changes with the hour, in each scope. For the schedule,
                which has no ``start``: what one run leaves, one of the next ones reaches, even
                where skills in front of it take all the time.

        Raises:
            RequestInvalid: ``cursor_invalid``.
        """
        deadline = None if budget is None else self._runtime.monotonic() + budget
        turn = self._runtime.clock() // _HOUR * _GOLDEN % 1 if anywhere else 0.0
        run = _Run(deadline, turn)
        ended = self._all(run, start or "")
        return Reconciled(
            tuple(run.uploads),
            tuple(run.repaired),
            tuple(run.failed),
            tuple(run.drift),
            run.pruned,
            None if ended else run.place,
        )

    def _is_late(self, run: _Run) -> bool:
        if run.deadline is None or run.place is None:
            return False
        return self._runtime.monotonic() >= run.deadline

    def _all(self, run: _Run, start: str) -> bool:
        """Work through everything behind ``start``; whether there was time for all of it."""
        uploads = start == "" or start.startswith(keys.UPLOADS)
        first, after = read_place(None if uploads else start)
        if uploads:
            if start:
                read_upload_place(start)
            if not self._publish_pending(run, start):
                return False
        scopes = run.turned([each for each in scopes_of(self._store) if each >= first])
        # Where it begins among the skills of a scope has nothing to do with which scope is first.
        run.turn = run.turn * len(scopes) % 1
        for scope in scopes:
            if self._is_late(run):
                return False
            try:
                ended = self._scope(run, scope, after if scope == first else "")
            except Exception:
                # Whatever is wrong with one scope, the others are repaired.
                _LOGGER.exception("reconcile_failed", extra={"scope": scope})
                run.failed.append(scope)
                ended = True
            if not ended:
                return False
        return True

    def _publish_pending(self, run: _Run, start: str) -> bool:
        listed = {info.key for info in list_all(self._store, keys.UPLOADS)}
        for key in sorted(key for key in listed if key > start):
            upload = keys.parse_upload(key)
            if upload is None or keys.outcome(upload) in listed:
                continue
            if self._is_late(run):
                return False
            run.place = key
            try:
                done = self._uploader.publish(upload)
            except RegistryError as error:
                _LOGGER.info("publish_refused", extra={"upload": upload.id, "why": error.code})
            else:
                if isinstance(done, Published):
                    run.uploads.append(upload.id)
        return True

    def _scope(self, run: _Run, scope: str, after: str) -> bool:
        found = self._store.get(keys.catalog(scope))
        catalog = decode(scope, found.body) if isinstance(found, StoredObject) else None
        tasks = self._tasks(scope, catalog.entries if catalog else {})
        waiting: list[str] = []
        ended = True
        for name in run.turned(sorted(name for name in tasks if name > after)):
            if self._is_late(run):
                ended = False
                break
            run.place = f"{scope}/{name}"
            if self._work(run, SkillId(scope, name), tasks[name]):
                waiting.append(name)
            if len(waiting) == CHUNK:
                self._refresh(run, scope, waiting)
                waiting = []
        if waiting or catalog is None:
            self._refresh(run, scope, waiting)
        return ended

    def _tasks(self, scope: str, entries: Mapping[str, Entry]) -> dict[str, _Task]:
        """Compare the listings with the catalog; return the names with something to do."""
        tasks = {}
        for seen in survey(self._store, scope, entries):
            settle = not _is_in_step(SkillId(scope, seen.name), seen, entries.get(seen.name))
            prune = self._pruner is not None and self._pruner.is_due(seen.revisions)
            if settle or prune:
                sidecar = seen.sidecar.etag if seen.sidecar else None
                tasks[seen.name] = _Task(settle, prune, sidecar)
        return tasks

    def _work(self, run: _Run, skill: SkillId, task: _Task) -> bool:
        """Settle and prune; whether the catalog's entry is to be looked at."""
        changed = False
        try:
            if task.settle:
                projected = self._refresher.settle(skill)
                changed = True
                if projected.changed or projected.sidecar != task.sidecar:
                    run.repaired.append(str(skill))
                if projected.drift:
                    run.drift.append(str(skill))
                    extra = {"skill": str(skill), "paths": list(projected.drift[:20])}
                    _LOGGER.warning("tree_drift", extra=extra)
            if task.prune and self._pruner is not None:
                # Where labels keep every byte, the floor may have risen all the same.
                changed = True
                if gone := self._pruner.prune(skill):
                    run.pruned[str(skill)] = gone
        except RegistryError as error:
            _LOGGER.warning("settle_failed", extra={"skill": str(skill), "why": error.code})
            run.failed.append(str(skill))
        return changed

    def _refresh(self, run: _Run, scope: str, names: list[str]) -> None:
        try:
            changed = self._refresher.refresh(scope, names).names
        except RegistryError as error:
            _LOGGER.warning("refresh_failed", extra={"scope": scope, "why": error.code})
            run.failed.append(scope)
            return
        told = {*run.repaired, *run.failed, *run.pruned}
        listed = (str(SkillId(scope, name)) for name in names if name in changed)
        run.repaired += [skill for skill in listed if skill not in told]


def _is_in_step(skill: SkillId, seen: Seen, entry: Entry | None) -> bool:
    """Whether the listings say all that the entry says. A doubt is a no."""
    if seen.is_empty or entry is None:
        return False
    top = seen.top
    if (top or None) != entry.revision or seen.settings != entry.settings:
        return False
    tree = seen.tree
    if top:
        stated = seen.sidecar.etag if seen.sidecar else None
        if stated != content_etag(sidecar_body(top)):
            return False
    elif seen.sidecar:
        # A vendored skill's version may come from its sidecar, so that is part of its state.
        tree = [*tree, seen.sidecar]
    return listed_fingerprint(keys.tree(skill), tree) == entry.tree
