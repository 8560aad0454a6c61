"""Which files of this machine are skills, decided from names and listings alone (seed 3).

A SKILL.md makes its directory a skill, and nothing below it is looked at. Otherwise directories
are looked through, and Markdown files that lie loose in the directory where a search starts are
skills too. What reads real directories is ``agent/walking.py``.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from skill_registry.spec.diagnostics import Place, error, warning
from skill_registry.spec.model import SKILL_MD, Diagnostic, Severity
from skill_registry.spec.names import shown_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import PurePath

# Read in this order in every directory; the last pattern that matches decides.
IGNORE_FILES = (".gitignore", ".ignore", ".fdignore")

MARKDOWN = ".md"
_NEVER_ENTERED = "node_modules"
# Of a SKILL.md at the root of a disk.
_NAMELESS = "skill"

# What a Markdown file without frontmatter is told; loose ones are often no skills at all.
_NO_FRONTMATTER = frozenset(
    {"frontmatter_missing", "text_above_frontmatter", "skill_md_empty", "description_missing"}
)

Ignores = Callable[[str, bool], bool]


class SourceKind(StrEnum):
    """Where a skill came from: the user's own place, the project's, or a path that was named."""

    USER = "user"
    PROJECT = "project"
    PATH = "path"


class EntryKind(StrEnum):
    """What an entry of a directory is, links followed. ``broken`` is a link that leads nowhere."""

    FILE = "file"
    DIRECTORY = "directory"
    BROKEN = "broken"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a directory: its name, what it is, and whether a link stands in between."""

    name: str
    kind: EntryKind
    link: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do in one directory. Everything is in the order of names (code points).

    Attributes:
        skill: The SKILL.md that makes the directory a skill; then nothing else is looked at.
        loose: Markdown files that are skills of their own.
        directories: Where to go on.
        misspelt: Files that would be SKILL.md but for their letter case.
        broken: Links that lead nowhere.
    """

    skill: Entry | None = None
    loose: tuple[Entry, ...] = ()
    directories: tuple[Entry, ...] = ()
    misspelt: tuple[Entry, ...] = ()
    broken: tuple[Entry, ...] = ()


def plan(entries: Iterable[Entry], *, at_root: bool, ignores: Ignores) -> Plan:
    """Decide what the entries of one directory mean.

    Args:
        entries: All of them, in any order.
        at_root: Whether the search starts here; loose Markdown files count only then.
        ignores: Whether ignore files leave out a name, given whether it is a directory.
    """
    kept = [
        entry
        for entry in sorted(entries, key=lambda entry: entry.name)
        if not entry.name.startswith(".")
        and entry.name != _NEVER_ENTERED
        and not ignores(entry.name, entry.kind is EntryKind.DIRECTORY)
    ]
    files = [entry for entry in kept if entry.kind is EntryKind.FILE]
    skill = next((entry for entry in files if entry.name == SKILL_MD), None)
    if skill is not None:
        return Plan(skill)
    loose = tuple(entry for entry in files if is_markdown(entry.name))
    return Plan(
        loose=loose if at_root else (),
        directories=tuple(entry for entry in kept if entry.kind is EntryKind.DIRECTORY),
        misspelt=tuple(entry for entry in files if _stands_for_skill_md(entry.name)),
        broken=tuple(entry for entry in kept if entry.kind is EntryKind.BROKEN),
    )


def is_markdown(name: str) -> bool:
    """Tell whether a file may be a skill by its name."""
    return name.endswith(MARKDOWN)


def name_of(path: PurePath) -> str:
    """Return the name that a skill goes by: its directory's, or that of a loose file.

    It encodes as UTF-8, whatever the file system holds.
    """
    name = path.parent.name if _stands_for_skill_md(path.name) else path.name[: -len(MARKDOWN)]
    return name.encode("utf-8", "backslashreplace").decode() or _NAMELESS


def _stands_for_skill_md(name: str) -> bool:
    return name.lower() == SKILL_MD.lower()


def expand(text: str, *, home: Path | None, cwd: Path) -> Path | None:
    """Return the path that somebody named; None where the text is none.

    ``~`` and ``~/`` mean ``home``, another path is relative to ``cwd``, and ``..`` goes with the
    name before it, whether that is a link or not.
    """
    if not text or "\0" in text:
        return None
    path = Path(text)
    if path.parts[:1] == ("~",):
        if home is None:
            return None
        path = home.joinpath(*path.parts[1:])
    return Path(posixpath.normpath((cwd / path).as_posix()))


def classify(path: PurePath, *, user: PurePath | None, project: PurePath | None) -> SourceKind:
    """Tell whose place a path lies in, by whole segments; the user's is asked first."""
    if user is not None and path.is_relative_to(user):
        return SourceKind.USER
    if project is not None and path.is_relative_to(project):
        return SourceKind.PROJECT
    return SourceKind.PATH


