"""Skills to publish in a simulation, made once: small, and each different from the others."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from house import skill_md

from skill_registry.spec.archive import content_digest, read_archive, read_revision, write_archive
from skill_registry.spec.model import SkillFile
from skill_registry.spec.validation import check_contents

if TYPE_CHECKING:
    from skill_registry.spec.layout import ArchiveContents

EMPTY = content_digest(())


@lru_cache(maxsize=4096)
def stored_files(archive: bytes) -> tuple[SkillFile, ...]:
    """Return the files of a revision; reading one again and again is what checks do."""
    return read_revision(archive)


@dataclass(frozen=True)
class Sample:
    """What a client sends: an archive, and what a publish may make of it.

    Attributes:
        digest: Content digest of a publish, None where it has to be refused.
    """

    archive: bytes
    contents: ArchiveContents
    digest: str | None

    @property
    def files(self) -> dict[str, bytes]:
        """The files by path, as they are stored."""
        return {file.path: file.data for file in self.contents.files}


@cache
def samples(name: str) -> tuple[Sample, ...]:
    """Return valid skills: with more and fewer files, an executable, and a stray ``.version``."""
    head = {text: skill_md(name, f"Does {text} things.") for text in ("one", "two", "three")}
    return (
        _sample(name, {"SKILL.md": head["one"], "references/notes.md": b"one\n"}),
        _sample(name, {"SKILL.md": head["two"]}),
        _sample(name, {"SKILL.md": head["two"], "references/notes.md": b"two\n"}),
        _sample(name, {"SKILL.md": head["one"], "more.md": b"three\n", ".version": b"77\n"}),
        _executable(name, {"SKILL.md": head["three"], "run.sh": b"exit 0\n"}),
        _sample(name, {"SKILL.md": head["three"], "run.sh": b"exit 0\n"}),
    )


@cache
def refused(name: str) -> Sample:
    """Return an archive that breaks a rule."""
    return _sample(name, {"SKILL.md": skill_md("another-name"), "leak.md": b"never validated\n"})


def _zipped(files: dict[str, bytes]) -> bytes:
    """Pack files as other tools do, a stray sidecar included, the same at any time."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(zipfile.ZipInfo(path), data)
    return buffer.getvalue()


def _sample(name: str, files: dict[str, bytes]) -> Sample:
    return _made(name, _zipped(files))


def _executable(name: str, files: dict[str, bytes]) -> Sample:
    """Make a skill whose last file may be run."""
    *others, last = read_archive(_zipped(files)).files
    return _made(name, write_archive([*others, SkillFile(last.path, last.data, True)]))


def _made(name: str, archive: bytes) -> Sample:
    contents = read_archive(archive)
    valid = check_contents(contents, name=name).ok
    return Sample(archive, contents, content_digest(contents.files) if valid else None)
