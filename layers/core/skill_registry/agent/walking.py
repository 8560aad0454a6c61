"""A walk through one directory of this machine: the files that are skills by their place.

Links are followed and every real directory is entered once, real paths before links, so that a
skill goes by its own path where it has one. What cannot be read is reported and costs the rest
nothing.
"""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from skill_registry.agent.ignore import IgnoreRules, read_rules
from skill_registry.agent.regular import read_regular
from skill_registry.spec import discovery
from skill_registry.spec.discovery import IGNORE_FILES, Entry, EntryKind
from skill_registry.spec.model import SKILL_MD
from skill_registry.spec.names import shown_path

if TYPE_CHECKING:
    from skill_registry.agent.ignore import Rule
    from skill_registry.spec.discovery import Plan
    from skill_registry.spec.model import Diagnostic

# A link to a whole disk ends here.
MOST_DIRECTORIES = 20_000
# Each line of an ignore file is compared with each name below it.
MOST_IGNORE_BYTES = 64 * 1024

_NO_RULES = IgnoreRules()


@dataclass(frozen=True, slots=True)
class Found:
    """A file that is a skill by its place.

    Attributes:
        path: As it was reached.
        real: The same file, with every link resolved.
        meant: Whether it claims to be a skill: a SKILL.md, or a file that somebody named.
    """

    path: Path
    real: str
    meant: bool


