"""The skills of this machine: those of the user, those of the project, and named paths.

Default places are ``~/.agents/skills`` and ``.agents/skills`` in the working directory, which
agents of several makers share. A workspace's ``.skills`` is none: the toolkit itself writes there.
The rules are in ``spec/discovery.py``; they follow seed 3.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from skill_registry.agent.regular import opened_regular
from skill_registry.agent.walking import Found, Walked, real_path, reason, walk
from skill_registry.errors import SkillInvalid
from skill_registry.spec import discovery
from skill_registry.spec.discovery import Claim, SourceKind
from skill_registry.spec.files import check_size
from skill_registry.spec.frontmatter import body_of
from skill_registry.spec.model import DEFAULT_LIMITS, Report, Severity, has_errors
from skill_registry.spec.names import shown_path
from skill_registry.spec.validation import read_skill

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from skill_registry.spec.discovery import Collision
    from skill_registry.spec.model import Diagnostic, Limits, SkillMeta

_SHARED = Path(".agents", "skills")
BUNDLED_VARIABLE = "SKILLS_DIR"


@dataclass(frozen=True, slots=True)
class LocalSkill:
    """A skill as a directory holds it; its text is read when it is asked for.

    Attributes:
        path: Its SKILL.md, or the loose Markdown file that it is. Absolute, as it was reached.
        kind: Whose place it lies in.
    """

    meta: SkillMeta
    path: Path
    kind: SourceKind

    @property
    def name(self) -> str:
        """What it goes by: its directory's name, or the loose file's without ``.md``."""
        return self.meta.name

    @property
    def description(self) -> str:
        """The description as its author typed it."""
        return self.meta.description

    @property
    def base(self) -> Path:
        """The directory that its relative paths start from."""
        return self.path.parent

    def body(self) -> str:
        """Read the text below the frontmatter, as it lies there now. Raises OSError."""
        with opened_regular(self.path, follow=True) as file:
            return body_of(file.read())


@dataclass(frozen=True, slots=True)
class Discovered:
    """What discovery found.

    Attributes:
        skills: In the order of the sources, and of paths in each; no name twice.
        diagnostics: In the same order, collisions last. An ``error`` is a skill, or a place for
            skills, that could not be read; a ``warning`` cost nothing.
        collisions: Who lost a name to whom.
        candidates: ``skills``, and those that lost their names, in the same order.
    """

    skills: tuple[LocalSkill, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    collisions: tuple[Collision, ...] = ()
    candidates: tuple[LocalSkill, ...] = ()

    def among(self, candidates: Sequence[LocalSkill]) -> Discovered:
        """Return the same with only these candidates, of which the first gets a name."""
        kept, collisions = discovery.settle([Claim(each.name, each.path) for each in candidates])
        said = [each for each in self.diagnostics if each.severity is not Severity.COLLISION]
        told = [*said, *(collision.diagnostic for collision in collisions)]
        return Discovered(
            tuple(candidates[index] for index in kept),
            tuple(dict.fromkeys(told)),
            tuple(collisions),
            tuple(candidates),
        )


@dataclass(frozen=True, slots=True)
class Locations:
    """Where skills are looked for by default; None is nowhere."""

    user: Path | None = None
    project: Path | None = None


def default_locations(home: Path | None, cwd: Path) -> Locations:
    """Return the places that agents share: ``.agents/skills`` in either directory."""
    return Locations(home / _SHARED if home is not None else None, cwd / _SHARED)


def bundled_directory(environment: Mapping[str, str] | None = None) -> Path:
    """Return where a program's own skills lie: ``SKILLS_DIR``, else ``skills`` (seed 2)."""
    variables = os.environ if environment is None else environment
    return Path(variables.get(BUNDLED_VARIABLE) or "skills")


