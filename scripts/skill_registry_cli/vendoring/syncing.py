"""The sync: the only writer of vendored skills. Source: seed 2, items 82 and 83.

Everything is asked, read and rendered before anything is written, and what is written is written at
once. So whatever goes wrong, tree and manifest are as they were.
"""

from __future__ import annotations

import os
import posixpath
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from skill_registry.spec.archive import ArchiveContents
from skill_registry.spec.model import SKILL_MD, Severity
from skill_registry.spec.validation import check_contents
from skill_registry_cli.vendoring.archives import RepositoryArchive
from skill_registry_cli.vendoring.checking import check_tree
from skill_registry_cli.vendoring.digests import digest_of_files, digests
from skill_registry_cli.vendoring.drift import check_skill
from skill_registry_cli.vendoring.local import TreeSkill, directories, read
from skill_registry_cli.vendoring.lock import LOCK, read_lock, write_lock
from skill_registry_cli.vendoring.manifest import MANIFEST, load, parse, pinned
from skill_registry_cli.vendoring.problems import (
    SyncInterrupted,
    VendoringRefused,
    caution,
    problem,
)
from skill_registry_cli.vendoring.rendering import rendered
from skill_registry_cli.vendoring.tree import Change, apply, locked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from skill_registry.spec.model import Diagnostic, SkillFile
    from skill_registry_cli.vendoring.digests import Fingerprint
    from skill_registry_cli.vendoring.hosts import CodeHost
    from skill_registry_cli.vendoring.manifest import Entry, Manifest, Source
    from skill_registry_cli.vendoring.repositories import AllowedHosts

# Called with what is being fetched, the bytes so far, and the bytes in all where they are known.
Watching = Callable[[str, int, int | None], None]


class Outcome(StrEnum):
    """What a sync does to a skill."""

    ADDED = "added"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    REMOVED = "removed"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class SyncedSource:
    """A source: the commit that its ref names now, and the one that it was pinned to."""

    key: str
    ref: str
    commit: str
    before: str | None


@dataclass(frozen=True, slots=True)
class Synced:
    """What a sync did, or with a dry run would do.

    Attributes:
        skills: By name, in the order of the manifest; those that were removed last.
        warnings: What was left out of upstreams, by ``source: path``.
        problems: What the check of the tree says afterwards; empty for a dry run.
    """

    sources: tuple[SyncedSource, ...]
    skills: Mapping[str, Outcome]
    warnings: tuple[Diagnostic, ...]
    problems: tuple[Diagnostic, ...] = ()
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """How to sync.

    Attributes:
        stay: Keep every pinned commit, and make the tree what it says.
        prune: Remove vendored directories that the manifest does not list and nobody edited.
        dry_run: Write nothing.
    """

    stay: bool = False
    prune: bool = False
    dry_run: bool = False


@dataclass(slots=True)
class _Sync:
    """One run, from what the tree is to what it is to become."""

    tree: Path
    manifest: Manifest
    before: Manifest
    lock: dict[str, dict[str, Fingerprint]]
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    files: dict[str, Sequence[SkillFile]] = field(default_factory=dict)
    warnings: list[Diagnostic] = field(default_factory=list)
    refused: list[Diagnostic] = field(default_factory=list)


def sync(
    tree: Path,
    hosts: AllowedHosts,
    host_of: Callable[[Source], CodeHost],
    options: SyncOptions,
    watching: Watching,
) -> Synced:
    """Make the tree what its manifest says, at the commits that its refs name now.

    Raises:
        VendoringRefused: Something is wrong with the manifest, an upstream or the tree; everything
            is as it was.
        OSError: The tree cannot be read.
        SyncInterrupted: It was ended, and says whether everything was written before.
    """
    written = False

    def now_written() -> None:
        nonlocal written
        written = True

    try:
        with locked(tree, untouched=options.dry_run) as folder:
            before = load(tree / MANIFEST, hosts)
            sources = _resolved(before, host_of, stay=options.stay)
            text = pinned(before, {each.key: each.commit for each in sources}, hosts)
            run = _Sync(tree, parse(text, hosts), before, read_lock(tree / LOCK) or {})
            change, removed = _planned(run, host_of, watching, prune=options.prune)
            if change and not options.dry_run:
                apply(tree, folder, change, now_written)
        problems = () if options.dry_run else tuple(check_tree(tree, run.manifest))
    except KeyboardInterrupt as ended:
        raise SyncInterrupted(written=written) from ended
    outcomes = {**run.outcomes, **dict.fromkeys(removed, Outcome.REMOVED)}
    return Synced(sources, outcomes, tuple(run.warnings), problems, options.dry_run)


