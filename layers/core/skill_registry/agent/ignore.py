"""The rules of ignore files, of which any directory may have several.

They count as git counts them: patterns are relative to their file's directory, the last one that
matches decides, a deeper file outweighs a higher one, and what lies in an ignored directory cannot
be taken back. Of several files in one directory, the one that is read last outweighs the others.

pathspec reads the patterns. It is imported when the first one is read, so that who meets no ignore
file does not need it.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skill_registry.agent.globs import linear
from skill_registry.spec.model import Diagnostic, Severity
from skill_registry.spec.text import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from pathspec import Pattern

_LINE_END = re.compile(r"\r?\n")
# The group by which pathspec marks that a pattern matched a folder above the path.
_FOLDER_ABOVE = "ps_d"


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of an ignore file. ``directories_only`` is a line that ended in a slash."""

    pattern: Pattern
    directories_only: bool

    def matches(self, path: str, *, is_directory: bool) -> bool:
        """Tell whether the rule speaks of exactly this path, not of a folder above it."""
        if self.directories_only and not is_directory:
            return False
        result = self.pattern.match_file(path)
        # The walk already decided on the folders above; matched twice, they would outweigh rules
        # that speak of the path itself.
        return result is not None and not result.match.groupdict().get(_FOLDER_ABOVE)


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules that hold in one directory: its own and those of the directories above it.

    ``levels`` holds pairs of a directory (``""`` or ending in ``/``) and its rules, from the root
    downwards.
    """

    levels: tuple[tuple[str, tuple[Rule, ...]], ...] = ()

    def extended(self, directory: str, rules: tuple[Rule, ...]) -> IgnoreRules:
        """Return the rules of a directory that adds some of its own."""
        return IgnoreRules((*self.levels, (directory, rules))) if rules else self

    def ignores(self, path: str, *, is_directory: bool) -> bool:
        """Tell whether a path is left out, provided that the folders above it are not."""
        for directory, rules in reversed(self.levels):
            if not path.startswith(directory):
                continue
            inner = path[len(directory) :]
            for rule in reversed(rules):
                if rule.matches(inner, is_directory=is_directory):
                    return bool(rule.pattern.include)
        return False


def read_rules(
    path: str, data: bytes, *, meant: Callable[[str], str] = str
) -> tuple[tuple[Rule, ...], list[Diagnostic]]:
    """Read one ignore file; a line that is no pattern is reported and counts for nothing.

    Args:
        path: The file's path, for the report.
        data: Its bytes. Names that are no UTF-8 match as the file system spells them.
        meant: Turns a line into the git pattern that it stands for; by default it is one.

    Raises:
        ModuleNotFoundError: pathspec is not installed; the extras ``agent`` and ``cli`` hold it.
    """
    rules: list[Rule] = []
    found: list[Diagnostic] = []
    text = data.decode("utf-8-sig", "surrogateescape")
    for number, line in enumerate(_LINE_END.split(text), 1):
        try:
            rules.extend(_read_line(line, meant))
        except (ValueError, re.error):
            message = f"{shown(line)} is no ignore pattern and counts for nothing."
            found.append(
                Diagnostic(
                    Severity.WARNING, "ignore_pattern_invalid", message, file=path, line=number
                )
            )
    return tuple(rules), found


def _read_line(line: str, meant: Callable[[str], str]) -> list[Rule]:
    from pathspec import GitIgnoreSpec

    # Blanks at the end do not count unless the last one is escaped.
    bare = meant(line if line.endswith("\\ ") else line.rstrip(" "))
    directories_only = bare.endswith("/")
    with warnings.catch_warnings():
        # A bracket in a bracket makes Python's regular expressions warn; git gives it no meaning.
        warnings.simplefilter("ignore", FutureWarning)
        patterns = GitIgnoreSpec.from_lines([bare.removesuffix("/")]).patterns
    return [
        Rule(linear(pattern), directories_only)
        for pattern in patterns
        if pattern.include is not None
    ]
