"""Which skills of a git working tree changed since a revision, by what the git program says."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from skill_registry.agent.packing import target_name
from skill_registry.errors import RequestInvalid
from skill_registry.spec.discovery import Entry, EntryKind, plan
from skill_registry.spec.model import SKILL_MD
from skill_registry.spec.names import shown_path
from skill_registry.spec.text import shown
from skill_registry_cli.skill_paths import name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from skill_registry_cli.skill_paths import Item

# Seconds; a large working tree is read as a whole.
_PATIENCE = 300
# As long as the commits of git's two hashes.
_NO_COMMIT = ("", "0" * 40, "0" * 64)


@dataclass(frozen=True, slots=True)
class Gone:
    """A skill that there was in the revision, and is not any more."""

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Selected:
    """The items that changed, in their order, and the skills that are gone."""

    items: tuple[Item, ...]
    gone: tuple[Gone, ...] = ()


def is_everything(revision: str) -> bool:
    """Tell whether a revision is what CI names where there was none: then all has changed."""
    return revision in _NO_COMMIT


def select(items: Sequence[Item], paths: Iterable[Path], revision: str) -> Selected:
    """Return which items changed since a revision, and which skills below the paths are gone.

    An item changed where a file in it differs between the revision and the working tree, or is not
    tracked and not ignored.

    Args:
        items: Skills that are there.
        paths: What was typed; git's repository is found from each.
        revision: Any name of a commit. ``is_everything`` has been asked before.

    Raises:
        RequestInvalid: ``revision_unknown``, ``repository_missing`` or ``git_failed``.
    """
    known: dict[str, Repository] = {}
    changed: set[Item] = set()
    gone: dict[Gone, None] = {}
    for typed in paths:
        top = _top(typed)
        repository = known.setdefault(top, Repository(top, revision))
        own = [item for item in items if item.typed == typed]
        changed.update(item for item in own if repository.has_changed(item))
        gone.update(dict.fromkeys(repository.gone(typed)))
    names = {name_of(item) for item in items} if gone else set()
    left = tuple(each for each in gone if each.name not in names)
    return Selected(tuple(item for item in items if item in changed), left)


class Repository:
    """A working tree at ``top``, compared with a revision."""

    def __init__(self, top: str, revision: str) -> None:
        self._top = top
        self._revision = revision

    def has_changed(self, item: Item) -> bool:
        """Tell whether anything in an item differs; so it is where git does not see it."""
        typed = os.path.realpath(item.typed)
        # As it was reached, a link among the names included, and where it really is.
        reached = os.path.normpath(Path(typed) / os.path.relpath(item.path, item.typed))
        places = [self._inside(path) for path in {reached, os.path.realpath(item.path)}]
        return any(place is None or self._touched(place) for place in places)

    def gone(self, typed: Path) -> Iterator[Gone]:
        """Yield the skills below a path that the revision had."""
        root = self._inside(os.path.realpath(typed))
        if root is None:
            return
        was = {PurePosixPath(path).parent for path in self._changed if _is_skill_md(path)}
        lost = {place for place in was if not os.path.lexists(self._place(place) / SKILL_MD)}
        for place in sorted(lost):
            inner = place.relative_to(root) if place.is_relative_to(root) else None
            if inner is None or not _would_be_found(inner):
                continue
            # What lay inside another skill was none of its own.
            above = [each for each in place.parents if each.is_relative_to(root)]
            if any(each in lost or (self._place(each) / SKILL_MD).is_file() for each in above):
                continue
            if (data := self._before(f"{place}/{SKILL_MD}")) is not None:
                shown = shown_path(os.path.normpath(typed / inner))
                yield Gone(target_name(data, place.name), shown)

    @cached_property
    def _commit(self) -> str:
        name = self._revision
        # Nothing that starts so is a name to git, but an option might be.
        if not name.startswith("-"):
            done = _git(self._top, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
            if done.returncode == 0:
                return done.stdout.decode().strip()
        raise RequestInvalid(
            f"git knows no commit {shown(name)} here. In CI, check out the whole history"
            " (fetch-depth: 0); where it was pushed over, name another, like HEAD~1.",
            code="revision_unknown",
        )

    @cached_property
    def _changed(self) -> frozenset[str]:
        """Every path that differs, from the top, as git writes it."""
        how = ("--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=none")
        differ = self._paths("diff", *how, self._commit, "--")
        new = self._paths("ls-files", "--others", "--exclude-standard", "-z")
        # Of another repository that lies in this one, git names the directory.
        return frozenset(path.rstrip("/") for path in (*differ, *new))

    @cached_property
    def _above(self) -> frozenset[PurePosixPath]:
        """What differs, and every directory that it is in."""
        paths = [PurePosixPath(path) for path in self._changed]
        return frozenset(each for path in paths for each in (path, *path.parents))

    def _touched(self, place: PurePosixPath) -> bool:
        # A submodule is one path to git, whatever differs in it.
        return place in self._above or any(str(each) in self._changed for each in place.parents)

    def _inside(self, path: str) -> PurePosixPath | None:
        """Return a path from the top; None where it is elsewhere."""
        try:
            return PurePosixPath(Path(path).relative_to(self._top).as_posix())
        except ValueError:
            return None

    def _place(self, place: PurePosixPath) -> Path:
        return Path(self._top, place)

    def _before(self, path: str) -> bytes | None:
        """Return a file's bytes in the revision; None where it had none at that path."""
        done = _git(self._top, "cat-file", "blob", f"{self._commit}:{path}")
        return done.stdout if done.returncode == 0 else None

    def _paths(self, *arguments: str) -> list[str]:
        done = _git(self._top, *arguments)
        if done.returncode:
            raise RequestInvalid(f"git failed: {_words(done)}", code="git_failed")
        return [os.fsdecode(path) for path in done.stdout.split(b"\0") if path]


def _top(typed: Path) -> str:
    """Return the top of the working tree that a path lies in, links resolved."""
    place = Path(os.path.realpath(typed))
    while not place.is_dir():
        place = place.parent
    done = _git(str(place), "rev-parse", "--show-toplevel")
    if done.returncode:
        raise RequestInvalid(
            f"{shown_path(str(typed))} is in no git repository that can be read: {_words(done)}",
            code="repository_missing",
        )
    return os.path.realpath(os.fsdecode(done.stdout.removesuffix(b"\n")))


def _would_be_found(inner: PurePosixPath) -> bool:
    """Tell whether discovery enters every directory on a path."""
    entries = [Entry(part, EntryKind.DIRECTORY) for part in inner.parts]
    within = plan(entries, at_root=False, ignores=lambda name, is_directory: False)
    return len(within.directories) == len(entries)


def _is_skill_md(path: str) -> bool:
    return PurePosixPath(path).name == SKILL_MD


def _words(done: subprocess.CompletedProcess[bytes]) -> str:
    return done.stderr.decode("utf-8", "replace").strip() or f"it ended with {done.returncode}"


def _git(directory: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run git in a directory, with its settings, but not those of a hook that called us."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("GIT_") or key.startswith("GIT_CONFIG_")
    }
    options = ("-c", "core.fsmonitor=false", "-c", "diff.autoRefreshIndex=true")
    try:
        return subprocess.run(
            ["git", "-C", directory, *options, *arguments],
            capture_output=True,
            check=False,
            env={**kept, "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            timeout=_PATIENCE,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as failure:
        why = f"The git program cannot be run: {failure}."
        raise RequestInvalid(why, code="git_failed") from failure
