"""From a directory or a zip file on this machine to a skill's files, and to their archive."""

from __future__ import annotations

import stat
import unicodedata
import zipfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skill_registry.agent.ignore import IgnoreRules, read_rules
from skill_registry.errors import SkillInvalid
from skill_registry.spec.archive import write_archive
from skill_registry.spec.diagnostics import Place, error, warning
from skill_registry.spec.frontmatter import read_document
from skill_registry.spec.model import SKILL_MD, VERSION_SIDECAR, SkillFile
from skill_registry.spec.names import is_skill_name, suggest_name

if TYPE_CHECKING:
    from pathlib import Path

    from skill_registry.spec.model import Diagnostic

# The latter outweighs a .gitignore beside it, as in ripgrep.
IGNORE_FILES = (".gitignore", ".ignore")

# No author means these, whatever the ignore files say.
NEVER_PACKED = frozenset({".git", "node_modules", "__pycache__", ".DS_Store"})

# Far beyond any registry's limits: who pushes a home directory should hear so at once.
MOST_FILES = 10_000
MOST_BYTES = 256 * 1024 * 1024


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


def pack_directory(root: Path) -> Packed:
    """Pack a directory's files, without what its ignore files name and ``NEVER_PACKED``.

    Links are not followed: they, and files that are neither regular nor directories, are left out
    and reported. Names are brought to Unicode form C, as the registry wants them.
    """
    # Asked first, so that a wrong directory is not read through and through.
    if not any(_is_skill_md(entry.name) for entry in root.iterdir()):
        raise SkillInvalid(f"{root} holds no skill.", [_no_skill_md(root)])
    walk = _walked(root)
    entry = next((file for file in walk.files if _is_skill_md(file.path)), None)
    if entry is None and not walk.errors:
        walk.errors.append(_skill_md_is_no_file(root))
    if entry is None or walk.errors:
        raise SkillInvalid(f"{root} cannot be packed as it is.", walk.errors)
    return Packed(
        name=target_name(entry.data, root.resolve().name),
        archive=write_archive(walk.files),
        files=tuple(file.path for file in walk.files),
        diagnostics=tuple(walk.warnings),
    )


def read_directory(root: Path) -> tuple[SkillFile, ...]:
    """Return the files that ``pack_directory`` packs, SKILL.md among them or not.

    Raises:
        SkillInvalid: One of them cannot be a skill's; it is named.
        OSError: One cannot be read.
    """
    walk = _walked(root)
    if walk.errors:
        raise SkillInvalid(f"{root} cannot be read as a skill.", walk.errors)
    return tuple(walk.files)


def _walked(root: Path) -> _Walk:
    walk = _Walk(root)
    walk.directory("", IgnoreRules())
    return walk


def take_archive(path: Path) -> Packed:
    """Take a zip file as it is; the registry judges what is in it.

    Raises:
        SkillInvalid: The file is no zip archive, or larger than any registry takes.
    """
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise SkillInvalid(f"{path} cannot be sent.", [_too_large(size)])
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
        raise SkillInvalid(f"{path} cannot be sent.", [_too_large(size)])
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
        if _is_skill_md(info.filename.rsplit("/", 1)[-1])
        and info.filename.count("/") <= 1
        and info.file_size <= MOST_BYTES
    ]
    if not found:
        return b""
    with archive.open(min(found, key=lambda info: info.filename.count("/"))) as stream:
        return stream.read(MOST_BYTES)


class _Walk:
    """One pass over a directory: files, and what kept others from being among them."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._taken: set[str] = set()
        self._bytes = 0
        self.files: list[SkillFile] = []
        self.errors: list[Diagnostic] = []
        self.warnings: list[Diagnostic] = []

    def directory(self, prefix: str, rules: IgnoreRules) -> None:
        """Visit a directory whose path inside the skill is ``prefix``, ``""`` or ending in /."""
        entries = sorted((self._root / prefix).iterdir(), key=lambda entry: entry.name)
        rules = self._with_ignore_files(prefix, entries, rules)
        for entry in entries:
            path = prefix + entry.name
            if entry.name in NEVER_PACKED or entry.name == VERSION_SIDECAR:
                continue
            mode = entry.lstat().st_mode
            if rules.ignores(path, is_directory=stat.S_ISDIR(mode)):
                self._left_out(path, prefix)
            elif stat.S_ISDIR(mode):
                self.directory(f"{path}/", rules)
            elif stat.S_ISREG(mode):
                self._file(path, entry)
            else:
                self._neither(path, link=stat.S_ISLNK(mode))
            if self.errors:
                return

    def _with_ignore_files(
        self, prefix: str, entries: list[Path], rules: IgnoreRules
    ) -> IgnoreRules:
        own = {entry.name: entry for entry in entries if entry.name in IGNORE_FILES}
        for name in IGNORE_FILES:
            # A link is not followed here either: it could name any file of this machine.
            if name in own and stat.S_ISREG(own[name].lstat().st_mode):
                added, found = read_rules(prefix + name, own[name].read_bytes())
                rules = rules.extended(prefix, added)
                self.warnings.extend(found)
        return rules

    def _file(self, path: str, entry: Path) -> None:
        status = entry.stat()
        self._bytes += status.st_size
        target = unicodedata.normalize("NFC", path)
        if fault := self._fault(target):
            self.errors.append(fault)
            return
        self._taken.add(target)
        executable = bool(status.st_mode & stat.S_IXUSR)
        self.files.append(SkillFile(target, entry.read_bytes(), executable))

    def _fault(self, path: str) -> Diagnostic | None:
        """Say why the next file cannot be packed, None where it can."""
        place = Place(_shown(path))
        if place.file != path:
            message = f"The name of {place.file} cannot be written in UTF-8."
            return error("path_not_utf8", message, place=place, hint="Rename the file.")
        if path in self._taken:
            message = f"Two files are named {path}, in two Unicode forms of the same letters."
            return error("path_collision", message, place=place, hint="Rename one of them.")
        if len(self.files) >= MOST_FILES:
            message = f"The directory holds more than {MOST_FILES} files."
            hint = "Push the skill's own directory, and name in .gitignore what is not part of it."
            return error("too_many_files", message, limit=MOST_FILES, hint=hint)
        return _too_large(self._bytes) if self._bytes > MOST_BYTES else None

    def _left_out(self, path: str, prefix: str) -> None:
        if prefix or not _is_skill_md(path):
            return
        message = f"{path} is left out by an ignore file of the skill itself."
        hint = f"Add a line `!{path}` at the end of its .gitignore or .ignore."
        self.errors.append(error("skill_md_ignored", message, place=Place(path), hint=hint))

    def _neither(self, path: str, *, link: bool) -> None:
        shown = _shown(path)
        if link:
            message = f"{shown} is a link and was left out: links are not followed."
            hint = "Put the file itself there."
        else:
            message = f"{shown} is neither a file nor a directory and was left out."
            hint = None
        code = "link_skipped" if link else "special_file_skipped"
        self.warnings.append(warning(code, message, place=Place(shown), hint=hint))


def _shown(path: str) -> str:
    """Return a path as UTF-8 can hold it; the same where it is UTF-8 already."""
    return path.encode("utf-8", "backslashreplace").decode()


def _is_skill_md(path: str) -> bool:
    return path.lower() == SKILL_MD.lower()


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


def _too_large(size: int) -> Diagnostic:
    message = f"That is more than {MOST_BYTES} bytes, more than any registry takes."
    hint = "Push the skill's own directory, and name in .gitignore what is not part of it."
    return error("skill_too_large", message, limit=MOST_BYTES, actual=size, hint=hint)
