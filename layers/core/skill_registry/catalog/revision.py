"""A revision: one immutable object that holds a whole skill, and what its metadata says of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from skill_registry.spec.archive import content_digest, read_revision, write_archive
from skill_registry.spec.model import SKILL_MD
from skill_registry.spec.names import is_skill_name
from skill_registry.spec.text import counted
from skill_registry.store.keys import SkillId

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from skill_registry.spec.model import SkillFile
    from skill_registry.store.base import ObjectInfo, StoredObject


class Kind(StrEnum):
    """What a revision holds: a skill, the mark of a deletion, or a stub whose bytes are gone."""

    CONTENT = "content"
    TOMBSTONE = "tombstone"
    PRUNED = "pruned"


@dataclass(frozen=True, slots=True)
class Source:
    """What a copy was made of.

    Attributes:
        version: The revision's number; of a vendored skill what its frontmatter said, or None.
    """

    skill: SkillId
    version: int | str | None

    def __str__(self) -> str:
        """Return ``scope/name@version``, a version that is no number in quotes."""
        if self.version is None:
            return str(self.skill)
        shown = f'"{self.version}"' if isinstance(self.version, str) else self.version
        return f"{self.skill}@{shown}"

    @classmethod
    def parse(cls, text: str) -> Source | None:
        """Read what ``str`` wrote; None for anything else."""
        place, at, version = text.partition("@")
        scope, _, name = place.partition("/")
        if not scope or not name:
            return None
        skill = SkillId(scope, name)
        if not at:
            return cls(skill, None)
        if version.isascii() and version.isdecimal():
            return cls(skill, int(version))
        quoted = len(version) > 1 and version[0] == version[-1] == '"'
        return cls(skill, version[1:-1]) if quoted else None


@dataclass(frozen=True, slots=True)
class RevisionInfo:
    """The user metadata of a revision.

    Attributes:
        upload_id: ``<principal-hash>/<id>`` of the publish that made it; one revision has it.
        sha256: Hex digest of the stored archive.
        digest: Digest of paths, modes and contents, whatever compressed them.
        created: RFC 3339, UTC.
        restores: The revision that a rollback published again.
        copied_from: What a copy was made of.
        executables: Whether this or an earlier revision had an executable file, so that the plain
            tree's modes need a look.
        unchanged: The files equal those of the revision before.
        size: Bytes of the stored archive.
    """

    number: int
    kind: Kind
    upload_id: str
    sha256: str
    digest: str
    author: str
    created: str
    message: str | None = None
    restores: int | None = None
    copied_from: Source | None = None
    executables: bool = False
    unchanged: bool = False
    size: int = 0

    def to_metadata(self) -> dict[str, str]:
        """Return the user metadata to store."""
        values = {
            "kind": str(self.kind),
            "upload-id": self.upload_id,
            "sha256": self.sha256,
            "digest": self.digest,
            "author": self.author,
            "created": self.created,
            "message": self.message,
            "restores": None if self.restores is None else str(self.restores),
            "copied-from": None if self.copied_from is None else str(self.copied_from),
            "executables": "1" if self.executables else None,
            "unchanged": "1" if self.unchanged else None,
        }
        return {key: value for key, value in values.items() if value is not None}

    @classmethod
    def from_object(cls, number: int, info: ObjectInfo) -> RevisionInfo:
        """Read a stored revision's metadata; what is missing reads as empty."""
        known = info.metadata
        restores = known.get("restores", "")
        return cls(
            number=number,
            kind=_kind(known.get("kind")),
            upload_id=known.get("upload-id", ""),
            sha256=known.get("sha256", ""),
            digest=known.get("digest", ""),
            author=known.get("author", ""),
            created=known.get("created", ""),
            message=known.get("message"),
            restores=int(restores) if restores.isdecimal() else None,
            copied_from=Source.parse(known.get("copied-from", "")),
            executables="executables" in known,
            unchanged="unchanged" in known,
            size=info.size,
        )


def _kind(text: str | None) -> Kind:
    return Kind(text) if text in set(Kind) else Kind.CONTENT