def _resolved(
    manifest: Manifest, host_of: Callable[[Source], CodeHost], *, stay: bool
) -> tuple[SyncedSource, ...]:
    """Ask for the commit of every source: one request each, or none for those that stay."""
    found: list[SyncedSource] = []
    refused: list[Diagnostic] = []
    for source in manifest.sources.values():
        try:
            if stay and source.commit is not None:
                commit = source.commit
            else:
                commit = host_of(source).resolve(source.repository, source.ref)
        except VendoringRefused as failure:
            refused.extend(_at(source, failure))
            if failure.code == "rate_limited":
                break
            continue
        found.append(SyncedSource(source.key, source.ref, commit, source.commit))
    _refuse(refused)
    return tuple(found)


def _planned(
    run: _Sync, host_of: Callable[[Source], CodeHost], watching: Watching, *, prune: bool
) -> tuple[Change, tuple[str, ...]]:
    """Return what has to be written, and the names of what goes."""
    _render(run, host_of, watching)
    removed = _leftovers(run) if prune else ()
    _refuse(run.refused)
    return _change(run, removed), removed


def _refuse(found: Sequence[Diagnostic]) -> None:
    if found:
        message = f"{found[0].message} Nothing was written."
        raise VendoringRefused(message, diagnostics=found)


def _at(source: Source, failure: VendoringRefused) -> list[Diagnostic]:
    """Return why a source cannot be used, at its place in the manifest."""
    if failure.diagnostics:
        return _of(source, failure.diagnostics)
    message = f"The source {source.key}: {failure.message}"
    return [problem(failure.code, message, file=MANIFEST, position=source.position)]


def _render(run: _Sync, host_of: Callable[[Source], CodeHost], watching: Watching) -> None:
    """Decide about every skill; sources of which something is not as it should be are fetched."""
    present = frozenset(directories(run.tree))
    wanted: dict[str, list[Entry]] = {}
    for entry in run.manifest.entries:
        if entry.source is None:
            run.outcomes[entry.name] = Outcome.LOCAL
            continue
        run.outcomes[entry.name] = Outcome.UNCHANGED
        if not _is_clean(run, entry, present):
            wanted.setdefault(entry.source, []).append(entry)
    for key, entries in wanted.items():
        source = run.manifest.sources[key]
        # Without a name, so that also a killed sync leaves none of it.
        with tempfile.TemporaryFile() as file:
            commit = source.commit or ""

            def watch(so_far: int, total: int | None, key: str = key) -> None:
                watching(key, so_far, total)

            host_of(source).archive(source.repository, commit, file, watch)
            with RepositoryArchive(file, commit) as archive:
                run.warnings.extend(_of(source, archive.warnings()))
                for entry in entries:
                    _take(run, entry, source, archive, present)


def _is_clean(run: _Sync, entry: Entry, present: frozenset[str]) -> bool:
    """Tell whether a skill is as the pinned manifest says; then nothing has to be fetched."""
    if entry.name not in present or entry.name not in run.lock:
        return False
    return not check_skill(read(run.tree, entry.name), entry, run.manifest, run.lock)


