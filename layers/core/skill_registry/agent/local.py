"""Directories of this machine as a source of skills: what lies there now, read each time anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skill_registry.agent.answers import CheckedSkill, ListedSkill, View, ViewedFile
from skill_registry.agent.problems import SourceUnreadable
from skill_registry.agent.source import EVERYTHING, SkillCopy, SkillList, SkillQuery
from skill_registry.errors import FileNotFound, RequestInvalid, SkillNotFound, VersionNotFound
from skill_registry.spec.archive import content_digest
from skill_registry.spec.fences import body_of
from skill_registry.spec.model import DEFAULT_LIMITS, SKILL_MD, Limits
from skill_registry.spec.names import clean_path, shown_path
from skill_registry.spec.rendering import in_language
from skill_registry.spec.text import shown
from skill_registry.spec.visibility import TIERS, Viewer, may_see, tools_suffice

# Discovery reads YAML, the dearest import of the toolkit; an agent of a registry needs none.
if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from pathlib import Path

    from skill_registry.agent.answers import Version
    from skill_registry.agent.discovery import Discovered, LocalSkill, Locations
    from skill_registry.agent.local_state import SkillState

# Of a directory that somebody writes to while it is read.
_ATTEMPTS = 5
_MOST_NAMED = 20
_LONGEST_NAME = 64


class LocalSource:
    """The skills that discovery finds (``agent/discovery.py``), as a ``SkillSource``.

    A skill's scope is whose place it lies in: ``user``, ``project`` or ``path``. Of several skills
    with one name, a caller gets the first that it may see, in the order of discovery or of the
    query's scopes. A skill's version is that of its ``.version``, else of its frontmatter, else
    none; there is no other one to be had, and there are no labels.

    Every call looks at the directories anew, so that an edit shows in the next one.

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
        """Return the skills by name (code points), as a registry does, and what was found wrong.

        Raises:
            SkillInvalid: ``strict``, and something cannot be read; it names every such path.
            RequestInvalid: ``filter_invalid``: the query's tier is none.
        """
        found = self._found(query, strict=self._strict)
        tools = _tools(query)
        listed = [
            _listed(skill, query.language)
            for skill in found.skills
            if not skill.meta.disable_model_invocation
            and tools_suffice(skill.meta.allowed_tools, tools)
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
            SkillInvalid: The skill is over a limit.
            SourceUnreadable: It cannot be read, or keeps changing.
            RequestInvalid: ``filter_invalid``: the query's tier is none.
        """
        path = clean_path(path)
        skill, state = self._read(name, version, query)
        file = next((file for file in state.files if file.path == path), None)
        if file is None:
            paths = [file.path for file in state.files]
            raise FileNotFound(f"`{name}` has no file `{path}`.", available=paths[:_MOST_NAMED])
        told = [diagnostic.to_dict() for diagnostic in state.left_out]
        return View(
            name=name,
            scope=skill.kind.value,
            version=state.version,
            path=path,
            data=body_of(file.data).encode() if path == SKILL_MD else file.data,
            files=tuple(
                ViewedFile(each.path, len(each.data), each.sha256, each.mode)
                for each in state.files
            ),
            metadata=state.meta.to_dict(),
            answer={"diagnostics": told} if told else {},
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
        skill, state = self._read(name, version, query)
        tag = f"{skill.path}:{state.version!r}:{content_digest(state.files)}"
        if tag == known:
            return None
        return SkillCopy(name, skill.kind.value, state.version, state.files, tag)

    def check(
        self, loaded: Mapping[str, Version], *, query: SkillQuery = EVERYTHING
    ) -> Mapping[str, CheckedSkill]:
        """Tell of each name whether it still lies there at that version.

        Without versions, a skill is current as long as it is there.

        Raises:
            RequestInvalid: ``filter_invalid``: the query's tier is none.
        """
        there = {skill.name: skill for skill in self._found(query).skills}
        return {name: _checked(there.get(name), version) for name, version in loaded.items()}

    def _found(self, query: SkillQuery, *, strict: bool = False) -> Discovered:
        """Discover anew, and keep what this caller may see."""
        from skill_registry.agent.discovery import discover

        if query.tier is not None and query.tier not in TIERS:
            raise RequestInvalid(
                f"`tier` is {' or '.join(TIERS)}; without it, {TIERS[0]}.", code="filter_invalid"
            )
        found = discover(self._sources, strict=strict, **self._where)
        viewer = Viewer(tier=query.tier, relevant_to=query.agent)
        seen = [
            skill
            for skill in found.candidates
            if (not query.scopes or skill.kind in query.scopes)
            and may_see(agents=skill.meta.agents, min_tier=skill.meta.min_tier, viewer=viewer)
        ]
        if query.scopes:
            seen.sort(key=lambda skill: query.scopes.index(skill.kind))
        return found.among(seen)

    def _read(
        self, name: str, version: int | str | None, query: SkillQuery
    ) -> tuple[LocalSkill, SkillState]:
        from skill_registry.agent.local_state import read_state

        failure: OSError | None = None
        for _ in range(_ATTEMPTS):
            skill = self._find(name, query)
            try:
                state = read_state(skill, self._limits)
            except OSError as error:
                # Who writes a file by renaming another one takes it away for a moment.
                failure = error
                continue
            failure = None
            if state is not None:
                _check_version(name, version, state.version)
                return skill, state
        raise _unreadable(name, failure) from failure

    def _find(self, name: str, query: SkillQuery) -> LocalSkill:
        there = self._found(query).skills
        skill = next((skill for skill in there if skill.name == name), None)
        if skill is None:
            names = sorted(s.name for s in there if not s.meta.disable_model_invocation)
            message = f"There is no skill {shown(name, _LONGEST_NAME)}."
            raise SkillNotFound(message, available=names[:_MOST_NAMED])
        return skill


def _tools(query: SkillQuery) -> frozenset[str] | None:
    from skill_registry.spec.fields import split_tools

    if query.tools is None:
        return None
    return frozenset(tool for text in query.tools for tool in split_tools(text))


def _listed(skill: LocalSkill, language: str | None) -> ListedSkill:
    from skill_registry.agent.local_state import version_of

    meta = skill.meta
    description = in_language(meta.description, meta.descriptions, language)
    version, scope = version_of(skill), skill.kind.value
    optional = {
        "license": meta.license,
        "compatibility": meta.compatibility,
        "allowed_tools": list(meta.allowed_tools),
        "min_tier": meta.min_tier,
        "tags": list(meta.tags),
        "source": meta.source,
        "upstream": dict(meta.upstream) if meta.upstream else None,
    }
    answer = {
        "name": meta.name,
        "scope": scope,
        "version": version,
        "description": description,
        **{key: value for key, value in optional.items() if value},
    }
    return ListedSkill(meta.name, scope, version, description, answer)


def _checked(skill: LocalSkill | None, loaded: Version) -> CheckedSkill:
    from skill_registry.agent.local_state import version_of

    if skill is None:
        return CheckedSkill("removed", None, None)
    version = version_of(skill)
    state = "current" if version == loaded else "stale"
    return CheckedSkill(state, version, skill.kind.value)


def _check_version(name: str, asked: int | str | None, there: Version) -> None:
    # A frontmatter's number is text here, and text is what a caller may have of a number.
    if asked is None or (there is not None and str(asked) == str(there)):
        return
    has = "states no version" if there is None else f"lies there at version {there}"
    raise VersionNotFound(f"`{name}` {has}; there is no version {shown(str(asked))} of it.")


def _unreadable(name: str, failure: OSError | None) -> SourceUnreadable:
    if failure is None:
        return SourceUnreadable(f"`{name}` changes faster than it can be read; try again.")
    from skill_registry.agent.walking import reason

    where = shown_path(str(failure.filename)) if failure.filename else "its directory"
    return SourceUnreadable(f"`{name}` cannot be read: {where}: {reason(failure)}.")
