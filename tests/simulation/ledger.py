"""The truth of a simulated world: what was ever written, seen from outside of the registry."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from simulation.content import stored_files
from simulation.facts import (
    CatalogChanged,
    RevisionChanged,
    SettingsChanged,
    SidecarChanged,
)

from skill_registry.catalog.overrides import NO_OVERRIDES, Overrides
from skill_registry.catalog.revision import Kind, RevisionInfo
from skill_registry.store.keys import SIDECAR, SkillId

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from simulation.bucket import Change
    from simulation.facts import Acknowledged, Changed, Files, Promise, TreeChanged

    from skill_registry.catalog.snapshot import Catalog
    from skill_registry.spec.model import SkillFile

T = TypeVar("T")


@dataclass(slots=True)
class Revision:
    """One revision as it was created, and whether its bytes are gone."""

    info: RevisionInfo
    body: bytes
    step: int
    pruned: bool = False

    @property
    def files(self) -> Mapping[str, SkillFile]:
        """The files by path, none of a tombstone."""
        if self.info.kind is not Kind.CONTENT:
            return {}
        return {file.path: file for file in stored_files(self.body)}


@dataclass(slots=True)
class SkillLedger:
    """What became of one skill.

    Attributes:
        stated: What ``.version`` says, None where it is missing or garbage.
        trusted_since: The step since which no outsider's hand shows in ``.version``; None while it
            does. What the bucket policy makes possible is promised for trusted times only.
        touched: The step at which an outsider last had a hand in ``.version``.
        made_up: What outsiders ever wrote there.
        floor: The highest number that was acknowledged.
        listed: The highest number that a catalog ever had.
        foreign: Paths of the tree that an outsider wrote or removed last.
        ever_foreign: Paths of the tree that an outsider ever wrote or removed.
        trees, settings, heads: Every state with the step that brought it; a head is the number
            that a reader has to take.
    """

    log: dict[int, Revision] = field(default_factory=dict)
    top: int = 0
    stated: int | None = None
    ever_stated: set[int] = field(default_factory=set)
    trusted_since: int | None = 0
    touched: int = 0
    made_up: set[int] = field(default_factory=set)
    floor: int = 0
    listed: int = 0
    foreign: set[str] = field(default_factory=set)
    ever_foreign: set[str] = field(default_factory=set)
    trees: list[tuple[int, Files]] = field(default_factory=lambda: [(0, {})])
    settings: list[tuple[int, Overrides]] = field(default_factory=lambda: [(0, NO_OVERRIDES)])
    heads: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])

    @property
    def head(self) -> int:
        """The number that a reader has to take now: the log's where ``.version`` is no use."""
        stated = self.stated
        if stated is None or stated not in self.log or self.log[stated].pruned:
            return self.top
        return stated

    @property
    def overrides(self) -> Overrides:
        """The overrides now."""
        return self.settings[-1][1]

    @property
    def tree(self) -> Files:
        """The plain tree now, without its sidecar."""
        return {path: body for path, body in self.trees[-1][1].items() if path != SIDECAR}

    def trusted(self, since: int) -> bool:
        """Whether ``.version`` was the registry's own work all the time since a step."""
        return self.trusted_since is not None and self.trusted_since <= since


def states_since(states: list[tuple[int, T]], step: int) -> list[T]:
    """Return what held at a step and everything that held after it."""
    found = []
    for number, state in reversed(states):
        found.append(state)
        if number <= step:
            break
    return found


@dataclass(slots=True)
class Ledger:
    """What became of everything. ``step`` tells how far the world is."""

    step: Callable[[], int]
    skills: dict[SkillId, SkillLedger] = field(default_factory=dict)
    promises: dict[str, Promise] = field(default_factory=dict)
    acknowledged: dict[str, int] = field(default_factory=dict)
    acknowledged_at: dict[str, int] = field(default_factory=dict)
    catalogs: dict[str, Catalog | None] = field(default_factory=dict)
    catalog_versions: dict[str, int] = field(default_factory=dict)

    def of(self, skill: SkillId) -> SkillLedger:
        """Return what is known of a skill."""
        known = self.skills.get(skill)
        if known is None:
            known = self.skills[skill] = SkillLedger()
        return known

    def names(self, scope: str) -> list[str]:
        """Return the skills of a scope that there ever were."""
        return [skill.name for skill in self.skills if skill.scope == scope]

    def acknowledge(self, fact: Acknowledged) -> None:
        """Take note of an acknowledgement, after it was checked."""
        number = fact.info.number
        self.acknowledged[fact.upload] = number
        self.acknowledged_at.setdefault(fact.upload, self.step())
        known = self.of(fact.skill)
        known.floor = max(known.floor, number)

    def apply(self, changed: Changed) -> None:
        """Take note of a change, after it was checked."""
        if isinstance(changed, CatalogChanged):
            self._catalog(changed)
            return
        known = self.of(changed.skill)
        if isinstance(changed, RevisionChanged):
            self._revision(known, changed)
        elif isinstance(changed, SidecarChanged):
            self._sidecar(known, changed)
        elif isinstance(changed, SettingsChanged):
            known.settings.append((self.step(), changed.overrides))
        else:
            self._tree(known, changed)
        if known.head != known.heads[-1][1]:
            known.heads.append((self.step(), known.head))

    def _revision(self, known: SkillLedger, changed: RevisionChanged) -> None:
        info = changed.info
        if info is None:
            return
        if changed.number not in known.log:
            known.log[changed.number] = Revision(info, changed.body, self.step())
            known.top = max(known.top, changed.number)
        elif info.kind is Kind.PRUNED:
            known.log[changed.number].pruned = True

    def _sidecar(self, known: SkillLedger, changed: SidecarChanged) -> None:
        before, known.stated = known.stated, changed.stated
        if changed.change.outsider and self.step():
            known.touched = self.step()
            known.made_up |= {changed.stated or 0}
        self._file(known, SIDECAR, changed.change)
        if changed.stated is not None:
            known.ever_stated.add(changed.stated)
        if known.stated == known.top:
            if known.trusted_since is None:
                known.trusted_since = self.step()
        elif (changed.change.outsider and self.step()) or (before or 0) > (known.stated or 0):
            known.trusted_since = None

    def _tree(self, known: SkillLedger, changed: TreeChanged) -> None:
        self._file(known, changed.path, changed.change)
        if changed.change.outsider:
            known.foreign.add(changed.path)
            known.ever_foreign.add(changed.path)
        else:
            known.foreign.discard(changed.path)

    def _file(self, known: SkillLedger, path: str, change: Change) -> None:
        tree = dict(known.trees[-1][1])
        if change.after is None:
            tree.pop(path, None)
        else:
            tree[path] = change.after.body
        known.trees.append((self.step(), tree))

    def _catalog(self, changed: CatalogChanged) -> None:
        scope, catalog = changed.scope, changed.catalog
        self.catalogs[scope] = catalog
        if catalog is None:
            return
        self.catalog_versions[scope] = max(catalog.version, self.catalog_versions.get(scope, 0))
        for name, entry in catalog.entries.items():
            if entry.revision is not None:
                known = self.of(SkillId(scope, name))
                known.listed = max(known.listed, entry.revision)
