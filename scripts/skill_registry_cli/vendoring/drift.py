"""The check of one vendored skill: what differs from its upstream and its manifest, and where.

Source: seed 2, item 84, and what item 85 says that it missed: edited frontmatter, files that were
added, changed or lost, and links.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skill_registry.spec.model import SKILL_MD
from skill_registry.spec.text import shown
from skill_registry_cli.vendoring.digests import (
    UPSTREAM,
    digest_of_files,
    digests,
    has_frontmatter_of,
)
from skill_registry_cli.vendoring.local import leaves
from skill_registry_cli.vendoring.lock import LOCK
from skill_registry_cli.vendoring.manifest import MANIFEST
from skill_registry_cli.vendoring.problems import problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from skill_registry.spec.model import Diagnostic, SkillMeta
    from skill_registry_cli.vendoring.digests import Fingerprint
    from skill_registry_cli.vendoring.local import TreeSkill
    from skill_registry_cli.vendoring.lock import Lock
    from skill_registry_cli.vendoring.manifest import Entry, Manifest

SYNC = "Run `skillctl vendor sync`, or take the change back."


def check_skill(
    skill: TreeSkill, entry: Entry, manifest: Manifest, lock: Lock | None
) -> list[Diagnostic]:
    """Return every problem of one skill that the manifest lists."""
    meta = skill.meta
    found = [*_no_files(skill)]
    if meta is None:
        if SKILL_MD not in skill.unread:
            message = f"{SKILL_MD} cannot be read: {skill.unreadable}"
            found.append(_problem(skill, "skill_unreadable", message))
        return found
    if skill.stated != skill.name:
        message = f"{SKILL_MD} names the skill {shown(skill.stated or '')}."
        found.append(_problem(skill, "name_differs", message, "name"))
    if meta.agents != entry.agents:
        has = f"[{', '.join(meta.agents)}]" if meta.agents is not None else "not given"
        message = f"The agents are {has}; the manifest says [{', '.join(entry.agents)}]."
        found.append(_problem(skill, "agents_differ", message, "agents"))
    if entry.source is None:
        if meta.upstream is not None:
            message = f"{skill.name} is local in the manifest and has an upstream block."
            found.append(_problem(skill, "upstream_unexpected", message, "upstream"))
    elif meta.upstream is None:
        message = f"{skill.name} has no whole upstream block, so nothing says where it is from."
        found.append(_problem(skill, "upstream_missing", message, hint=SYNC))
    else:
        found.extend(_origin(skill, meta, meta.upstream, entry, manifest))
        found.extend(_content(skill, meta.upstream, lock))
    return found


def _problem(
    skill: TreeSkill, code: str, message: str, field: str | None = None, hint: str | None = None
) -> Diagnostic:
    """Name a problem of the SKILL.md, at the key that it is about."""
    position = skill.position(*field.split(".")) if field is not None else None
    file = f"{skill.name}/{SKILL_MD}"
    return problem(code, message, file=file, position=position, field=field, hint=hint)


def _no_files(skill: TreeSkill) -> Iterator[Diagnostic]:
    """Report links, devices and what cannot be read."""
    for path, target in skill.links.items():
        where = "leads out of the skill" if leaves(skill, path) else "stays in the skill"
        message = f"There is a link to {shown(target)}, which {where}; it is not followed."
        yield problem("link_found", message, file=f"{skill.name}/{path}".rstrip("/"))
    for path in skill.odd:
        message = "It is no file, or one too many."
        yield problem("file_extra", message, file=f"{skill.name}/{path}")
    for path, why in skill.unread.items():
        file = f"{skill.name}/{path}".removesuffix("/.")
        yield problem("skill_unreadable", f"It cannot be read: {why}.", file=file)


def _origin(
    skill: TreeSkill, meta: SkillMeta, upstream: Mapping[str, str], entry: Entry, manifest: Manifest
) -> Iterator[Diagnostic]:
    """Compare where a skill says that it is from with where the manifest says."""
    source = manifest.sources[entry.source or ""]
    same = True
    for key, value in (("repo", source.repository.url), ("path", entry.skill_md)):
        if upstream[key] != value:
            same = False
            message = f"The upstream's {key} is {upstream[key]}; the manifest says {value}."
            yield _problem(skill, "upstream_differs", message, f"upstream.{key}")
    page = source.repository.page(upstream["commit"], entry.skill_md)
    if same and meta.source != page:
        message = f"The source is {meta.source}; of this upstream it is {page}."
        yield _problem(skill, "upstream_differs", message, "source")
    for key in _more_keys(skill):
        message = f"The upstream block has the key {shown(key)}, which no sync writes."
        yield _problem(skill, "upstream_differs", message, f"upstream.{key}", SYNC)
    if source.commit is not None and upstream["commit"] != source.commit:
        message = f"It is of {upstream['commit'][:12]}; the manifest pins {source.commit[:12]}."
        yield _problem(skill, "commit_differs", message, "upstream.commit", SYNC)


def _more_keys(skill: TreeSkill) -> list[str]:
    mapping = skill.document.mapping if skill.document is not None else None
    block = (mapping or {}).get("upstream")
    return [str(key) for key in block if key not in UPSTREAM] if isinstance(block, dict) else []


def _content(skill: TreeSkill, upstream: Mapping[str, str], lock: Lock | None) -> list[Diagnostic]:
    """Compare the files with the digests that a sync wrote."""
    now, body = digests(skill.files), upstream["bodySha256"]
    was = lock.get(skill.name) if lock is not None else None
    wrong = [
        _problem(skill, "upstream_differs", f"{key} is not that of the files.", f"upstream.{key}")
        for key, value in (("bodySha256", now.body), ("filesSha256", digest_of_files(now.files)))
        if upstream.get(key) != value
    ]
    if was == now.files:
        return wrong
    if not wrong:
        return [_of_the_lock(skill)] if lock is not None else []
    if _as_stated(skill, upstream, was or {}):
        message = "Only line ends differ from its upstream's; git's autocrlf changes them so."
        hint = f"Write `* -text` into a .gitattributes beside {MANIFEST}. {SYNC}"
        return [problem("line_ends_changed", message, file=skill.name, hint=hint)]
    found: list[Diagnostic] = []
    if now.body != body:
        message = f"The body has the digest {now.body[:12]}; its upstream's has {body[:12]}."
        found.append(_problem(skill, "body_edited", message, hint=SYNC))
    if was is None:
        found += [_of_the_lock(skill)] if lock is not None else []
        if now.body == body:
            message = f"The files are not those that the digest in {SKILL_MD} is of."
            found.append(_problem(skill, "files_differ", message, hint=SYNC))
        return found
    found.extend(_files(skill, now.files, was, body))
    return found or [_of_the_lock(skill)]


def _as_stated(
    skill: TreeSkill, upstream: Mapping[str, str], was: Mapping[str, Fingerprint]
) -> bool:
    """Tell whether the files would be the upstream's if they ended lines as elsewhere."""
    now = digests(skill.files).files
    plain = [
        replace(file, data=file.data.replace(b"\r\n", b"\n"))
        if now[file.path] != was.get(file.path)
        else file
        for file in skill.files
    ]
    return digest_of_files(digests(plain).files) == upstream.get("filesSha256")


