"""Surveying: what LIST alone shows of a scope, skill by skill, in the order of its keys."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from skill_registry.catalog.principal import is_scope
from skill_registry.spec.names import is_directory_name
from skill_registry.store import keys
from skill_registry.store.base import list_all, list_folders

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skill_registry.store.base import ObjectInfo, SkillStore


@dataclass(slots=True)
class Seen:
    """What the listings show of one skill.

    Attributes:
        tree: Objects of the plain tree, the sidecar left out.
        revisions: Whatever lies under ``revisions/``.
        settings: ETag of ``settings.json``.
    """

    name: str
    tree: list[ObjectInfo] = field(default_factory=list)
    sidecar: ObjectInfo | None = None
    revisions: list[ObjectInfo] = field(default_factory=list)
    settings: str | None = None

    @property
    def top(self) -> int:
        """The highest number in the log, 0 for none."""
        numbers = (keys.revision_number(info.key) for info in self.revisions)
        return max((number for number in numbers if number is not None), default=0)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing of it in the bucket."""
        return not (self.tree or self.sidecar or self.revisions or self.settings)

    def add(self, info: ObjectInfo) -> None:
        """Take an object of the skill in."""
        parts = info.key.split("/")
        if parts[0] == "skills":
            if parts[3:] == [keys.SIDECAR]:
                self.sidecar = info
            else:
                self.tree.append(info)
        elif parts[3] == "revisions":
            self.revisions.append(info)
        else:
            self.settings = info.etag


def scopes_of(store: SkillStore) -> list[str]:
    """Return the scopes that the bucket has anything of, sorted."""
    trees = list_folders(store, keys.SKILLS)
    records = list_folders(store, keys.REGISTRY)
    return sorted(scope for scope in {*trees, *records} if is_scope(scope))


def names_of(store: SkillStore, scope: str) -> set[str]:
    """Return the names that the bucket has anything of in a scope."""
    trees = list_folders(store, keys.scope_tree(scope))
    records = list_folders(store, keys.scope_records(scope))
    return {name for name in {*trees, *records} if is_directory_name(name)}


def survey(store: SkillStore, scope: str, known: Iterable[str] = ()) -> Iterator[Seen]:
    """Yield what lies in a scope for each skill, and the ``known`` names of which nothing does.

    One request a page of keys, however many skills there are; one skill is in memory at a time.
    """
    found: Iterator[tuple[bytes, str, ObjectInfo | None]] = heapq.merge(
        _of_skills(store, keys.scope_tree(scope)),
        _of_skills(store, keys.scope_records(scope)),
        ((_place(name), name, None) for name in sorted(known, key=_place)),
        key=lambda each: each[0],
    )
    for _, group in groupby(found, key=lambda each: each[0]):
        seen: Seen | None = None
        for _, name, info in group:
            seen = seen or Seen(name)
            if info is not None:
                seen.add(info)
        if seen is not None:
            yield seen


def strays_of(store: SkillStore, scope: str) -> Iterator[str]:
    """Yield the keys of a scope that belong to no skill. Folder marks of other tools are none."""
    for prefix in (keys.scope_tree(scope), keys.scope_records(scope)):
        for info in list_all(store, prefix):
            if not (info.key.endswith("/") or _is_ours(info.key)):
                yield info.key


def strays_beside(store: SkillStore) -> Iterator[str]:
    """Yield the keys and folders beside the scopes, and those of uploads that are none."""
    ours = (keys.SKILLS, keys.REGISTRY, keys.UPLOADS)
    yield from (each for each in _level(store, "") if each not in ours)
    for prefix in (keys.SKILLS, keys.REGISTRY):
        for each in _level(store, prefix):
            is_ours = each == keys.access() or (
                each[-1] == "/" and is_scope(each[len(prefix) : -1])
            )
            if not is_ours:
                yield each
    for info in list_all(store, keys.UPLOADS):
        upload = keys.parse_upload(f"{info.key.removesuffix('.json')}.zip")
        is_ours = keys.parse_upload(info.key) is not None
        is_ours = is_ours or (upload is not None and info.key == keys.outcome(upload))
        if not (is_ours or info.key.endswith("/")):
            yield info.key


def _level(store: SkillStore, prefix: str) -> Iterator[str]:
    """Yield the objects and the folders directly under a prefix."""
    after: str | None = None
    while True:
        page = store.list_page(prefix, delimiter="/", after=after)
        yield from (info.key for info in page.objects if info.key != prefix)
        yield from page.prefixes
        if page.after is None:
            return
        after = page.after


def _of_skills(store: SkillStore, prefix: str) -> Iterator[tuple[bytes, str, ObjectInfo | None]]:
    for info in list_all(store, prefix):
        skill = keys.parse_skill(info.key)
        if skill is not None:
            yield _place(skill.name), skill.name, info


def _place(name: str) -> bytes:
    """Where the keys of a skill come among the others: the slash behind a name takes part."""
    return f"{name}/".encode()


def _is_ours(key: str) -> bool:
    parts = key.split("/")
    if keys.parse_skill(key) is not None or keys.parse_catalog(key) is not None:
        return True
    of_snapshot = parts[0] == "registry" and len(parts) == 5 and parts[3] == "snapshots"
    return of_snapshot and is_directory_name(parts[2])
