"""One skill of the registry becomes a directory here, and no edit is lost by it."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from skill_registry.agent.local_state import stated_version
from skill_registry.agent.mount import CopyFailed, Mount
from skill_registry.agent.problems import RegistryProblem
from skill_registry.agent.source import EVERYTHING
from skill_registry.agent.walking import reason
from skill_registry.errors import RegistryError, RequestInvalid
from skill_registry.spec.names import is_directory_name, shown_path
from skill_registry.spec.text import shown
from skill_registry_cli.failures import document_of
from skill_registry_cli.local_copies import by_path, differences, everything

if TYPE_CHECKING:
    from pathlib import Path

    from skill_registry.agent.answers import Version, View
    from skill_registry.agent.client import RegistryClient
    from skill_registry_cli.local_copies import Difference, Files

_MOST_NAMED = 10
# What a registry says of a version that it does not have, or no more.
_NOT_TO_BE_HAD = (404, 410)


class CopyEdited(RegistryError):
    """A directory holds what no version of the registry does, so that it is not replaced."""

    code = "copy_edited"

    def __init__(self, where: str, than: str, found: tuple[Difference, ...]) -> None:
        named = [f"{each.path} ({each.change})" for each in found[:_MOST_NAMED]]
        if more := len(found) - len(named):
            named.append(f"{more} more")
        super().__init__(
            f"{where} is not as {than} is: {', '.join(named)}."
            " Nothing was changed; --force replaces it, and loses that."
        )
        self.differences = found


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be pulled: None is the current version, and the first scope that has it."""

    name: str
    version: int | str | None = None
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class Pulled:
    """What came of one skill.

    Attributes:
        state: ``pulled``, ``current`` where nothing had to be written, or ``refused``.
        path: Its directory.
        replaced: What the ``.version`` said that was there before.
    """

    name: str
    path: str
    state: str
    version: Version = None
    scope: str | None = None
    replaced: int | None = None
    error: RegistryError | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        document: dict[str, Any] = {"name": self.name, "path": self.path, "state": self.state}
        if self.error is None:
            return {
                **document,
                "scope": self.scope,
                "version": self.version,
                "replaced": self.replaced,
            }
        if isinstance(self.error, CopyEdited):
            document["files"] = [each.to_dict() for each in self.error.differences]
        return {**document_of(self.error), **document}


@dataclass(frozen=True, slots=True)
class _Here:
    """What lies in the skill's place already."""

    files: Files
    stated: int | None


class Puller:
    """Pulls into one directory. May be shared by threads.

    Args:
        client: The registry.
        folder: The directory, made where it is missing.
        force: Replace a directory whatever is in it.
        dry_run: Ask and compare only.
    """

    def __init__(
        self, client: RegistryClient, folder: Path, *, force: bool = False, dry_run: bool = False
    ) -> None:
        self._client = client
        self._folder = folder
        self._force = force
        self._dry_run = dry_run

    def pull(self, wanted: Wanted) -> Pulled:
        """Pull a skill, all of it or nothing; what it is refused for is in the result."""
        path = shown_path(os.path.normpath(self._folder / wanted.name))
        try:
            return self._pulled(wanted, path)
        except RegistryError as error:
            return Pulled(wanted.name, path, "refused", error=error)
        except OSError as failure:
            place = shown_path(os.fsdecode(failure.filename)) if failure.filename else path
            why = f"`{wanted.name}` was not copied: {place}: {reason(failure)}."
            return Pulled(wanted.name, path, "refused", error=CopyFailed(why))

    def _pulled(self, wanted: Wanted, path: str) -> Pulled:
        if not is_directory_name(wanted.name) or wanted.name.startswith("."):
            raise RequestInvalid(f"{shown(wanted.name)} is no name for a skill's directory.")
        here = self._here(wanted, path)
        stated = here.stated if here else None
        if here is not None or self._dry_run:
            view = self._view(wanted)
            number = view.version if isinstance(view.version, int) else None
            # What was compared is what is brought, whatever is published meanwhile.
            wanted = replace(wanted, version=number or wanted.version, scope=view.scope)
            done = Pulled(wanted.name, path, "pulled", view.version, view.scope, stated)
            if here is not None:
                found = differences(by_path(view.files), here.files)
                if not found and number == stated:
                    return replace(done, state="current")
                if found and not self._force:
                    self._check_replaceable(wanted.name, view, here, found, path)
            if self._dry_run:
                return done
        query = EVERYTHING.within(wanted.scope)
        copy = self._client.load_skill(wanted.name, wanted.version, query=query)
        assert copy is not None  # None answers a `known`, and there is none.
        if not self._force and self._here(wanted, path) != here:
            raise CopyFailed(f"{path} was changed meanwhile, so nothing was written. Try again.")
        number = copy.version if isinstance(copy.version, int) else None
        self._folder.mkdir(parents=True, exist_ok=True)
        Mount(self._folder, folder=None).put(wanted.name, copy.files, version=number)
        return Pulled(wanted.name, path, "pulled", copy.version, copy.scope, stated)

    def _here(self, wanted: Wanted, path: str) -> _Here | None:
        """Read what is in the skill's place; None where there is nothing."""
        place = self._folder / wanted.name
        try:
            mode = place.lstat().st_mode
        except FileNotFoundError:
            return None
        if not stat.S_ISDIR(mode):
            kind = "a link" if stat.S_ISLNK(mode) else "no directory"
            raise CopyFailed(f"{path} is {kind}, and stays as it is. Move it away, or use --to.")
        try:
            files = everything(place)
        except OSError:
            if not self._force:
                raise
            files = {}
        return _Here(files, stated_version(place))

    def _view(self, wanted: Wanted) -> View:
        return self._client.view_skill(wanted.name, version=wanted.version, scope=wanted.scope)

    def _check_replaceable(
        self, name: str, view: View, here: _Here, found: tuple[Difference, ...], path: str
    ) -> None:
        """Let a directory be replaced that is as published, or empty.

        Raises:
            CopyEdited: It is neither.
        """
        than = f"{name} v:{'-' if view.version is None else view.version}"
        if here.stated is not None and here.stated != view.version:
            try:
                own = self._view(Wanted(name, here.stated, view.scope))
            except RegistryProblem as problem:
                if problem.status not in _NOT_TO_BE_HAD:
                    raise
            else:
                found = differences(by_path(own.files), here.files)
                than = f"{name} v:{here.stated}"
        if found and here.files:
            raise CopyEdited(path, than, found)
