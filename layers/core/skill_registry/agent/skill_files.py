"""The files of a skill's directory on this machine: which of them are the skill's, and their bytes.

Links are not followed: a skill is what lies in its directory, and a link could name any file of
this machine.
"""

from __future__ import annotations

import stat
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skill_registry.agent.ignore import IgnoreRules, read_rules
from skill_registry.agent.regular import read_regular
from skill_registry.agent.walking import MOST_IGNORE_BYTES
from skill_registry.spec.diagnostics import Place, error, warning
from skill_registry.spec.model import (
    MOST_BYTES,
    MOST_FILES,
    SKILL_MD,
    VERSION_SIDECAR,
    SkillFile,
)

if TYPE_CHECKING:
    from pathlib import Path

    from skill_registry.agent.ignore import Rule
    from skill_registry.spec.model import Diagnostic

# The latter outweighs a .gitignore beside it, as in ripgrep.
IGNORE_FILES = (".gitignore", ".ignore")

# No author means these, whatever the ignore files say.
NEVER_TAKEN = frozenset({".git", "node_modules", "__pycache__", ".DS_Store"})

# Of directories one in another, far beyond the format's limit too.
_DEEPEST = 64

_HINT = "Name the skill's own directory, and in its .gitignore what is not part of it."


@dataclass(slots=True)
class Gathered:
    """What a directory holds for a skill.

    Attributes:
        files: In the order of names in each directory; names in Unicode form C.
        errors: Of each file that is meant and is not among them, why.
        over: Why the rest was not looked at; None where all was.
        warnings: What was left out and is worth knowing.
    """

    files: list[SkillFile] = field(default_factory=list)
    errors: list[Diagnostic] = field(default_factory=list)
    over: Diagnostic | None = None
    warnings: list[Diagnostic] = field(default_factory=list)


def gather(root: Path, *, most_bytes: int = MOST_BYTES) -> Gathered:
    """Read a directory's files, without what its ignore files name and ``NEVER_TAKEN``.

    Links, and files that are neither regular nor directories, are left out and reported. No file
    is named ``.version``.

    Args:
        root: The directory; this one may be a link.
        most_bytes: Where to stop.

    Raises:
        OSError: A file or directory cannot be read, or is not there any more.
    """
    walk = _Walk(root, most_bytes)
    walk.directory("", IgnoreRules())
    return walk.found


def is_skill_md(path: str) -> bool:
    """Tell whether a path is of a SKILL.md at the root, in any spelling."""
    return path.lower() == SKILL_MD.lower()


def too_large(size: int, most: int = MOST_BYTES) -> Diagnostic:
    """Say that files have more bytes together than are looked at. ``size`` may be a part."""
    message = f"There are {size} bytes or more; at most {most} are looked at."
    return error("skill_too_large", message, limit=most, actual=size, hint=_HINT)