@dataclass(frozen=True, slots=True)
class Revision:
    """A revision with its files, by path."""

    info: RevisionInfo
    files: Mapping[str, SkillFile]

    @property
    def skill_md(self) -> bytes | None:
        """The bytes of SKILL.md, None where the revision has none."""
        file = self.files.get(SKILL_MD)
        return file.data if file else None


@dataclass(frozen=True, slots=True)
class ReadRevision:
    """An object that lies where a revision should.

    Attributes:
        files: None of one that is no content, or that is damaged.
        fault: Why it is damaged, to follow "Version 6:"; None where it is what was published.
    """

    info: RevisionInfo
    files: tuple[SkillFile, ...] = ()
    fault: str | None = None


# Every publish writes them, so that an object without one of them is somebody else's.
_PROOFS = ("upload-id", "sha256", "digest")


def read_stored(number: int, stored: StoredObject) -> ReadRevision:
    """Read a stored revision, and hold its bytes against what was written beside them.

    The only place that says what a damaged revision is. Never raises for bad input.
    """
    info = RevisionInfo.from_object(number, stored.info)
    said = stored.info.metadata
    if (kind := said.get("kind")) not in set(Kind):
        what = f"the kind `{kind}`" if kind else "no kind"
        return ReadRevision(info, fault=f"its metadata has {what}, so it is no revision of ours")
    try:
        files = read_revision(stored.body)
    except ValueError:
        size = counted(len(stored.body), "byte")
        return ReadRevision(info, fault=f"its {size} are no readable zip archive")
    if info.kind is not Kind.CONTENT and files:
        is_a = "it was pruned" if info.kind is Kind.PRUNED else "it is the mark of a deletion"
        return ReadRevision(info, fault=f"{is_a} and holds {counted(len(files), 'file')}")
    if info.kind is Kind.PRUNED:
        return ReadRevision(info)
    if (missing := next((name for name in _PROOFS if not said.get(name)), None)) is not None:
        fault = f"its metadata has no {missing}, so it is no revision of ours"
        return ReadRevision(info, fault=fault)
    actual = {"sha256": hashlib.sha256(stored.body).hexdigest(), "digest": content_digest(files)}
    for name, value in actual.items():
        if said[name] != value:
            return ReadRevision(info, fault=f"its {name} is {value}, should be {said[name]}")
    return ReadRevision(info, files)


def damaged_message(skill: SkillId, number: int, what: str = "is damaged") -> str:
    """Say that nobody can have a version, and what brings the skill back."""
    remedy = " Publish the skill again." if is_skill_name(skill.name) else ""
    return f"Version {number} of `{skill.name}` {what}.{remedy}"


@dataclass(frozen=True, slots=True)
class Draft:
    """A revision to be: everything but its number."""

    kind: Kind
    upload_id: str
    author: str
    archive: bytes
    digest: str
    files: tuple[SkillFile, ...] = ()
    message: str | None = None
    restores: int | None = None
    copied_from: Source | None = None
    sha256: str = field(default="")

    def info(self, number: int, created: str, before: RevisionInfo | None) -> RevisionInfo:
        """Return the metadata that this draft has as revision ``number`` after ``before``."""
        has_executables = any(file.executable for file in self.files)
        return RevisionInfo(
            number=number,
            kind=self.kind,
            upload_id=self.upload_id,
            sha256=self.sha256,
            digest=self.digest,
            author=self.author,
            created=created,
            message=self.message,
            restores=self.restores,
            copied_from=self.copied_from,
            executables=has_executables or (before is not None and before.executables),
            unchanged=before is not None
            and before.kind is self.kind
            and before.digest == self.digest,
            size=len(self.archive),
        )


def draft(
    files: Sequence[SkillFile],
    *,
    upload_id: str,
    author: str,
    kind: Kind = Kind.CONTENT,
    message: str | None = None,
    restores: int | None = None,
    copied_from: Source | None = None,
) -> Draft:
    """Build a draft with its canonical archive. A tombstone has no files."""
    archive = write_archive(files)
    return Draft(
        kind=kind,
        upload_id=upload_id,
        author=author,
        archive=archive,
        digest=content_digest(files),
        files=tuple(files),
        message=message,
        restores=restores,
        copied_from=copied_from,
        sha256=hashlib.sha256(archive).hexdigest(),
    )
