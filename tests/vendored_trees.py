"""A tree of vendored skills as a sync leaves it, made without one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skill_registry.spec.model import SkillFile
from skill_registry_cli.vendoring import checking
from skill_registry_cli.vendoring.digests import digest_of_files, digests
from skill_registry_cli.vendoring.lock import LOCK, write_lock
from skill_registry_cli.vendoring.manifest import MANIFEST, Entry, Source
from skill_registry_cli.vendoring.rendering import rendered
from skill_registry_cli.vendoring.repositories import AllowedHosts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from skill_registry.spec.model import Diagnostic

KIT = "https://github.com/acme/kit"
COMMIT = "ab" * 20


@dataclass(frozen=True)
class Skill:
    """A vendored skill: its name, its files besides SKILL.md, and which of them may be run."""

    name: str
    more: Mapping[str, bytes] = field(default_factory=dict)
    runnable: tuple[str, ...] = ()

    def upstream(self) -> list[SkillFile]:
        text = (
            f"---\nname: {self.name}\ndescription: Does {self.name}. Use when asked.\n---\n\n"
            f"# {self.name}\n\nDo it.\n"
        )
        more = [SkillFile(path, data, path in self.runnable) for path, data in self.more.items()]
        return [SkillFile("SKILL.md", text.encode()), *more]


class Tree:
    """A folder of skills with manifest and lock. The source is ``kit``, its agents ``review``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._skills: dict[str, list[SkillFile]] = {}
        self._local: list[str] = []
        root.mkdir(parents=True)

    def write(self, *skills: Skill) -> None:
        """Write vendored skills, and manifest and lock anew."""
        repository = AllowedHosts().repository(KIT)
        assert repository is not None
        source = Source("kit", repository, "main", COMMIT)
        for skill in skills:
            entry = Entry(skill.name, ("review",), "kit", f"skills/{skill.name}")
            files = rendered(entry, source, skill.upstream())
            self._skills[skill.name] = list(files)
            for file in files:
                path = self.root / skill.name / file.path
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(file.data)
                path.chmod(int(file.mode, 8))
        self._write_both()

    def write_local(self, name: str, *, listed: bool = True) -> None:
        """Write a skill that is this tree's own."""
        path = self.root / name / "SKILL.md"
        path.parent.mkdir()
        path.write_text(f"---\nname: {name}\ndescription: Ours.\nagents: [coding]\n---\nDo it.\n")
        if listed:
            self._local.append(name)
            self._write_both()

    def forget(self, name: str) -> None:
        """Take a skill out of the manifest, and leave its directory and its lock."""
        text = (self.root / MANIFEST).read_text()
        entry = self._entry(name)
        assert entry in text
        (self.root / MANIFEST).write_text(text.replace(entry, ""))

    def relock(self, name: str, more: Mapping[str, bytes]) -> None:
        """Write a lock that has other files of a skill."""
        kept = [file for file in self._skills[name] if file.path not in more]
        self._skills[name] = [*kept, *(SkillFile(path, data) for path, data in more.items())]
        self._write_both()

    def check(self) -> list[Diagnostic]:
        """Return the problems of the tree."""
        return checking.check(self.root, AllowedHosts())

    def body_digest(self, name: str) -> str:
        """Return the digest of a body as its upstream has it."""
        return digests(Skill(name).upstream()).body

    def files_digest(self, name: str) -> str:
        """Return the digest of all files as they were written."""
        return digest_of_files(digests(self._skills[name]).files)

    def _entry(self, name: str) -> str:
        return f"  - name: {name}\n    source: kit\n    path: skills/{name}\n    agents: [review]\n"

    def _write_both(self) -> None:
        text = f"sources:\n  kit:\n    repo: {KIT}\n    ref: main\n    commit: {COMMIT}\nskills:\n"
        text += "".join(self._entry(name) for name in self._skills)
        text += "".join(f"  - {{name: {n}, local: true, agents: [coding]}}\n" for n in self._local)
        (self.root / MANIFEST).write_text(text)
        lock = {name: digests(files).files for name, files in self._skills.items()}
        (self.root / LOCK).write_bytes(write_lock(lock))
