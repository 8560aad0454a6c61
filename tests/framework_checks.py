"""Checks that run inside the environment of the frameworks, where there is no pytest.

A program in ``frameworks/`` has functions ``check_*``, each of which gets a workspace and skills.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skill_registry.agent import LocalSource
from skill_registry.agent.source import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skill_registry.agent import SkillQuery
    from skill_registry.agent.source import SkillList

PROMPT = "You are an engineer."
BLOCK = "- **sums**: Adds numbers."
Check = Callable[["Skills"], None]


class Skills(LocalSource):
    """One skill in a directory, as a source that counts its listings."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "skills")
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.listings = 0
        skill = folder / "skills" / "sums"
        (skill / "references").mkdir(parents=True)
        (skill / "SKILL.md").write_text("---\nname: sums\ndescription: Adds numbers.\n---\nAdd.\n")
        (skill / "references" / "units.md").write_text("Apples.\n")

    def list_all(self, query: SkillQuery = EVERYTHING) -> SkillList:
        self.listings += 1
        return super().list_all(query)


def run_checks(names: Mapping[str, Any]) -> None:
    """Run every check among the names of a program, and print which were run, as JSON."""
    checks: dict[str, Check] = {name: v for name, v in names.items() if name.startswith("check_")}
    for check in checks.values():
        with tempfile.TemporaryDirectory() as folder:
            check(Skills(Path(folder)))
    print(json.dumps(sorted(checks)))
