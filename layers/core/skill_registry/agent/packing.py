"""From a directory or a zip file on this machine to the archive that a publish sends."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skill_registry.agent.skill_files import gather, is_skill_md, too_large
from skill_registry.errors import SkillInvalid
from skill_registry.spec.archive import write_archive
from skill_registry.spec.diagnostics import Place, error
from skill_registry.spec.frontmatter import read_document
from skill_registry.spec.model import MOST_BYTES, SKILL_MD, SkillFile
from skill_registry.spec.names import is_skill_name, suggest_name

if TYPE_CHECKING:
    from pathlib import Path

    from skill_registry.spec.model import Diagnostic


@dataclass(frozen=True, slots=True)
class Packed:
    """A skill ready to be sent.

    Attributes:
        name: The skill that it is for: what its frontmatter says, else its directory or file.
        files: Paths inside the skill, in order; empty for an archive that was not made here.
        diagnostics: What was left out and is worth knowing.
    """

    name: str
    archive: bytes = field(repr=False)
    files: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def pack(path: Path) -> Packed:
    """Pack a directory, or take a zip file as it is.

    Raises:
        SkillInvalid: It cannot be a skill; every problem is named.
        OSError: It cannot be read.
    """
    return pack_directory(path) if path.is_dir() else take_archive(path)


@dataclass(frozen=True, slots=True)
class Collected:
    """The files of a directory that a publish sends; otherwise as ``Packed``."""

    name: str
    files: tuple[SkillFile, ...] = field(repr=False)
    diagnostics: tuple[Diagnostic, ...] = ()


def pack_directory(root: Path) -> Packed:
    """Pack what ``collect`` finds in a directory. Raises as ``pack``."""
    found = collect(root)
    return Packed(
        name=found.name,
        archive=write_archive(found.files),
        files=tuple(file.path for file in found.files),
        diagnostics=found.diagnostics,
    )


def collect(root: Path) -> Collected:
    """Read the files of a directory as ``gather`` does. Raises as ``pack``."""
    # Asked first, so that a wrong directory is not read through and through.
    if not any(is_skill_md(entry.name) for entry in root.iterdir()):
        raise SkillInvalid(f"{root} holds no skill.", [_no_skill_md(root)])
    found = gather(root)
    errors = [*found.errors, *((found.over,) if found.over is not None else ())]
    entry = next((file for file in found.files if is_skill_md(file.path)), None)
    if entry is None and not errors:
        errors.append(_skill_md_is_no_file(root))
    if entry is None or errors:
        raise SkillInvalid(f"{root} cannot be packed as it is.", errors)
    name = target_name(entry.data, root.resolve().name)
    return Collected(name, tuple(found.files), tuple(found.warnings))


def take_archive(path: Path) -> Packed:
    """Take a zip file as it is; the registry judges what is in it.

    Raises:
        SkillInvalid: The file is no zip archive, or larger than any registry takes.
    """
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise SkillInvalid(f"{path} cannot be sent.", [too_large(size)])
    try:
        with zipfile.ZipFile(path) as archive:
            skill_md = _skill_md_in(archive)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, EOFError):
        hint = "Give the skill's directory, or that directory as a zip file."
        found = error("archive_invalid", f"{path.name} is not a readable zip archive.", hint=hint)
        raise SkillInvalid(f"{path} is neither a directory nor a zip archive.", [found]) from None
    return Packed(target_name(skill_md, path.stem), path.read_bytes())


def pack_skill_md(path: Path) -> Packed:
    """Pack a SKILL.md alone, as if its directory held nothing else.

    Raises:
        SkillInvalid: It is larger than any registry takes.
    """
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise SkillInvalid(f"{path} cannot be sent.", [too_large(size)])
    data = path.read_bytes()
    return Packed(
        name=target_name(data, path.resolve().parent.name),
        archive=write_archive([SkillFile(path.name, data)]),
        files=(path.name,),
    )


def target_name(skill_md: bytes, fallback: str) -> str:
    """Return the name that a publish is for.

    The frontmatter's, as far as it is a legal name; else the fallback, made legal where that is
    possible, so that the registry gets to say what is wrong with the frontmatter.
    """
    mapping = read_document(skill_md, tolerant=True).mapping or {}
    candidates = [text for text in (mapping.get("name"), fallback) if isinstance(text, str)]
    legal = [text for text in candidates if is_skill_name(text)]
    proposed = [name for text in candidates if (name := suggest_name(text)) is not None]
    return (legal or proposed or ["skill"])[0]


def _skill_md_in(archive: zipfile.ZipFile) -> bytes:
    """Return the SKILL.md at the root, or in a folder there; empty where there is none."""
    found = [
        info
        for info in archive.infolist()
        if is_skill_md(info.filename.rsplit("/", 1)[-1])
        and info.filename.count("/") <= 1
        and info.file_size <= MOST_BYTES
    ]
    if not found:
        return b""
    with archive.open(min(found, key=lambda info: info.filename.count("/"))) as stream:
        return stream.read(MOST_BYTES)


def _no_skill_md(root: Path) -> Diagnostic:
    inner = sorted(entry.parent for entry in root.glob(f"*/{SKILL_MD}"))
    message = f"There is no {SKILL_MD} in {root}."
    hint = f"Add a {SKILL_MD}."
    if inner:
        hint = f"Push a skill that is in it: {', '.join(map(str, inner[:5]))}."
    return error("skill_md_missing", message, place=Place(SKILL_MD), hint=hint)


def _skill_md_is_no_file(root: Path) -> Diagnostic:
    message = f"{SKILL_MD} in {root} is a link or a directory, not a file."
    hint = "Put the file itself there; links are not followed."
    return error("skill_md_missing", message, place=Place(SKILL_MD), hint=hint)
