"""Directories of this machine as a source of skills: what lies there now, read each time anew."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from skill_registry.agent.answers import CheckedSkill, ListedSkill, View, ViewedFile
from skill_registry.agent.discovery import LocalSkill, discover
from skill_registry.agent.problems import SourceUnreadable
from skill_registry.agent.source import EVERYTHING, SkillCopy, SkillList, SkillQuery
from skill_registry.agent.walking import reason
from skill_registry.errors import FileNotFound, SkillInvalid, SkillNotFound, VersionNotFound
from skill_registry.spec.archive import content_digest
from skill_registry.spec.fences import body_of
from skill_registry.spec.files import check_count, check_total, parse_sidecar, without_sidecar
from skill_registry.spec.model import (
    DEFAULT_LIMITS,
    SKILL_MD,
    VERSION_SIDECAR,
    Limits,
    SkillFile,
)
from skill_registry.spec.names import clean_path
from skill_registry.spec.rendering import in_language
from skill_registry.spec.visibility import Viewer, may_see, tools_suffice

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from skill_registry.agent.answers import Version
    from skill_registry.agent.discovery import Discovered, Locations

# Of a directory that somebody writes to while it is read.
_ATTEMPTS = 5
_MOST_NAMED = 20
_LISTED = ("license", "compatibility", "allowed_tools", "min_tier", "source", "upstream")


class LocalSource:
    """The skills that discovery finds (``agent/discovery.py``), as a ``SkillSource``.

    A skill's scope is whose place it lies in: ``user``, ``project`` or ``path``; a query's scopes
    leave out the others. Its version is that of its ``.version``, else of its frontmatter, else
    none; there is no other one to be had, and there are no labels.

    Args:
        sources: Directories to look through and Markdown files to load; the first wins a name.
        defaults: Look at the places that agents share first.
        locations: What those are; else ``default_locations(home, cwd)``.
        home: Else the home directory of the user.
        cwd: Else the working directory.
        strict: Refuse to list anything while a skill cannot be read (seed 2).
        limits: Of a skill.
    """

    def __init__(
        self,
        *sources: str | os.PathLike[str],
        defaults: bool = False,
        locations: Locations | None = None,
        home: Path | None = None,
        cwd: Path | None = None,
        strict: bool = False,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._sources = sources
        self._where: dict[str, Any] = {
            "defaults": defaults,
            "locations": locations,
            "home": home,
            "cwd": cwd,
            "limits": limits,
        }
        self._strict = strict
        self._limits = limits

    def list_all(self, query: SkillQuery = EVERYTHING) -> SkillList:
        """Return the skills by name, and what was found wrong with those that are there.

        Raises:
            SkillInvalid: ``strict``, and something cannot be read; it names every such path.
        """
        found = self._discovered(strict=self._strict)
        listed = [
            _listed(skill, query)
            for skill in _visible(found.skills, query)
            if not skill.meta.disable_model_invocation
            and tools_suffice(skill.meta.allowed_tools, query.tools)
        ]
        return SkillList(tuple(sorted(listed, key=lambda skill: skill.name)), found.diagnostics)

    def view_skill(
        self,
        name: str,
        path: str | None = None,
        version: int | str | None = None,
        *,
        query: SkillQuery = EVERYTHING,
    ) -> View:
        """Return a skill's body, or the file at ``path``, as it lies there now.

        Raises:
            SkillNotFound, VersionNotFound, FileNotFound, PathInvalid: There is none such.
            SkillInvalid: A file of the skill can be none.
            SourceUnreadable: It cannot be read, or keeps changing.
        """
        path = clean_path(path)
        state = self._read(name, version, query)
        file = next((file for file in state.files if file.path == path), None)
        if file is None:
            paths = sorted(file.path for file in state.files)
            raise FileNotFound(f"The skill has no file {path}.", available=paths[:_MOST_NAMED])
        meta = asdict(state.skill.meta)
        return View(
            name=name,
            scope=state.skill.kind.value,
            version=state.version,
            path=path,
            data=body_of(file.data).encode() if path == SKILL_MD else file.data,
            files=tuple(
                ViewedFile(each.path, len(each.data), each.sha256, each.mode)
                for each in state.files
            ),
            metadata={key: value for key, value in meta.items() if value not in (None, (), {})},
        )

    def load_skill(
        self,
        name: str,
        version: int | str | None = None,
        *,
        query: SkillQuery = EVERYTHING,
        known: str | None = None,
    ) -> SkillCopy | None:
        """Return all files of a skill, as a publish would send them. Raises as ``view_skill``."""
        state = self._read(name, version, query)
        tag = f"{state.skill.path}:{state.version!r}:{content_digest(state.files)}"
        if tag == known:
            return None
        return SkillCopy(name, state.skill.kind.value, state.version, state.files, tag)

    def check(
        self, loaded: Mapping[str, Version], *, query: SkillQuery = EVERYTHING
    ) -> Mapping[str, CheckedSkill]:
        """Tell of each name whether it still lies there at that version."""
        there = {skill.name: skill for skill in _visible(self._discovered().skills, query)}
        return {name: _checked(there.get(name), version) for name, version in loaded.items()}

    def _discovered(self, *, strict: bool = False) -> Discovered:
        return discover(self._sources, strict=strict, **self._where)

    def _read(self, name: str, version: int | str | None, query: SkillQuery) -> _State:
        visible = _visible(self._discovered().skills, query)
        skill = next((skill for skill in visible if skill.name == name), None)
        if skill is None:
            names = sorted(s.name for s in visible if not s.meta.disable_model_invocation)
            raise SkillNotFound(f"There is no skill `{name}`.", available=names[:_MOST_NAMED])
        state = _state_of(skill)
        faults = check_count(len(state.files), self._limits)
        faults += check_total(sum(len(file.data) for file in state.files), self._limits)
        if faults:
            raise SkillInvalid(f"{skill.path.parent} is too large for a skill.", faults)
        if version not in (None, state.version):
            raise VersionNotFound(f"`{name}` lies there at version {state.version}, not {version}.")
        return state


@dataclass(frozen=True, slots=True)
class _State:
    """One state of a skill's directory."""

    skill: LocalSkill
    version: Version
    files: tuple[SkillFile, ...]