def git_pattern(line: str, *, at_root: bool) -> str:
    """Return the git pattern that a line of an ignore file stands for (seed 3).

    Unlike git, the file's directory is put in front of its pattern. So ``foo`` in a directory below
    the root speaks of that directory's own ``foo`` only, and a leading ``/`` says nothing: at the
    root, ``/foo`` is any ``foo``.
    """
    mark = "!" if line.startswith("!") else ""
    pattern = line.removeprefix(mark)
    rest = pattern.removeprefix("/")
    if not rest.strip("/ ") or line.startswith("#"):
        return line
    if not at_root:
        return f"{mark}/{rest}"
    if not mark and rest != pattern and rest.startswith(("#", "!")):
        # Without its slash it would become a comment, or take something back.
        return f"\\{rest}"
    return f"{mark}{rest}"


@dataclass(frozen=True, slots=True)
class Claim:
    """A skill that wants its name: the name, and the file that it was read from."""

    name: str
    path: PurePath


@dataclass(frozen=True, slots=True)
class Collision:
    """Two skills of one name: the one that is used, and the one that is not."""

    name: str
    winner: PurePath
    loser: PurePath

    @property
    def diagnostic(self) -> Diagnostic:
        """The collision as a reader sees it; ``file`` is the loser."""
        winner = shown_path(str(self.winner))
        message = f"{shown_path(self.name)} is shadowed by {winner}, which comes first."
        hint = "Rename one of the two skills, or leave one of the sources out."
        return error(
            "collision", message, place=_at(self.loser), hint=hint, severity=Severity.COLLISION
        )


def settle(claims: Sequence[Claim]) -> tuple[list[int], list[Collision]]:
    """Give each name to the first that claims it; return their indices, and who lost to whom."""
    winners: dict[str, int] = {}
    collisions: list[Collision] = []
    for index, claim in enumerate(claims):
        winner = winners.setdefault(claim.name, index)
        if winner != index:
            collisions.append(Collision(claim.name, claims[winner].path, claim.path))
    return list(winners.values()), collisions


def loose_findings(found: Sequence[Diagnostic], path: PurePath) -> list[Diagnostic]:
    """Soften what was found in a loose file that is no skill: nobody said that it is one."""
    if any(each.code in _NO_FRONTMATTER for each in found):
        message = f"{shown_path(path.name)} is no skill: the description is required."
        hint = f"Add frontmatter with a description, or name the file in {IGNORE_FILES[1]}."
        return [warning("description_missing", message, place=_at(path), hint=hint)]
    return [replace(each, severity=Severity.WARNING) for each in found]


def path_missing(path: PurePath | str) -> Diagnostic:
    """Say that a named path is not there."""
    message = f"The path {shown_path(str(path))} does not exist."
    return warning("source_missing", message, place=_at(path), hint="Correct it, or leave it out.")


def not_markdown(path: PurePath) -> Diagnostic:
    """Say that a named file cannot be a skill."""
    message = f"{shown_path(path.name)} is not a markdown file."
    hint = f"Name a directory, or a file that ends in {MARKDOWN}."
    return warning("source_not_markdown", message, place=_at(path), hint=hint)


def misspelt(path: PurePath) -> Diagnostic:
    """Say that a file is SKILL.md in another spelling."""
    message = f"{shown_path(path.name)} is no {SKILL_MD}: names are case-sensitive here."
    hint = f"Rename it to {SKILL_MD}."
    return warning("skill_md_misspelt", message, place=_at(path), hint=hint)


def broken_link(path: PurePath) -> Diagnostic:
    """Say that a link leads nowhere."""
    message = f"{shown_path(path.name)} is a link that leads nowhere."
    return warning("link_broken", message, place=_at(path), hint="Mend or remove it.")


def unreadable(path: PurePath, why: str) -> Diagnostic:
    """Say that a file or directory cannot be read, so that skills may be missing."""
    message = f"{shown_path(path.name)} cannot be read: {why}."
    return error("unreadable", message, place=_at(path))


def ignore_file_skipped(path: PurePath, why: str) -> Diagnostic:
    """Say that an ignore file counts for nothing."""
    message = f"{shown_path(path.name)} cannot be read and counts for nothing: {why}."
    return warning("ignore_file_skipped", message, place=_at(path))


def search_cut(path: PurePath, limit: int) -> Diagnostic:
    """Say that a search ended before it was through."""
    message = f"There are more than {limit} directories to look through; the rest was left out."
    hint = "Name the directory that holds the skills, or leave others out by an ignore file."
    return error("search_cut", message, place=_at(path), limit=limit, hint=hint)


def _at(path: PurePath | str) -> Place:
    return Place(shown_path(str(path)))