def discover(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    *,
    defaults: bool = True,
    locations: Locations | None = None,
    home: Path | None = None,
    cwd: Path | None = None,
    strict: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Discovered:
    """Find the skills of this machine. Of several with one name, the first is used.

    Args:
        sources: Directories to look through and Markdown files to load, in this order and after
            the default locations; one may come without a list. ``~`` is ``home``, relative ones
            start at ``cwd``; one that is missing or no Markdown file is a warning.
        defaults: Look at the default locations too; they may be missing. Where this is off, a
            source in one of them is the user's or the project's, so that naming them as sources
            gives them another order.
        locations: What the default locations are; else ``default_locations(home, cwd)``.
        home: Else the home directory of the user, if it has one.
        cwd: Else the working directory.
        strict: Refuse instead of reporting what could not be read.
        limits: ``file_bytes`` bounds each file, the text limits are those of the format.

    Raises:
        SkillInvalid: ``strict``, and something could not be read; it names every such path.
    """
    here = _working_directory() / (cwd or "")
    home = home if home is not None else _home_directory()
    if locations is None:
        locations = default_locations(home, here)
    search = _Search(locations, home, here, limits)
    if defaults:
        search.look(locations.user, SourceKind.USER)
        search.look(locations.project, SourceKind.PROJECT)
    for source in (sources,) if isinstance(sources, str | os.PathLike) else sources:
        # Blanks round a text that somebody typed mean nothing; a Path is what it is.
        text = source.strip() if isinstance(source, str) else os.fspath(source)
        search.look_at_named(text, classified=not defaults)
    found = search.result()
    if strict and has_errors(found.diagnostics):
        refused = [each for each in found.diagnostics if each.severity is Severity.ERROR]
        paths = ", ".join(dict.fromkeys(str(each.file) for each in refused))
        raise SkillInvalid(f"These cannot be loaded: {paths}.", found.diagnostics)
    return found


@dataclass(slots=True)
class _Search:
    """The skills found so far, and what was said of them."""

    locations: Locations
    home: Path | None
    cwd: Path
    limits: Limits
    skills: list[LocalSkill] = field(default_factory=list)
    said: list[Diagnostic] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def look(self, location: Path | None, kind: SourceKind) -> None:
        """Look at a default location, which may be missing."""
        if location is not None and (walked := _walk(location)) is not None:
            self.take(walked, kind)

    def look_at_named(self, text: str, *, classified: bool) -> None:
        """Look at a path that somebody named."""
        path = discovery.expand(text, home=self.home, cwd=self.cwd)
        walked = _walk(path) if path is not None else None
        if path is None or walked is None:
            self.said.append(discovery.path_missing(path or text))
            return
        user, project = self.locations.user, self.locations.project
        kind = discovery.classify(path, user=user, project=project)
        self.take(walked, kind if classified else SourceKind.PATH)

    def take(self, walked: Walked, kind: SourceKind) -> None:
        """Read the files of one source, but for those that were read before."""
        self.said.extend(walked.diagnostics)
        for found in walked.files:
            if found.real in self.seen:
                continue
            self.seen.add(found.real)
            meta, diagnostics = _read(found, self.limits)
            self.said.extend(diagnostics)
            if meta is not None:
                self.skills.append(LocalSkill(meta, found.path, kind))

    def result(self) -> Discovered:
        return Discovered(diagnostics=tuple(self.said)).among(self.skills)


def _walk(path: Path) -> Walked | None:
    """Look through a directory, or take a file; None where there is neither."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return walk(path)
        if stat.S_ISREG(mode) and discovery.is_markdown(path.name):
            return Walked((Found(path, real_path(path), meant=True),))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        # The last is a name that no file system can hold.
        return None
    except OSError as failure:
        return Walked(diagnostics=(discovery.unreadable(path, reason(failure)),))
    return Walked(diagnostics=(discovery.not_markdown(path),))


def _read(found: Found, limits: Limits) -> tuple[SkillMeta | None, list[Diagnostic]]:
    path = found.path
    try:
        with opened_regular(path, follow=True) as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(limits.file_bytes)
    except OSError as failure:
        return None, [discovery.unreadable(path, reason(failure))]
    if large := check_size(path.name, size, limits):
        report = Report(None, tuple(large))
    else:
        report = read_skill(data, directory=discovery.name_of(path), limits=limits)
    diagnostics = [replace(each, file=shown_path(str(path))) for each in report.diagnostics]
    if report.meta is None and not found.meant:
        diagnostics = discovery.loose_findings(diagnostics, path)
    return report.meta, diagnostics


def _working_directory() -> Path:
    try:
        return Path.cwd()
    except OSError:
        # It was deleted; what is relative to it is missing like everything else.
        return Path()


def _home_directory() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:
        return None