def _of_the_lock(skill: TreeSkill) -> Diagnostic:
    message = f"{LOCK} and {skill.name}/{SKILL_MD} do not have the digest of the same files."
    return problem("lock_invalid", message, file=LOCK, hint=SYNC)


def _files(
    skill: TreeSkill, now: Mapping[str, Fingerprint], was: Mapping[str, Fingerprint], body: str
) -> Iterator[Diagnostic]:
    for path in sorted(now.keys() | was.keys()):
        file = f"{skill.name}/{path}"
        if path not in now:
            if path not in skill.unread:
                yield problem("file_missing", "Its upstream has this file.", file=file, hint=SYNC)
        elif path not in was:
            message = "Its upstream has no such file."
            yield problem("file_extra", message, file=file, hint=SYNC)
        elif now[path].mode != was[path].mode and now[path].sha256 == was[path].sha256:
            message = f"The mode is {now[path].mode}; its upstream's is {was[path].mode}."
            yield problem("file_changed", message, file=file, hint=SYNC)
        elif now[path] != was[path] and path != SKILL_MD:
            here, there = now[path].sha256[:12], was[path].sha256[:12]
            message = f"The digest is {here}; its upstream's is {there}."
            yield problem("file_changed", message, file=file, hint=SYNC)
    if SKILL_MD in now.keys() & was.keys() and not _has_frontmatter(skill, was[SKILL_MD], body):
        message = "The frontmatter is not its upstream's."
        yield _problem(skill, "frontmatter_edited", message, hint=SYNC)


def _has_frontmatter(skill: TreeSkill, was: Fingerprint, body: str) -> bool:
    data = next(file.data for file in skill.files if file.path == SKILL_MD)
    return has_frontmatter_of(data, was, body)
