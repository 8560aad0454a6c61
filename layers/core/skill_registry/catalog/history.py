"""History: the versions of a skill, and what changed between two of them.

Whoever sees the skill sees its history. Whoever may write to its scope sees it after a deletion
too, and while the current version is damaged, to find what to go back to.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

from skill_registry.catalog.resolving import Refusal
from skill_registry.catalog.revision import Kind, RevisionInfo
from skill_registry.errors import (
    RequestInvalid,
    RevisionDamaged,
    SkillNotFound,
)
from skill_registry.spec.diff import Comparison, compare
from skill_registry.spec.names import is_directory_name
from skill_registry.store.keys import SkillId

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from skill_registry.catalog.configuring import SettingsFiles
    from skill_registry.catalog.loading import Loaded, Loader
    from skill_registry.catalog.log import RevisionLog
    from skill_registry.catalog.overrides import Overrides
    from skill_registry.catalog.principal import Principal
    from skill_registry.catalog.resolving import Pin, Resolver
    from skill_registry.catalog.runtime import Runtime
    from skill_registry.catalog.viewing import ViewSkill
    from skill_registry.spec.model import SkillFile

PAGE = 50


class State(StrEnum):
    """What can be had of a version: its files, nothing since it is a deletion, nothing any more."""

    CONTENT = "content"
    DELETED = "deleted"
    PRUNED = "pruned"


_STATES = {
    Kind.CONTENT: State.CONTENT,
    Kind.TOMBSTONE: State.DELETED,
    Kind.PRUNED: State.PRUNED,
}


@dataclass(frozen=True, slots=True)
class Version:
    """One version as its readers see it."""

    info: RevisionInfo
    state: State
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Versions:
    """A page of versions, newest first.

    Attributes:
        head: The current number, 0 for a vendored skill, which has no history.
        next: ``before`` of the next page, None on the last.
    """

    skill: SkillId
    head: int
    versions: tuple[Version, ...]
    next: int | None = None


@dataclass(frozen=True, slots=True)
class Diff:
    """What changed from one version to another."""

    skill: SkillId
    old: int
    new: int
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class _Found:
    skill: SkillId
    head: int
    overrides: Overrides


class History:
    """The history use case."""

    def __init__(
        self,
        runtime: Runtime,
        log: RevisionLog,
        loader: Loader,
        resolver: Resolver,
        files: SettingsFiles,
        viewing: ViewSkill,
    ) -> None:
        self._runtime = runtime
        self._log = log
        self._loader = loader
        self._resolver = resolver
        self._settings = files
        self._viewing = viewing

    def versions(
        self,
        principal: Principal,
        name: str,
        *,
        scopes: tuple[str, ...] = (),
        before: int | None = None,
        limit: int = PAGE,
    ) -> Versions:
        """Return a page of versions, newest first.

        Args:
            before: Only versions with lower numbers: ``next`` of the page before.
            limit: 1 to 50 versions.

        Raises:
            RequestInvalid: ``limit_invalid``.
            SkillNotFound: No such skill for this caller.
        """
        if not 1 <= limit <= PAGE:
            raise RequestInvalid(f"`limit` is 1 to {PAGE}.", code="limit_invalid")
        found = self._find(principal, name, scopes)
        newest = found.head if before is None else min(found.head, before - 1)
        # Numbers are dense from the first one on, so that nothing needs to be listed.
        numbers = range(newest, max(0, newest - limit), -1)
        infos = self._infos(found.skill, numbers)
        versions = tuple(self._version(info, found) for info in infos)
        oldest = infos[-1].number if infos else 0
        more = len(infos) == limit and oldest > 1
        return Versions(found.skill, found.head, versions, oldest if more else None)

    def diff(
        self,
        principal: Principal,
        name: str,
        *,
        scopes: tuple[str, ...] = (),
        old: Pin = None,
        new: Pin = None,
    ) -> Diff:
        """Compare two versions; by default the current one with the one before it.

        A deletion has no files, and neither has what was before the first version.

        Raises:
            SkillNotFound: No such skill for this caller.
            VersionNotFound: One of the versions never was.
            Gone: The bytes of one were pruned.
        """
        found = self._find(principal, name, scopes)
        second = found.overrides.number_of(new, name) if new is not None else found.head
        first = found.overrides.number_of(old, name) if old is not None else second - 1
        before = self._files_of(found, first) if old is not None or first else {}
        after = self._files_of(found, second)
        names = (f"v{first}", f"v{second}")
        comparison = compare(before, after, names=names)
        return Diff(found.skill, first, second, comparison)

    def _files_of(self, found: _Found, number: int) -> Mapping[str, SkillFile]:
        info = self._log.info(found.skill, number) if 1 <= number <= found.head else None
        if info is not None and info.kind is Kind.TOMBSTONE:
            return {}
        return self._loader.content(found.skill, number, found.overrides, head=found.head).files

    def _find(self, principal: Principal, name: str, scopes: tuple[str, ...]) -> _Found:
        try:
            loaded = self._viewing.load(principal, name, scopes)
        except SkillNotFound:
            found = self._written_by(principal, name, scopes)
            if found is None:
                raise
            return found
        except RevisionDamaged:
            found = self._damaged(principal, name, scopes)
            if found is None:
                raise
            return found
        return self._seen(loaded)

    def _seen(self, loaded: Loaded) -> _Found:
        head = loaded.revision.number if loaded.revision else 0
        return _Found(loaded.skill, head, loaded.overrides)

    def _written_by(
        self, principal: Principal, name: str, scopes: tuple[str, ...]
    ) -> _Found | None:
        """Find a skill that is deleted or disabled, in a scope that the principal may write."""
        if not is_directory_name(name):
            return None
        for scope in principal.read_scopes(scopes):
            skill = SkillId(scope, name)
            if principal.may_write(scope) and (head := self._log.head(skill).number):
                return _Found(skill, head, self._settings.read(skill)[0])
        return None

    def _damaged(self, principal: Principal, name: str, scopes: tuple[str, ...]) -> _Found | None:
        """Find the skill whose head is damaged, where the principal may write to its scope.

        Whom it was for says nobody any more, so that nobody else may see its history.
        """
        for scope in principal.read_scopes(scopes):
            skill = SkillId(scope, name)
            try:
                loaded = self._resolver.resolve([skill], principal)
            except RevisionDamaged:
                if not principal.may_write(scope):
                    return None
                head = self._log.head(skill).number
                return _Found(skill, head, self._settings.read(skill)[0])
            if not isinstance(loaded, Refusal):
                return self._seen(loaded)
        return None

    def _infos(self, skill: SkillId, numbers: Sequence[int]) -> list[RevisionInfo]:
        calls = [partial(self._log.info, skill, number) for number in numbers]
        return [info for info in self._runtime.parallel(calls) if info is not None]

    def _version(self, info: RevisionInfo, found: _Found) -> Version:
        state = _STATES[info.kind]
        if state is State.CONTENT and info.number < found.head:
            state = State.CONTENT if found.overrides.keeps(info.number) else State.PRUNED
        return Version(info, state, found.overrides.labels_of(info.number))
