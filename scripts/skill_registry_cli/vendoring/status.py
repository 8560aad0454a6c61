"""Where manifest, tree and deployed registry stand: one row a skill.

The tree is held against the manifest as the check does it, and against the registry as a push would
find it: file by file, by path, mode and digest, not by what a provenance block says of itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from skill_registry.errors import SkillInvalid
from skill_registry.spec.model import has_errors
from skill_registry.spec.names import check_skill_name
from skill_registry_cli.local_copies import by_path, differences, listed, would_push
from skill_registry_cli.vendoring.drift import check_skill
from skill_registry_cli.vendoring.local import directories, read
from skill_registry_cli.vendoring.lock import LOCK, read_lock
from skill_registry_cli.vendoring.manifest import MANIFEST, load

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from skill_registry.agent.answers import ListedSkill, Version, View
    from skill_registry_cli.vendoring.manifest import Manifest
    from skill_registry_cli.vendoring.repositories import AllowedHosts


class TreeState(StrEnum):
    """``ok``: as the manifest says. ``behind``: of another commit than the pinned one."""

    OK = "ok"
    EDITED = "edited"
    BEHIND = "behind"
    MISSING = "missing"
    UNLISTED = "unlisted"


class RegistryState(StrEnum):
    """``same``: file by file what the tree has. ``behind``: of another commit than is pinned."""

    SAME = "same"
    DIFFERS = "differs"
    BEHIND = "behind"
    MISSING = "missing"
    UNLISTED = "unlisted"


@dataclass(frozen=True, slots=True)
class SkillStatus:
    """One skill in all three places.

    Attributes:
        source: The key of its source, None for one that was written here.
        pinned: The commit of the manifest.
        version: In the registry.
        scope: Where in the registry.
        deployed: The commit that the registry's copy says it is of.
    """

    name: str
    source: str | None
    pinned: str | None
    tree: TreeState
    registry: RegistryState
    version: Version = None
    scope: str | None = None
    deployed: str | None = None

    @property
    def in_step(self) -> bool:
        """Whether nothing is to be done about it."""
        return self.tree is TreeState.OK and self.registry is RegistryState.SAME


@dataclass(frozen=True, slots=True)
class Status:
    """A manifest and its tree, before the registry is looked at.

    Attributes:
        states: Of each skill of the manifest, then of each directory that it does not list.
    """

    tree: Path
    manifest: Manifest
    states: Mapping[str, TreeState]

    @property
    def names(self) -> list[str]:
        """The skills that the registry can be asked for."""
        return [name for name in self.states if not has_errors(check_skill_name(name))]

    def rows(
        self, views: Mapping[str, View | None], listing: Iterable[ListedSkill] = ()
    ) -> list[SkillStatus]:
        """Compare with the registry.

        Args:
            views: What the registry has of each of ``names``, None where nothing.
            listing: All that it has, for skills of our sources that are nowhere here.
        """
        rows = [self._row(name, views.get(name)) for name in self.states]
        return rows + [self._stray(skill) for skill in listing if self._is_stray(skill)]

    def _row(self, name: str, view: View | None) -> SkillStatus:
        entry, tree = self.manifest.entry(name), self.states[name]
        key = entry.source if entry is not None else None
        pinned = self.manifest.sources[key].commit if key is not None else None
        if view is None:
            return SkillStatus(name, key, pinned, tree, RegistryState.MISSING)
        upstream = view.metadata.get("upstream")
        deployed = upstream.get("commit") if isinstance(upstream, dict) else None
        state = RegistryState.SAME
        if tree is TreeState.MISSING or self._differs(name, view):
            other = pinned is not None and deployed != pinned
            state = RegistryState.BEHIND if other else RegistryState.DIFFERS
        return SkillStatus(name, key, pinned, tree, state, view.version, view.scope, deployed)

    def _differs(self, name: str, view: View) -> bool:
        if (self.tree / name).is_symlink():
            return True
        try:
            here = listed(would_push(self.tree / name).files)
        except SkillInvalid:
            # No push could make them the same.
            return True
        return bool(differences(by_path(view.files), here))

    def _is_stray(self, skill: ListedSkill) -> bool:
        upstream = skill.answer.get("upstream")
        repo = upstream.get("repo") if isinstance(upstream, dict) else None
        ours = {source.repository.url for source in self.manifest.sources.values()}
        return repo in ours and skill.name not in self.states

    def _stray(self, skill: ListedSkill) -> SkillStatus:
        commit = skill.answer["upstream"].get("commit")
        tree, registry = TreeState.MISSING, RegistryState.UNLISTED
        return SkillStatus(
            skill.name, None, None, tree, registry, skill.version, skill.scope, commit
        )


def status(tree: Path, hosts: AllowedHosts) -> Status:
    """Look at a manifest and its tree.

    Raises:
        VendoringRefused: The manifest cannot be used.
        OSError: The tree cannot be read.
    """
    manifest, lock = load(tree / MANIFEST, hosts), read_lock(tree / LOCK)
    present = directories(tree)
    states: dict[str, TreeState] = {}
    for entry in manifest.entries:
        if entry.name not in present:
            states[entry.name] = TreeState.MISSING
            continue
        found = {each.code for each in check_skill(read(tree, entry.name), entry, manifest, lock)}
        if found <= {"commit_differs", "source_unpinned"}:
            states[entry.name] = TreeState.BEHIND if found else TreeState.OK
        else:
            states[entry.name] = TreeState.EDITED
    for name in present:
        states.setdefault(name, TreeState.UNLISTED)
    return Status(tree, manifest, states)
