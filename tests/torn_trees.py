"""A folder of skills that is changed while its calls fail: before, after, and in between."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mounts import Watched, tree

from skill_registry.agent import clamped
from skill_registry.spec.model import SkillFile
from skill_registry_cli.vendoring import plan as planning
from skill_registry_cli.vendoring import tree as changing
from skill_registry_cli.vendoring.tree import Change, apply, locked, unfinished

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pytest

# What Watched does not count: each is a call to the system as well.
_MORE = frozenset({"fsync", "scandir", "fdopen"})
BEFORE: Mapping[str, bytes] = {
    "manifest.yaml": b"# ours\nold",
    "notes.txt": b"nobody's",
    "kept/SKILL.md": b"kept",
    "changed/SKILL.md": b"old",
    "changed/deep/er/old.md": b"old",
    "removed/SKILL.md": b"removed",
}
AFTER: Mapping[str, bytes] = {
    "manifest.yaml": b"# ours\nnew",
    "manifest.lock": b"{}",
    "notes.txt": b"nobody's",
    "kept/SKILL.md": b"kept",
    "changed/SKILL.md": b"new",
    "changed/deep/er/new.md": b"new",
    "added/SKILL.md": b"added",
}
CHANGE = Change(
    {
        "changed": [SkillFile("SKILL.md", b"new"), SkillFile("deep/er/new.md", b"new", True)],
        "added": [SkillFile("SKILL.md", b"added")],
    },
    ("removed",),
    {"manifest.yaml": b"# ours\nnew", "manifest.lock": b"{}"},
    {"manifest.yaml": b"# ours\nold"},
)


class System(Watched):
    """The module ``os`` as a change of a tree sees it."""

    def install(self, patch: pytest.MonkeyPatch) -> None:
        for module in (clamped, changing, planning):
            patch.setattr(module, "os", self)

    def __getattr__(self, name: str) -> object:
        if name not in _MORE:
            return super().__getattr__(name)
        value = getattr(os, name)

        def call(*arguments: object, **more: object) -> object:
            self.calls += 1
            return self.around(self.calls, name, lambda: value(*arguments, **more))

        return call


@contextmanager
def room() -> Iterator[Path]:
    """Give a folder, in memory where the system has one there: hundreds of trees come and go."""
    memory = Path("/dev/shm")
    folder = tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK) else None)
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder)


def plant(root: Path, files: Mapping[str, bytes] = BEFORE) -> Path:
    """Write a tree; every file with a mode of its own, so that a lost one is noticed."""
    for path, data in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    (root / "manifest.yaml").chmod(0o640)
    return root


def change(root: Path, what: Change = CHANGE) -> None:
    """Do a change as a sync does."""
    with locked(root) as folder:
        apply(root, folder, what)


def recover(root: Path) -> None:
    """Do what a sync does first."""
    with locked(root):
        pass


def visible(root: Path) -> dict[str, bytes]:
    """Return all files but those of an unfinished change."""
    left = tuple(f"{name}/" for name in unfinished(root))
    return {path: data for path, data in tree(root).items() if not (f"{path}/").startswith(left)}


def leave_unfinished(root: Path, what: Change = CHANGE, renames: int = 4) -> str:
    """Leave what a process that is killed after some renames leaves; return its name."""

    class Gone(BaseException):
        pass

    done = 0

    def around(_: int, name: str, call: object) -> object:
        nonlocal done
        if done > renames:
            raise Gone
        done += name == "rename"
        return call()  # type: ignore[operator]

    # Not by pytest's patch, so that it can be used in the middle of a test.
    system = System(around)
    modules = (clamped, changing, planning)
    for module in modules:
        module.os = system  # type: ignore[attr-defined]
    try:
        change(root, what)
    except Gone:
        pass
    finally:
        for module in modules:
            module.os = os  # type: ignore[attr-defined]
    (name,) = unfinished(root)
    assert len(name) > len(secrets.token_hex(4))
    return name