class _Walk:
    """One pass over a directory."""

    def __init__(self, root: Path, most_bytes: int) -> None:
        self._root = root
        self._room = most_bytes
        self._most = most_bytes
        self._taken: set[str] = set()
        self.found = Gathered()

    def directory(self, prefix: str, rules: IgnoreRules) -> None:
        """Visit a directory whose path inside the skill is ``prefix``, ``""`` or ending in /."""
        entries = sorted((self._root / prefix).iterdir(), key=lambda entry: entry.name)
        rules = self._with_ignore_files(prefix, entries, rules)
        for entry in entries:
            path = prefix + entry.name
            if entry.name in NEVER_TAKEN or entry.name == VERSION_SIDECAR:
                continue
            status = entry.lstat()
            if rules.ignores(path, is_directory=stat.S_ISDIR(status.st_mode)):
                self._left_out(path, prefix)
            elif stat.S_ISDIR(status.st_mode):
                self._inner(path, rules)
            elif stat.S_ISREG(status.st_mode):
                self._file(path, entry, status.st_size)
            else:
                self._neither(path, link=stat.S_ISLNK(status.st_mode))
            if self.found.over is not None:
                return

    def _inner(self, path: str, rules: IgnoreRules) -> None:
        if (depth := path.count("/") + 1) < _DEEPEST:
            self.directory(f"{path}/", rules)
            return
        message = f"What lies in {_shown(path)} is nested too deeply."
        place = Place(_shown(path))
        self.found.errors.append(error("path_too_deep", message, place=place, actual=depth))

    def _with_ignore_files(
        self, prefix: str, entries: list[Path], rules: IgnoreRules
    ) -> IgnoreRules:
        own = {entry.name: entry for entry in entries if entry.name in IGNORE_FILES}
        for name in IGNORE_FILES:
            # A link is not followed here either: it could name any file of this machine.
            if name in own and stat.S_ISREG(own[name].lstat().st_mode):
                rules = rules.extended(prefix, self._rules(prefix + name, own[name]))
        return rules

    def _rules(self, path: str, entry: Path) -> tuple[Rule, ...]:
        data, _ = read_regular(entry, MOST_IGNORE_BYTES + 1)
        why = f"it has more than {MOST_IGNORE_BYTES} bytes"
        if len(data) <= MOST_IGNORE_BYTES:
            try:
                added, found = read_rules(path, data)
            except ModuleNotFoundError:
                why = "pathspec is not installed; the extra `agent` holds it"
            else:
                self.found.warnings.extend(found)
                return added
        # What it would leave out is nobody's to see, so this is no mere warning.
        message = f"{_shown(path)} cannot be read and counts for nothing: {why}."
        found_error = error("ignore_file_skipped", message, place=Place(_shown(path)))
        self.found.errors.append(found_error)
        return ()

    def _file(self, path: str, entry: Path, size: int) -> None:
        target = unicodedata.normalize("NFC", path)
        if fault := self._fault(target):
            self.found.errors.append(fault)
            return
        if len(self.found.files) >= MOST_FILES:
            self.found.over = _too_many()
        elif size > self._room:
            self.found.over = too_large(self._most - self._room + size, self._most)
        else:
            # It may grow meanwhile.
            data, executable = read_regular(entry, self._room + 1)
            self._room -= len(data)
            self._taken.add(target)
            self.found.files.append(SkillFile(target, data, executable))

    def _fault(self, path: str) -> Diagnostic | None:
        """Say why a file cannot be a skill's, None where it can."""
        place = Place(_shown(path))
        if place.file != path:
            message = f"The name of {place.file} cannot be written in UTF-8."
            return error("path_not_utf8", message, place=place, hint="Rename the file.")
        if path in self._taken:
            message = f"Two files are named {path}, in two Unicode forms of the same letters."
            return error("path_collision", message, place=place, hint="Rename one of them.")
        return None

    def _left_out(self, path: str, prefix: str) -> None:
        if prefix or not is_skill_md(path):
            return
        message = f"{path} is left out by an ignore file of the skill itself."
        hint = f"Add a line `!{path}` at the end of its .gitignore or .ignore."
        fault = error("skill_md_ignored", message, place=Place(path), hint=hint)
        self.found.errors.append(fault)

    def _neither(self, path: str, *, link: bool) -> None:
        shown = _shown(path)
        if link:
            message = f"{shown} is a link and was left out: links are not followed."
            hint = "Put the file itself there."
        else:
            message = f"{shown} is neither a file nor a directory and was left out."
            hint = None
        code = "link_skipped" if link else "special_file_skipped"
        self.found.warnings.append(warning(code, message, place=Place(shown), hint=hint))


def _shown(path: str) -> str:
    """Return a path as UTF-8 can hold it; the same where it is UTF-8 already."""
    return path.encode("utf-8", "backslashreplace").decode()


def _too_many() -> Diagnostic:
    message = f"The directory holds more than {MOST_FILES} files."
    return error("too_many_files", message, limit=MOST_FILES, hint=_HINT)