@dataclass(frozen=True, slots=True)
class Walked:
    """What one walk found, in the order of paths (code points), each real file once."""

    files: tuple[Found, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def walk(root: Path, *, most: int = MOST_DIRECTORIES) -> Walked:
    """Look through a directory and what lies below it, ``most`` directories at the utmost.

    Nothing that lies there makes it raise.
    """
    search = _Walk(_Node(root, real_path(root)))
    search.run(most)
    return search.result()


def real_path(path: Path) -> str:
    """Return the path with every link in it resolved: what makes two paths one file."""
    # Where letter case does not count, one file has several spellings.
    return os.path.normcase(os.path.realpath(path))


def reason(failure: OSError) -> str:
    """Say why the system refused, without the path, which a diagnostic has of its own."""
    return (failure.strerror or type(failure).__name__).lower()


@dataclass(frozen=True, slots=True)
class _Node:
    """A directory to visit, or a file in one.

    ``parts`` lead to it from the root, ``linked`` tells of a link among them, and ``rules`` are
    those of the directories above.
    """

    path: Path
    real: str
    parts: tuple[str, ...] = ()
    rules: IgnoreRules = _NO_RULES
    linked: bool = False

    def inner(self, entry: Entry) -> _Node:
        path = self.path / entry.name
        real = real_path(path) if entry.link else str(Path(self.real, os.path.normcase(entry.name)))
        linked = self.linked or entry.link
        return _Node(path, real, (*self.parts, entry.name), self.rules, linked)

    def ignores(self, name: str, is_directory: bool) -> bool:
        if not self.rules.levels:
            return False
        return self.rules.ignores("/".join((*self.parts, name)), is_directory=is_directory)

    def lies_in(self, directory: str) -> bool:
        return Path(self.real).is_relative_to(directory)


@dataclass(slots=True)
class _Walk:
    """The state of one walk: where to go on, where it has been, and what it found."""

    root: _Node
    pending: list[_Node] = field(default_factory=list)
    links: deque[_Node] = field(default_factory=deque)
    visited: set[str] = field(default_factory=set)
    files: list[tuple[_Node, Found]] = field(default_factory=list)
    said: list[tuple[tuple[str, ...], Diagnostic]] = field(default_factory=list)

    def run(self, most: int) -> None:
        self.pending.append(self.root)
        while self.pending or self.links:
            directory = self.pending.pop() if self.pending else self.links.popleft()
            if directory.real in self.visited:
                continue
            if len(self.visited) == most:
                self.say(directory, discovery.search_cut(self.root.path, most))
                return
            self.visited.add(directory.real)
            self.visit(directory)

    def result(self) -> Walked:
        # A file that several paths lead to goes by the one without a link.
        ordered = sorted(self.files, key=lambda each: (each[0].linked, each[0].parts))
        once: dict[str, tuple[_Node, Found]] = {}
        for node, found in ordered:
            once.setdefault(found.real, (node, found))
        files = sorted(once.values(), key=lambda each: each[0].parts)
        said = sorted(self.said, key=lambda each: each[0])
        return Walked(tuple(found for _, found in files), tuple(what for _, what in said))

    def visit(self, directory: _Node) -> None:
        try:
            with os.scandir(directory.path) as listing:
                entries = [_entry(each) for each in listing]
        except OSError as failure:
            self.say(directory, discovery.unreadable(directory.path, reason(failure)))
            return
        present = {entry.name for entry in entries if entry.kind is EntryKind.FILE}
        for name in IGNORE_FILES:
            if name in present:
                directory = self.with_rules(directory, name)
        at_root = not directory.parts
        self.note(directory, discovery.plan(entries, at_root=at_root, ignores=directory.ignores))

    def with_rules(self, directory: _Node, name: str) -> _Node:
        """Add the rules of an ignore file to those that hold in its directory."""
        path = directory.path / name
        prefix = "".join(f"{part}/" for part in directory.parts)
        rules, found = _read_ignore_file(path, at_root=not directory.parts)
        for each in found:
            self.say(directory, each)
        return replace(directory, rules=directory.rules.extended(prefix, rules))

    def note(self, directory: _Node, plan: Plan) -> None:
        """Keep what a directory holds, and go on with the directories in it."""
        for entry in (plan.skill,) if plan.skill is not None else plan.loose:
            file = directory.inner(entry)
            self.files.append((file, Found(file.path, file.real, entry.name == SKILL_MD)))
        for entry in plan.misspelt:
            self.say(directory, discovery.misspelt(directory.path / entry.name))
        for entry in plan.broken:
            self.say(directory, discovery.broken_link(directory.path / entry.name))
        inner = [directory.inner(entry) for entry in plan.directories if not entry.link]
        self.pending.extend(reversed(inner))
        for entry in (entry for entry in plan.directories if entry.link):
            linked = directory.inner(entry)
            # A link upwards would lead out of what was named, and back in again.
            if not any(node.lies_in(linked.real) for node in (directory, self.root)):
                self.links.append(linked)

    def say(self, where: _Node, what: Diagnostic) -> None:
        self.said.append((where.parts, what))


def _entry(entry: os.DirEntry[str]) -> Entry:
    link = entry.is_symlink()
    try:
        if entry.is_dir():
            return Entry(entry.name, EntryKind.DIRECTORY, link)
        if entry.is_file():
            return Entry(entry.name, EntryKind.FILE, link)
    except OSError:
        # Links in a circle end here; what is no link and cannot be asked is reported when opened.
        return Entry(entry.name, EntryKind.BROKEN if link else EntryKind.FILE, link)
    return Entry(entry.name, EntryKind.BROKEN if link else EntryKind.OTHER, link)


def _read_ignore_file(path: Path, *, at_root: bool) -> tuple[tuple[Rule, ...], list[Diagnostic]]:
    def meant(line: str) -> str:
        return discovery.git_pattern(line, at_root=at_root)

    try:
        data, _ = read_regular(path, MOST_IGNORE_BYTES + 1, follow=True)
        if len(data) <= MOST_IGNORE_BYTES:
            return read_rules(shown_path(str(path)), data, meant=meant)
        why = f"it has more than {MOST_IGNORE_BYTES} bytes"
    except OSError as failure:
        why = reason(failure)
    except ModuleNotFoundError:
        why = "pathspec is not installed; the extra `agent` holds it"
    return (), [discovery.ignore_file_skipped(path, why)]
