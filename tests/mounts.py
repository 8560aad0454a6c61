"""A skill to be mounted, what a workspace holds, and a look at every call that touches it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from skill_registry.agent import clamped, staging
from skill_registry.spec.model import SkillFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

_READING = frozenset({"open", "read", "fstat", "stat", "listdir"})
_WRITING = frozenset({"mkdir", "write", "fchmod", "chmod", "rename", "rmdir", "unlink"})


def files(text: str = "one") -> list[SkillFile]:
    return [
        SkillFile("SKILL.md", f"---\nname: a\n---\n{text}\n".encode()),
        SkillFile("references/deep/er.md", f"more of {text}".encode()),
        SkillFile("scripts/run.py", f"print('{text}')\n".encode(), executable=True),
        SkillFile("assets/logo.png", b"\x89PNG\xff" + text.encode()),
    ]


def tree(directory: Path) -> dict[str, bytes]:
    """Return the files below a directory; for a link what it is, not what it names."""
    return {
        str(path.relative_to(directory)): b"-> link" if path.is_symlink() else path.read_bytes()
        for path in directory.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def expected(text: str = "one") -> dict[str, bytes]:
    return {file.path: file.data for file in files(text)}


def left_over(workspace: Path) -> list[str]:
    return [path.name for path in (workspace / ".skills").iterdir() if path.name.startswith(".")]


class Watched:
    """The module ``os``, as the mount sees it: its calls that touch files are counted.

    Args:
        around: Makes the call, or does not. Gets its number, from 1, its name, and the call.
    """

    def __init__(self, around: Callable[[int, str, Callable[[], object]], object]) -> None:
        self.around = around
        self.calls = 0

    def install(self, patch: pytest.MonkeyPatch) -> None:
        for module in (clamped, staging):
            patch.setattr(module, "os", self)

    def __getattr__(self, name: str) -> object:
        value = getattr(os, name)
        if name not in _READING | _WRITING:
            return value

        def call(*arguments: object, **more: object) -> object:
            self.calls += 1
            return self.around(self.calls, name, lambda: value(*arguments, **more))

        return call
