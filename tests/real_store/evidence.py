"""What a bucket must hold once every publisher has its answer, told as a list of violations."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from house import ADMIN, skill_md

from skill_registry.catalog.revision import RevisionInfo
from skill_registry.catalog.snapshot import decode
from skill_registry.spec.archive import read_revision
from skill_registry.spec.files import parse_sidecar
from skill_registry.spec.layout import ArchiveContents
from skill_registry.spec.model import SkillFile
from skill_registry.store import keys
from skill_registry.store.base import StoredObject, list_all

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from skill_registry.store.base import SkillStore
    from skill_registry.store.keys import SkillId

ADMINISTRATOR = ADMIN
FILES = 2
_SAYS = re.compile(rb"upload ([0-9a-z-]+), one of (\d+) files\.")


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A publish that was answered.

    Attributes:
        identity: What its files say that they are.
        upload: Its upload id, as the publisher knows it.
    """

    skill: SkillId
    identity: str
    upload: str
    number: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What a reader was told: these bytes are this version."""

    skill: SkillId
    version: int
    identity: str


def contents_of(name: str, identity: str, files: int = FILES) -> ArchiveContents:
    """Return a skill whose every file says which upload it came with, and with how many others."""
    says = f"Of upload {identity}, one of {files} files."
    made = [SkillFile("SKILL.md", skill_md(name, description=says))]
    made += [SkillFile(f"references/{n}.md", f"{says} {n}\n".encode()) for n in range(1, files)]
    return ArchiveContents(tuple(made))


def identity_in(text: str) -> str | None:
    """Return the upload that a description comes from."""
    found = _SAYS.search(text.encode())
    return found[1].decode() if found else None


def identity_of(files: Collection[bytes]) -> str | None:
    """Return the upload that these files are, all of them and no others; None where they are not
    those of one upload.
    """
    said = {found.groups() if (found := _SAYS.search(data)) else None for data in files}
    (first, *others) = said or {None}
    if first is None or others or int(first[1]) != len(files):
        return None
    return first[0].decode()


def log_violations(
    store: SkillStore,
    skill: SkillId,
    acknowledged: Sequence[Acknowledged],
    seen: Iterable[Seen] = (),
) -> list[str]:
    """Compare a skill's log with what its publishers and its readers were told.

    Every upload has to be acknowledged by now: a revision that nobody was told of is one too many.
    """
    return list(_log(store, skill, acknowledged, seen))


def _log(
    store: SkillStore, skill: SkillId, acknowledged: Sequence[Acknowledged], seen: Iterable[Seen]
) -> Iterator[str]:
    revisions = dict(_revisions(store, skill))
    numbers = list(range(1, len(acknowledged) + 1))
    if sorted(revisions) != numbers:
        yield f"{skill}: numbers {sorted(revisions)} of {len(acknowledged)} uploads"
    if sorted(ack.number for ack in acknowledged) != numbers:
        yield f"{skill}: told numbers {sorted(ack.number for ack in acknowledged)}"
    if len({upload for upload, _ in revisions.values()}) != len(revisions):
        yield f"{skill}: an upload id has two revisions"
    for ack in acknowledged:
        if revisions.get(ack.number) != (ack.upload, ack.identity):
            yield f"{skill} {ack.number}: holds {revisions.get(ack.number)}, told was {ack}"
    for one in seen:
        if one.skill == skill and (one.version, one.identity) not in {
            (number, identity) for number, (_, identity) in revisions.items()
        }:
            yield f"{skill}: a reader got {one}, the log holds {revisions.get(one.version)}"
    sidecar = _body(store, keys.sidecar(skill))
    if sidecar is None or parse_sidecar(sidecar) != max(revisions, default=None):
        yield f"{skill}: .version says {sidecar!r}, the log ends at {max(revisions, default=None)}"


def _revisions(store: SkillStore, skill: SkillId) -> Iterator[tuple[int, tuple[str, str | None]]]:
    for listed in list_all(store, keys.revisions(skill)):
        number = keys.revision_number(listed.key)
        found = store.get(listed.key)
        assert number is not None and isinstance(found, StoredObject)
        info = RevisionInfo.from_object(number, found.info)
        upload = info.upload_id.rpartition("/")[2]
        yield number, (upload, identity_of([f.data for f in read_revision(found.body)]))


def derived_violations(store: SkillStore, scope: str, names: Iterable[str]) -> list[str]:
    """Compare plain trees and catalog with the heads, which they must equal by now."""
    return list(_derived(store, scope, names))


def _derived(store: SkillStore, scope: str, names: Iterable[str]) -> Iterator[str]:
    catalog = decode(scope, _body(store, keys.catalog(scope)) or b"")
    if catalog is None:
        yield f"{scope}: no catalog"
    for name in names:
        skill = keys.SkillId(scope, name)
        head = max(keys.revision_number(o.key) or 0 for o in list_all(store, keys.revisions(skill)))
        archive = _body(store, keys.revision(skill, head)) or b""
        files = {file.path: file.data for file in read_revision(archive)}
        if (tree := _tree(store, skill)) != files:
            differ = sorted(p for p in {*files, *tree} if files.get(p) != tree.get(p))
            yield f"{skill}: the tree differs from revision {head} in {differ}"
        entry = catalog.entries.get(name) if catalog else None
        if entry is None or (entry.revision, entry.version) != (head, head):
            yield f"{skill}: the catalog says {entry and entry.revision}, the head is {head}"
        elif identity_in(entry.description) != identity_of(files.values()):
            yield f"{skill}: the catalog describes another upload than revision {head}"


def _tree(store: SkillStore, skill: SkillId) -> Mapping[str, bytes | None]:
    prefix = keys.tree(skill)
    found = {o.key.removeprefix(prefix): _body(store, o.key) for o in list_all(store, prefix)}
    found.pop(keys.SIDECAR, None)
    return found


def _body(store: SkillStore, key: str) -> bytes | None:
    found = store.get(key)
    return found.body if isinstance(found, StoredObject) else None