def _take(
    run: _Sync,
    entry: Entry,
    source: Source,
    archive: RepositoryArchive,
    present: frozenset[str],
) -> None:
    """Render one skill from its upstream; what is wrong with it is noted."""
    there = read(run.tree, entry.name) if entry.name in present else None
    if os.path.lexists(run.tree / entry.name) and (there is None or not _is_ours(there, run)):
        message = f"{entry.name} is there and was not made by a sync, which would replace it."
        hint = "Remove it, or make the entry `local: true`."
        run.refused.append(problem("not_vendored", message, file=entry.name, hint=hint))
        return
    try:
        upstream = archive.skill(entry.path)
        files = rendered(entry, source, upstream.files)
    except VendoringRefused as refused:
        if refused.code == "archive_invalid":
            raise
        run.refused.extend(_of(source, refused.diagnostics))
        return
    run.warnings.extend(_of(source, upstream.warnings))
    run.lock[entry.name] = dict(digests(files).files)
    if faults := check_skill(TreeSkill.of(entry.name, files), entry, run.manifest, run.lock):
        message = f"It could not be kept: {faults[0].message}"
        run.refused.extend(_of(source, [problem("skill_unusable", message, file=entry.skill_md)]))
        return
    run.warnings.extend(_of(source, _unpublishable(entry, files)))
    if there is not None and there.plain and _as_written(there.files) == _as_written(files):
        return
    if there is not None and there.repository:
        run.refused.append(_has_repository(entry.name))
    run.outcomes[entry.name] = Outcome.ADDED if there is None else Outcome.UPDATED
    run.files[entry.name] = files


def _is_ours(skill: TreeSkill, run: _Sync) -> bool:
    """Tell whether a sync made a directory, so that nobody's only copy is replaced.

    Whoever takes the upstream block out of a SKILL.md has made the skill their own.
    """
    if skill.meta is not None:
        return skill.meta.upstream is not None
    return skill.name in run.lock


def _has_repository(name: str) -> Diagnostic:
    message = f"{name}/ holds a git repository of its own, which a sync would remove."
    return problem("not_vendored", message, file=name, hint="Move it elsewhere.")


def _unpublishable(entry: Entry, files: Sequence[SkillFile]) -> Iterator[Diagnostic]:
    """Say what a publish of the skill would refuse: nobody should learn that only then."""
    report = check_contents(ArchiveContents(tuple(files)), name=entry.name)
    for each in report.diagnostics:
        if each.severity is Severity.ERROR:
            path = posixpath.join(entry.path, each.file or SKILL_MD)
            yield caution("not_publishable", f"{each.code}: {each.message}", file=path)


def _leftovers(run: _Sync) -> tuple[str, ...]:
    """Return the vendored directories that no entry lists and nobody edited."""
    found: list[str] = []
    for name in directories(run.tree):
        if run.manifest.entry(name) is not None:
            continue
        skill = read(run.tree, name)
        if not _is_ours(skill, run):
            continue
        if skill.repository:
            run.refused.append(_has_repository(name))
        elif not _is_unedited(skill, run):
            message = f"{name}/ was edited, so it is not removed."
            hint = "Remove it yourself, or add it to the manifest."
            run.refused.append(problem("skill_unlisted", message, file=name, hint=hint))
        found.append(name)
    return tuple(found)


def _is_unedited(skill: TreeSkill, run: _Sync) -> bool:
    now = dict(digests(skill.files).files)
    upstream = (skill.meta.upstream if skill.meta is not None else None) or {}
    same = run.lock.get(skill.name, now) == now
    return skill.plain and same and upstream.get("filesSha256") == digest_of_files(now)


def _change(run: _Sync, removed: tuple[str, ...]) -> Change:
    """Return what has to be written."""
    vendored = {each.name for each in run.manifest.entries if each.source is not None}
    unlisted = {name for name in directories(run.tree) if run.manifest.entry(name) is None}
    kept = vendored | (unlisted - set(removed))
    lock = write_lock({name: files for name, files in run.lock.items() if name in kept})
    texts: dict[str, bytes] = {}
    if run.manifest.text != run.before.text:
        texts[MANIFEST] = run.manifest.text.encode()
    if (vendored or run.lock) and lock != _bytes_of(run.tree / LOCK):
        texts[LOCK] = lock
    return Change(run.files, removed, texts, read={MANIFEST: run.before.text.encode()})


def _bytes_of(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _as_written(files: Iterable[SkillFile]) -> set[tuple[str, bytes, bool]]:
    return {(file.path, file.data, file.executable) for file in files}


def _of(source: Source, found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Say which source the paths of diagnostics are in."""
    return [replace(each, file=f"{source.key}: {each.file or '/'}") for each in found]
