"""The check of a tree against its manifest, without a network: one diagnostic a problem.

Source: seed 2, item 84, and what item 85 says that it missed: edited frontmatter, files that were
added, changed or lost, directories that no entry has any more, and links.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skill_registry.spec.model import SKILL_MD
from skill_registry.spec.text import shown
from skill_registry_cli.vendoring.digests import digest_of_files, digests
from skill_registry_cli.vendoring.local import directories, leaves, read
from skill_registry_cli.vendoring.lock import LOCK, read_lock
from skill_registry_cli.vendoring.manifest import MANIFEST, load
from skill_registry_cli.vendoring.problems import problem
from skill_registry_cli.vendoring.tree import unfinished

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from skill_registry.spec.model import Diagnostic, SkillMeta
    from skill_registry_cli.vendoring.digests import Fingerprint
    from skill_registry_cli.vendoring.local import TreeSkill
    from skill_registry_cli.vendoring.lock import Lock
    from skill_registry_cli.vendoring.manifest import Entry, Manifest
    from skill_registry_cli.vendoring.repositories import AllowedHosts

_SYNC = "Run `skillctl vendor sync`, or take the change back."


def check(tree: Path, hosts: AllowedHosts) -> list[Diagnostic]:
    """Return every problem of a tree; none where it is what its manifest says.

    Raises:
        VendoringRefused: The manifest cannot be used.
        OSError: A directory cannot be read.
    """
    return check_tree(tree, load(tree / MANIFEST, hosts))


def check_tree(tree: Path, manifest: Manifest) -> list[Diagnostic]:
    """Return every problem of a tree against a manifest that was read."""
    lock = read_lock(tree / LOCK)
    present = directories(tree)
    found = [*_interrupted(tree), *_lock_itself(lock, manifest, present)]
    for entry in manifest.entries:
        if entry.name in present:
            found.extend(check_skill(read(tree, entry.name), entry, manifest, lock))
            continue
        message = f"The manifest lists {entry.name}, and {entry.name}/ is not there."
        hint = _SYNC if entry.source is not None else None
        found.append(
            problem("skill_missing", message, file=MANIFEST, position=entry.position, hint=hint)
        )
    for name in present:
        if manifest.entry(name) is None:
            found.append(_unlisted(read(tree, name), manifest))
    return found


def check_skill(
    skill: TreeSkill, entry: Entry, manifest: Manifest, lock: Lock | None
) -> list[Diagnostic]:
    """Return every problem of one skill that the manifest lists."""
    place, meta = f"{skill.name}/{SKILL_MD}", skill.meta
    found = [*_no_files(skill)]
    if meta is None:
        message = f"{place} cannot be read: {skill.unreadable}"
        return [*found, problem("skill_unreadable", message, file=place)]
    if skill.stated != skill.name:
        message = f"{place} names the skill {shown(skill.stated or '')}."
        found.append(problem("name_differs", message, file=place, field="name"))
    if meta.agents != entry.agents:
        has = f"[{', '.join(meta.agents)}]" if meta.agents is not None else "not given"
        message = f"The agents are {has}; the manifest says [{', '.join(entry.agents)}]."
        found.append(problem("agents_differ", message, file=place, field="agents"))
    if entry.source is None:
        if meta.upstream is not None:
            message = f"{skill.name} is local in the manifest and has an upstream block."
            found.append(problem("upstream_unexpected", message, file=place, field="upstream"))
    elif meta.upstream is None:
        message = f"{skill.name} has no whole upstream block, so nothing says where it is from."
        found.append(problem("upstream_missing", message, file=place, hint=_SYNC))
    else:
        found.extend(_origin(skill.name, meta, meta.upstream, entry, manifest))
        found.extend(_content(skill, meta.upstream, lock))
    return found


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
            yield problem("lock_invalid", message, file=LOCK, hint=_SYNC)
        return
    # Of a directory that no entry has any more, its own problem tells.
    for name in sorted(lock.keys() - vendored - set(present)):
        message = f"{LOCK} holds {name}, which is no vendored skill of the manifest."
        yield problem("lock_invalid", message, file=LOCK, hint=_SYNC)


def _no_files(skill: TreeSkill) -> Iterator[Diagnostic]:
    """Report links and devices."""
    for path, target in skill.links.items():
        where = "leads out of the skill" if leaves(skill, path) else "stays in the skill"
        message = f"There is a link to {shown(target)}, which {where}; it is not followed."
        yield problem("link_found", message, file=f"{skill.name}/{path}".rstrip("/"))
    for path in skill.odd:
        message = "It is no file, or one too many."
        yield problem("file_extra", message, file=f"{skill.name}/{path}")


def _origin(
    name: str, meta: SkillMeta, upstream: Mapping[str, str], entry: Entry, manifest: Manifest
) -> Iterator[Diagnostic]:
    """Compare where a skill says that it is from with where the manifest says."""
    place, source = f"{name}/{SKILL_MD}", manifest.sources[entry.source or ""]
    same = True
    for key, value in (("repo", source.repository.url), ("path", entry.skill_md)):
        if upstream[key] != value:
            same = False
            message = f"The upstream's {key} is {upstream[key]}; the manifest says {value}."
            yield problem("upstream_differs", message, file=place, field=f"upstream.{key}")
    page = source.repository.page(upstream["commit"], entry.skill_md)
    if same and meta.source != page:
        message = f"The source is {meta.source}; of this upstream it is {page}."
        yield problem("upstream_differs", message, file=place, field="source")
    if source.commit is None:
        message = f"The source {source.key} is not pinned."
        yield problem("source_unpinned", message, file=MANIFEST, hint=_SYNC)
    elif upstream["commit"] != source.commit:
        message = f"It is of {upstream['commit'][:12]}; the manifest pins {source.commit[:12]}."
        yield problem("commit_differs", message, file=place, field="upstream.commit", hint=_SYNC)


def _content(skill: TreeSkill, upstream: Mapping[str, str], lock: Lock | None) -> list[Diagnostic]:
    """Compare the files with the digests that a sync wrote."""
    place, now = f"{skill.name}/{SKILL_MD}", digests(skill.files)
    stated = upstream.get("filesSha256")
    found: list[Diagnostic] = []
    if now.body != upstream["bodySha256"]:
        was = upstream["bodySha256"][:12]
        message = f"The body has the digest {now.body[:12]}; its upstream's has {was}."
        found.append(problem("body_edited", message, file=place, hint=_SYNC))
    own = lock.get(skill.name) if lock is not None else None
    if own is not None:
        found.extend(_files(skill.name, now.files, own, body_edited=bool(found)))
        if not found and digest_of_files(own) != stated:
            message = f"{LOCK} and {place} do not have the digest of the same files."
            found.append(problem("lock_invalid", message, file=LOCK, hint=_SYNC))
        return found
    if lock is not None:
        message = f"{LOCK} does not hold {skill.name}."
        found.append(problem("lock_invalid", message, file=LOCK, hint=_SYNC))
    if digest_of_files(now.files) != stated and not found:
        message = f"The files are not those that the digest in {place} is of."
        found.append(problem("files_differ", message, file=place, hint=_SYNC))
    return found


def _files(
    name: str,
    now: Mapping[str, Fingerprint],
    was: Mapping[str, Fingerprint],
    *,
    body_edited: bool,
) -> Iterator[Diagnostic]:
    for path in sorted(now.keys() | was.keys()):
        file = f"{name}/{path}"
        if path not in now:
            yield problem("file_missing", "Its upstream has this file.", file=file, hint=_SYNC)
        elif path not in was:
            message = "Its upstream has no such file."
            yield problem("file_extra", message, file=file, hint=_SYNC)
        elif now[path] != was[path] and not (path == SKILL_MD and body_edited):
            code = "frontmatter_edited" if path == SKILL_MD else "file_changed"
            yield problem(code, _difference(now[path], was[path], path), file=file, hint=_SYNC)


def _difference(now: Fingerprint, was: Fingerprint, path: str) -> str:
    if now.sha256 == was.sha256:
        return f"The mode is {now.mode}; its upstream's is {was.mode}."
    if path == SKILL_MD:
        return "The frontmatter is not its upstream's."
    return f"The digest is {now.sha256[:12]}; its upstream's is {was.sha256[:12]}."


def _unlisted(skill: TreeSkill, manifest: Manifest) -> Diagnostic:
    place = f"{skill.name}/{SKILL_MD}"
    if skill.stated and skill.stated != skill.name and manifest.entry(skill.stated):
        message = f"{skill.name}/ holds {skill.stated}: its directory was renamed."
        return problem("name_differs", message, file=place, field="name")
    if skill.meta is not None and skill.meta.upstream is not None:
        repo = skill.meta.upstream["repo"]
        message = f"{skill.name}/ is from {repo}, and the manifest does not list it any more."
        hint = "`skillctl vendor sync --prune` removes it where nobody edited it."
        return problem("skill_unlisted", message, file=place, hint=hint)
    message = f"The manifest does not list {skill.name}/."
    hint = "Add it to the manifest: with a source, or with `local: true`."
    return problem("skill_unlisted", message, file=place, hint=hint)
