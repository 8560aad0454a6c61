"""Publishes the skills that come with the project, through the registry's own HTTP API."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from skill_registry.spec.archive import write_archive
from skill_registry.spec.model import SKILL_MD, SkillFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx

SCOPE = "system"
IGNORED = frozenset({"__pycache__", "node_modules"})


def skill_folders(folder: Path) -> list[Path]:
    """Return the folders with a SKILL.md directly under ``folder``, by name."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if (path / SKILL_MD).is_file())


async def publish_folder(client: httpx.AsyncClient, folder: Path) -> str | None:
    """Publish one skill unless the registry has, or ever had, one of that name.

    Returns None when it is there, else one line that says why it is not. It is there when the
    precondition does not hold (412), and when the key was used for an earlier state of the folder
    (409): what the registry's users made of the skill since then is theirs.
    """
    archive = await asyncio.to_thread(lambda: write_archive(read_files(folder)))
    response = await client.put(
        f"/skills/{folder.name}",
        params={"scope": SCOPE},
        content=archive,
        headers={
            "Content-Type": "application/zip",
            "If-None-Match": "*",
            "Idempotency-Key": f"bundled-{folder.name}",
        },
    )
    if response.is_success or response.status_code in (409, 412):
        return None
    return f"{folder.name}: {_reason(response)}"


def read_files(folder: Path) -> list[SkillFile]:
    """Read a skill's files; hidden ones and what tools leave behind are not part of it."""
    return [
        SkillFile(
            path.relative_to(folder).as_posix(),
            path.read_bytes(),
            executable=bool(path.stat().st_mode & 0o100),
        )
        for path in sorted(_visible(folder))
    ]


def _visible(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name.startswith(".") or path.name in IGNORED:
            continue
        if path.is_dir():
            yield from _visible(path)
        elif path.is_file():
            yield path


def _reason(response: httpx.Response) -> str:
    try:
        problem = response.json()
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        return f"HTTP {response.status_code}"
    faults = [
        f"{fault.get('file', SKILL_MD)}: {fault.get('message')}"
        for fault in problem.get("diagnostics", ())
        if fault.get("severity") == "error"
    ]
    detail = problem.get("detail") or problem.get("title") or problem.get("message")
    return f"{detail} {'; '.join(faults)}".strip()
