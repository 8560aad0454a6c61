"""How a skill's files come to the model: straight from the source, or through the workspace.

Within a turn a skill is read at one version, and nothing is asked for twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from skill_registry.agent.mount import CopyFailed, MountChanged
from skill_registry.agent.problems import AnswerInvalid, RegistryProblem
from skill_registry.agent.steps import ask, on_disk
from skill_registry.errors import (
    Forbidden,
    Gone,
    NotFound,
    RegistryError,
    RequestInvalid,
    SkillInvalid,
    SkillNotFound,
)
from skill_registry.spec.archive import content_digest, digest_of
from skill_registry.spec.fences import body_of
from skill_registry.spec.model import SKILL_MD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skill_registry.agent.answers import Version, View
    from skill_registry.agent.lockfile import LockedSkill
    from skill_registry.agent.mount import Mount, MountedSkill
    from skill_registry.agent.source import SkillCopy, SkillQuery
    from skill_registry.agent.steps import Flow

RESTORED = "The copy in {} had been changed and was put back. Change a copy of it elsewhere."
REMEMBERED = "The registry does not answer ({}); this is what was loaded before."

# What a source says of the skill that was asked for; all else is a failure on the way to it.
_REFUSALS = (Forbidden, Gone, NotFound, RequestInvalid, SkillInvalid)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A skill that is to be read: at which version, for whom, and what a lock file says of it."""

    name: str
    version: int | str | None
    query: SkillQuery
    locked: LockedSkill | None = None

    def at(self, version: Version, scope: str) -> Wanted:
        """Return the same, at what was read of it already; only numbers can be asked for again."""
        if not isinstance(version, int):
            return self
        return replace(self, version=version, query=replace(self.query, scopes=(scope,)))


@dataclass(frozen=True, slots=True)
class Facts:
    """What a skill's frontmatter says that events and footers repeat."""

    description: str = ""
    source: str | None = None
    upstream: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Loaded:
    """One file of a skill, as the model may have it.

    Attributes:
        version: Of exactly these bytes.
        data: The body for SKILL.md, else the file as it is stored.
        files: The paths of all files.
        directory: Where they lie in the workspace, None without one.
        note: What the model should know of how they came there.
    """

    name: str
    version: Version
    path: str
    data: bytes = field(repr=False)
    files: tuple[str, ...]
    facts: Facts
    directory: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Copied:
    """A skill in the workspace, and where it is from."""

    mounted: MountedSkill
    version: Version
    scope: str
    tag: str
    facts: Facts
    note: str | None = None


@dataclass(slots=True)
class Turn:
    """What was read in one turn."""

    copies: dict[str, Copied] = field(default_factory=dict)
    views: dict[tuple[str, str], Loaded] = field(default_factory=dict)
    wanted: dict[str, Wanted] = field(default_factory=dict)

    def forget(self, name: str) -> None:
        """Let the next read of a skill ask again."""
        self.copies.pop(name, None)
        self.wanted.pop(name, None)
        for key in [key for key in list(self.views) if key[0] == name]:
            self.views.pop(key, None)


class Reader(Protocol):
    """A way in which files reach the model."""

    def read(self, wanted: Wanted, path: str, turn: Turn) -> Flow[Loaded]:
        """Return a file. ``path`` is a clean one. Raises RegistryError."""


def view_of(wanted: Wanted, path: str | None = None) -> Flow[View]:
    """View a skill, or a file of it."""
    return ask(
        lambda source: source.view_skill(wanted.name, path, wanted.version, query=wanted.query)
    )


class SourceReader:
    """Reads each file from the source when it is asked for."""

    def read(self, wanted: Wanted, path: str, turn: Turn) -> Flow[Loaded]:
        """As ``Reader.read``."""
        if (known := turn.views.get((wanted.name, path))) is not None:
            return known
        exact = turn.wanted.get(wanted.name, wanted)
        asked = None if path == SKILL_MD else path
        view = yield from view_of(exact, asked)
        if wanted.locked is not None:
            wanted.locked.check(digest_of((f.path, f.mode, f.sha256) for f in view.files))
        loaded = Loaded(
            name=wanted.name,
            version=view.version,
            path=view.path,
            data=view.data,
            files=tuple(file.path for file in view.files),
            facts=_facts_of_view(view),
        )
        turn.wanted[wanted.name] = wanted.at(view.version, view.scope)
        turn.views[wanted.name, path] = loaded
        return loaded