def _visible(skills: Iterable[LocalSkill], query: SkillQuery) -> list[LocalSkill]:
    viewer = Viewer(tier=query.tier, relevant_to=query.agent)
    return [
        skill
        for skill in skills
        if (not query.scopes or skill.kind.value in query.scopes)
        and may_see(agents=skill.meta.agents, min_tier=skill.meta.min_tier, viewer=viewer)
    ]


def _listed(skill: LocalSkill, query: SkillQuery) -> ListedSkill:
    meta = skill.meta
    description = in_language(meta.description, meta.descriptions, query.language)
    version, scope = _version(skill), skill.kind.value
    told = {key: value for key in _LISTED if (value := getattr(meta, key))}
    answer = {"name": meta.name, "scope": scope, "version": version, "description": description}
    return ListedSkill(meta.name, scope, version, description, answer | told)


def _checked(skill: LocalSkill | None, loaded: Version) -> CheckedSkill:
    if skill is None:
        return CheckedSkill("removed", None, None)
    version = _version(skill)
    state = "current" if version == loaded else "stale"
    return CheckedSkill(state, version, skill.kind.value)


def _version(skill: LocalSkill) -> Version:
    stated: int | None = None
    if skill.path.name == SKILL_MD:
        try:
            stated = parse_sidecar((skill.base / VERSION_SIDECAR).read_bytes())
        except OSError:
            stated = None
    return stated if stated is not None else skill.meta.version


def _state_of(skill: LocalSkill) -> _State:
    """Read a skill's files in one state: they are the same before and after.

    Raises:
        SkillInvalid: One of them cannot be a skill's.
        SourceUnreadable: One cannot be read, or the directory keeps changing.
    """
    for _ in range(_ATTEMPTS):
        try:
            first = _State(skill, _version(skill), _files(skill))
            if first == _State(skill, _version(skill), _files(skill)):
                return first
        except (OSError, RecursionError) as error:
            why = reason(error) if isinstance(error, OSError) else "nested too deeply"
            raise SourceUnreadable(f"`{skill.name}` cannot be read: {why}.") from error
    raise SourceUnreadable(f"`{skill.name}` changes faster than it can be read; try again.")


def _files(skill: LocalSkill) -> tuple[SkillFile, ...]:
    # Packing asks for more than half of the format; a listing does not.
    from skill_registry.agent.packing import read_directory

    skill_md = SkillFile(SKILL_MD, skill.path.read_bytes())
    if skill.path.name != SKILL_MD:
        return (skill_md,)
    files: Sequence[SkillFile] = without_sidecar(read_directory(skill.base))
    # Discovery follows links and packing does not, so that SKILL.md may be missing here.
    others = (file for file in files if file.path != SKILL_MD)
    return tuple(sorted((skill_md, *others), key=lambda file: file.path.encode()))
