"""The check of a tree against its manifest, without a network: one diagnostic a problem.

Source: seed 2, item 84, and what item 85 says that it missed: directories that no entry has any
more.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from skill_registry.spec.model import SKILL_MD
from skill_registry_cli.vendoring.drift import SYNC, check_skill
from skill_registry_cli.vendoring.local import directories, read
from skill_registry_cli.vendoring.lock import LOCK, read_lock
from skill_registry_cli.vendoring.manifest import MANIFEST, load
from skill_registry_cli.vendoring.problems import VendoringRefused, problem
from skill_registry_cli.vendoring.tree import being_synced, unfinished

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from skill_registry.spec.model import Diagnostic
    from skill_registry_cli.vendoring.local import TreeSkill
    from skill_registry_cli.vendoring.lock import Lock
    from skill_registry_cli.vendoring.manifest import Entry, Manifest
    from skill_registry_cli.vendoring.repositories import AllowedHosts


def check(tree: Path, hosts: AllowedHosts) -> list[Diagnostic]:
    """Return every problem of a tree; none where it is what its manifest says.

    Raises:
        VendoringRefused: The manifest cannot be used, or ``sync_running``.
        OSError: The tree cannot be read.
    """
    found = check_tree(tree, load(tree / MANIFEST, hosts))
    if found and being_synced(tree):
        message = f"A sync is at work in {tree}; check again when it has ended."
        raise VendoringRefused(message, code="sync_running")
    return found


def check_tree(tree: Path, manifest: Manifest) -> list[Diagnostic]:
    """Return every problem of a tree against a manifest that was read."""
    lock = read_lock(tree / LOCK)
    present = directories(tree)
    found = [*_interrupted(tree), *_unpinned(manifest), *_lock_itself(lock, manifest, present)]
    for entry in manifest.entries:
        if entry.name in present:
            found.extend(check_skill(read(tree, entry.name), entry, manifest, lock))
        else:
            found.append(_missing(tree, entry))
    for name in present:
        if manifest.entry(name) is None:
            found.append(_unlisted(read(tree, name), manifest, present))
    return found


def _missing(tree: Path, entry: Entry) -> Diagnostic:
    is_what = "no directory" if os.path.lexists(tree / entry.name) else "not there"
    message = f"The manifest lists {entry.name}, and {entry.name} is {is_what}."
    hint = SYNC if entry.source is not None and is_what == "not there" else None
    return problem("skill_missing", message, file=MANIFEST, position=entry.position, hint=hint)


def _unpinned(manifest: Manifest) -> Iterator[Diagnostic]:
    for source in manifest.sources.values():
        if source.commit is None:
            message = f"The source {source.key} is not pinned."
            place = source.position
            yield problem("source_unpinned", message, file=MANIFEST, position=place, hint=SYNC)


def _interrupted(tree: Path) -> Iterator[Diagnostic]:
    for name in unfinished(tree):
        hint = "Run `skillctl vendor sync`: it puts the tree back before it begins."
        yield problem(
            "sync_interrupted", f"A sync was killed and left {name}.", file=name, hint=hint
        )


def _lock_itself(
    lock: Lock | None, manifest: Manifest, present: Collection[str]
) -> Iterator[Diagnostic]:
    vendored = {each.name for each in manifest.entries if each.source is not None}
    if lock is None:
        if vendored:
            message = f"{LOCK} is missing or damaged, so that no file can be named that differs."
            yield problem("lock_invalid", message, file=LOCK, hint=SYNC)
        return
    # Of a directory that no entry has any more, its own problem tells.
    unlisted = {name for name in present if manifest.entry(name) is None}
    for name in sorted(lock.keys() - vendored - unlisted):
        message = f"{LOCK} holds {name}, which is no vendored skill of the manifest."
        yield problem("lock_invalid", message, file=LOCK, hint=SYNC)


def _unlisted(skill: TreeSkill, manifest: Manifest, present: Collection[str]) -> Diagnostic:
    place = f"{skill.name}/{SKILL_MD}" if skill.meta is not None else skill.name
    if skill.stated and skill.stated != skill.name and manifest.entry(skill.stated):
        was = "copied" if skill.stated in present else "renamed"
        message = f"{skill.name}/ holds {skill.stated}: its directory was {was}."
        at = skill.position("name")
        return problem("name_differs", message, file=place, position=at, field="name")
    if skill.meta is not None and skill.meta.upstream is not None:
        repo = skill.meta.upstream["repo"]
        message = f"{skill.name}/ is from {repo}, and the manifest does not list it any more."
        hint = "`skillctl vendor sync --prune` removes it where nobody edited it."
        return problem("skill_unlisted", message, file=place, hint=hint)
    message = f"The manifest does not list {skill.name}/."
    hint = "Add it to the manifest: with a source, or with `local: true`."
    return problem("skill_unlisted", message, file=place, hint=hint)