class WorkspaceReader:
    """Materializes a whole skill in the workspace and reads its files back from there.

    The model reads the very bytes that a shell there runs (seed 1).
    """

    def __init__(self, mount: Mount) -> None:
        self._mount = mount
        self._copies: dict[str, Copied] = {}

    def read(self, wanted: Wanted, path: str, turn: Turn) -> Flow[Loaded]:
        """As ``Reader.read``.

        Raises:
            CopyFailed: The skill could not be had, or not be written; the cause says why.
        """
        copied = turn.copies.get(wanted.name)
        if copied is None:
            copied = yield from self._materialize(wanted)
        try:
            data = yield from self._read(copied, path)
        except MountChanged:
            copied = yield from self._restore(wanted, copied)
            data = yield from self._read(copied, path)
        turn.copies[wanted.name] = replace(copied, note=None)
        return Loaded(
            name=wanted.name,
            version=copied.version,
            path=path,
            data=body_of(data).encode() if path == SKILL_MD else data,
            files=tuple(copied.mounted.files),
            facts=copied.facts,
            directory=copied.mounted.directory,
            note=copied.note,
        )

    def _read(self, copied: Copied, path: str) -> Flow[bytes]:
        return (yield from on_disk(lambda: self._mount.read(copied.mounted, path)))

    def _materialize(self, wanted: Wanted) -> Flow[Copied]:
        """Bring the skill, unless what lies in the workspace is it."""
        have = self._copies.get(wanted.name)
        try:
            fetched = yield from _fetched(wanted, have.tag if have is not None else None)
        except RegistryError as error:
            return (yield from self._without_source(wanted, have, error))
        if fetched is not None:
            return (yield from self._put(wanted, fetched))
        if have is None:
            raise AnswerInvalid(f"The files of `{wanted.name}` were not sent.")
        if (yield from on_disk(lambda: self._mount.changed(have.mounted))):
            return (yield from self._restore(wanted, have))
        return have

    def _restore(self, wanted: Wanted, copied: Copied) -> Flow[Copied]:
        """Put a copy back that was changed, at the version that the turn began with."""
        exact = wanted.at(copied.version, copied.scope)
        try:
            fetched = yield from _fetched(exact, None)
        except RegistryError as error:
            raise _failed(wanted.name, error) from error
        if fetched is None:
            raise AnswerInvalid(f"The files of `{wanted.name}` were not sent.")
        again = yield from self._put(wanted, fetched)
        return replace(again, note=RESTORED.format(copied.mounted.directory))

    def _put(self, wanted: Wanted, fetched: SkillCopy) -> Flow[Copied]:
        if wanted.locked is not None:
            wanted.locked.check(content_digest(fetched.files))
        mounted = yield from on_disk(lambda: self._mount.put(wanted.name, fetched.files))
        copied = Copied(
            mounted, fetched.version, fetched.scope, fetched.tag, _facts_of_copy(fetched)
        )
        self._copies[wanted.name] = copied
        return copied

    def _without_source(
        self, wanted: Wanted, have: Copied | None, error: RegistryError
    ) -> Flow[Copied]:
        """Decide what counts where the source brought nothing.

        A skill that was taken away is taken out of the workspace too. Where the source failed,
        what it gave before still counts, as long as it lies there unchanged.
        """
        if refuses(error):
            if error.code == SkillNotFound.code:
                # Also one that an earlier process left there.
                self._copies.pop(wanted.name, None)
                yield from on_disk(lambda: self._mount.remove(wanted.name))
            raise error
        if have is None or wanted.version not in (None, have.version):
            raise _failed(wanted.name, error) from error
        if (yield from on_disk(lambda: self._mount.changed(have.mounted))):
            raise _failed(wanted.name, error) from error
        return replace(have, note=REMEMBERED.format(error.code))


def _fetched(wanted: Wanted, known: str | None) -> Flow[SkillCopy | None]:
    return ask(
        lambda source: source.load_skill(
            wanted.name, wanted.version, query=wanted.query, known=known
        )
    )


def refuses(error: RegistryError) -> bool:
    """Tell whether a source speaks of what was asked for, and not of a failure of its own."""
    if isinstance(error, RegistryProblem):
        # Without a code of the registry's own it is somebody else who refuses.
        named = error.code not in ("not_found", "refused", "request_invalid", "too_large")
        return named and 400 <= error.status < 500 and error.status != 429
    return isinstance(error, _REFUSALS)


def _failed(name: str, error: RegistryError) -> CopyFailed:
    return CopyFailed(f"`{name}` could not be copied into the workspace: {error.message}")


def _facts_of_view(view: View) -> Facts:
    description, source = view.metadata.get("description"), view.metadata.get("source")
    upstream = view.metadata.get("upstream")
    return Facts(
        description if isinstance(description, str) else "",
        source if isinstance(source, str) else None,
        upstream if isinstance(upstream, dict) else None,
    )


def _facts_of_copy(copy: SkillCopy) -> Facts:
    # Reading YAML is the dearest import of the toolkit, and a listing needs none.
    from skill_registry.spec.files import skill_md_of
    from skill_registry.spec.validation import read_skill

    skill_md = skill_md_of(copy.files)
    meta = read_skill(skill_md.data, directory=copy.name).meta if skill_md is not None else None
    return Facts(meta.description, meta.source, meta.upstream) if meta is not None else Facts()
