"""A skill to be mounted, and what a workspace holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skill_registry.spec.model import SkillFile

if TYPE_CHECKING:
    from pathlib import Path


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
