"""Skills in an agent's workspace: ``.skills/<name>/``, whole or not at all (seed 1).

A copy is filled in a directory beside and put in its place by a rename. Its files are held against
what was put there each time that they are read, because the model can write to them.
"""

from __future__ import annotations

import errno
import hashlib
import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from skill_registry.agent import clamped, staging
from skill_registry.errors import FileNotFound, RegistryError
from skill_registry.spec.files import without_sidecar
from skill_registry.spec.model import VERSION_SIDECAR
from skill_registry.spec.names import (
    check_path,
    clean_path,
    find_collisions,
    is_directory_name,
    shown_path,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from skill_registry.spec.model import Diagnostic, SkillFile

FOLDER = ".skills"
_MOST_NAMED = 20
# What opening a link or a file as a directory says; systems differ.
_NO_DIRECTORY = (errno.ENOTDIR, errno.ELOOP, errno.EMLINK)


class CopyFailed(RegistryError):
    """A skill did not get into the workspace, or not out of it; what was there still is."""

    code = "skill_copy_failed"


class MountChanged(RegistryError):
    """A file of a copy is not what was put there."""

    code = "skill_mount_changed"


@dataclass(frozen=True, slots=True)
class MountedFile:
    """A file as it was put. ``size`` is bytes, ``sha256`` hex."""

    sha256: str
    size: int
    executable: bool


@dataclass(frozen=True, slots=True)
class MountedSkill:
    """A copy. ``directory`` is relative to the workspace, with ``/``. ``files`` are the skill's."""

    name: str
    directory: str
    files: Mapping[str, MountedFile]


class Mount:
    """The copies in one workspace. May be shared by threads, and by processes.

    Args:
        workspace: An existing directory. A relative path counts from where the process is now.
        folder: The directory in it where copies lie, made where it is missing; None is the
            workspace itself, which is then named as given in what is raised.
    """

    def __init__(self, workspace: str | os.PathLike[str], *, folder: str | None = FOLDER) -> None:
        self._workspace = str(Path(workspace).absolute())
        self._folders = () if folder is None else (folder,)
        self._place = f"{folder}/ in the workspace" if folder else shown_path(os.fspath(workspace))

    def put(
        self, name: str, files: Sequence[SkillFile], *, version: int | None = None
    ) -> MountedSkill:
        """Put a skill in its place, instead of what has that name there.

        Args:
            name: Of its directory.
            files: Its files; a ``.version`` among them is left out.
            version: What a ``.version`` beside them is to say; without it, there is none.

        Raises:
            CopyFailed: It cannot be written, or a name in it is none for a file.
        """
        _check(name, files)
        kept = without_sidecar(files)
        with self._failing(f"`{name}` was not copied to"), self._folder(create=True) as folder:
            try:
                with staging.staged(folder) as (token, target):
                    _fill(target, kept)
                    if version is not None:
                        clamped.write(target, VERSION_SIDECAR, f"{version}\n".encode(), 0o644)
                    staging.swap(folder, token, name)
            finally:
                staging.clear_away(folder)
        return MountedSkill(
            name,
            "/".join((*self._folders, name)),
            {f.path: MountedFile(f.sha256, len(f.data), f.executable) for f in kept},
        )

    def read(self, mounted: MountedSkill, path: str) -> bytes:
        """Return a file of a copy, as it was put.

        Raises:
            PathInvalid: ``path`` leaves the skill; nothing was touched.
            FileNotFound: The skill has no such file.
            MountChanged: It is gone, or something else is in its place.
        """
        try:
            file = mounted.files[path := clean_path(path)]
        except (KeyError, FileNotFound):
            available = sorted(mounted.files)[:_MOST_NAMED]
            raise FileNotFound(f"The skill has no file {path}.", available=available) from None
        data = self._verified(mounted, path, file)
        if data is None:
            raise MountChanged(f"{mounted.directory}/{path} is not as it was copied.")
        return data

    def changed(self, mounted: MountedSkill) -> tuple[str, ...]:
        """Return the paths that do not hold what was put there; further files do not count."""
        return tuple(
            path
            for path, file in mounted.files.items()
            if self._verified(mounted, path, file) is None
        )

    def remove(self, name: str) -> None:
        """Take a copy away, if there is one.

        Raises:
            CopyFailed: Some of it is still there.
        """
        _check(name, ())
        failing = self._failing(f"`{name}` was not removed from")
        with failing, suppress(FileNotFoundError), self._folder() as folder:
            staging.take_away(folder, name)
            staging.clear_away(folder)

    def _verified(self, mounted: MountedSkill, path: str, file: MountedFile) -> bytes | None:
        *above, last = path.split("/")
        try:
            with (
                self._folder() as folder,
                clamped.descended(folder, (mounted.name, *above)) as parent,
            ):
                data, executable = clamped.read(parent, last, file.size)
        except OSError:
            return None
        same = hashlib.sha256(data).hexdigest() == file.sha256
        # A script that somebody made runnable still is that script.
        return data if same and (executable or not file.executable) else None

    @contextmanager
    def _folder(self, *, create: bool = False) -> Iterator[int]:
        with (
            clamped.opened(self._workspace) as workspace,
            clamped.descended(workspace, self._folders, create=create) as folder,
        ):
            yield folder

    @contextmanager
    def _failing(self, what: str) -> Iterator[None]:
        what = f"{what} {self._place}"
        if not clamped.SUPPORTED:
            raise CopyFailed(f"{what}: this system has no way to do that safely.")
        try:
            yield
        except (OSError, ValueError) as error:
            raise CopyFailed(f"{what}: {self._reason(error)}.") from error

    def _reason(self, error: OSError | ValueError) -> str:
        """Say why, without any path of the host."""
        why = str(getattr(error, "strerror", None) or error).lower()
        if isinstance(error, OSError) and error.filename == self._workspace:
            return f"the workspace cannot be opened ({why})"
        if (
            isinstance(error, OSError)
            and error.errno in _NO_DIRECTORY
            and (error.filename,) == self._folders
        ):
            return f"{error.filename} is a link or a file, and has to be a directory"
        return why


def _check(name: str, files: Sequence[SkillFile]) -> None:
    """Refuse names that could lead anywhere else, before anything is touched."""
    # Names with a dot in front are the mount's own.
    if not is_directory_name(name) or name.startswith("."):
        raise CopyFailed("The skill's name is none for a directory in a workspace.")
    found: list[Diagnostic] = [fault for file in files for fault in check_path(file.path)]
    found.extend(find_collisions(file.path for file in files))
    if found:
        raise CopyFailed(f"`{name}` cannot be copied: {found[0].message}")


def _fill(target: int, files: Sequence[SkillFile]) -> None:
    for file in files:
        *above, last = file.path.split("/")
        with clamped.descended(target, above, create=True) as parent:
            clamped.write(parent, last, file.data, int(file.mode, 8))
