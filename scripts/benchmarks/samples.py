"""Skills to measure with: made up, of the sizes that real ones have."""

from __future__ import annotations

import random

from skill_registry.catalog.principal import SYSTEM, Principal
from skill_registry.spec.layout import ArchiveContents
from skill_registry.spec.model import SkillFile

ADMIN = Principal(
    "benchmark", reads=(SYSTEM,), default_scope=SYSTEM, tier="ultra", administrator=True
)
_WORDS = ("plan", "review", "measure", "write", "check", "split", "name", "test", "read", "mend")


def skill(name: str, *, files: int = 4, size: int = 3000, salt: int = 0) -> ArchiveContents:
    """Return a skill of ``files`` text files of about ``size`` bytes; ``salt`` changes the last."""
    text = random.Random(name)
    head = (
        f"---\nname: {name}\ndescription: {_prose(text, 150)}\nlicense: MIT\n"
        f"metadata:\n  tags: [{name.split('-')[0]}]\n---\n"
    )
    made = [SkillFile("SKILL.md", (head + _prose(text, size)).encode())]
    for number in range(1, files):
        extra = f"{salt}\n" if number == files - 1 else ""
        body = extra + _prose(text, size)
        made.append(SkillFile(f"references/part-{number}.md", body.encode()))
    return ArchiveContents(tuple(made))


def large_skill(name: str, size: int) -> ArchiveContents:
    """Return a skill of ``size`` bytes that do not compress, in files under the limit of one."""
    noise = random.Random(size)
    head = SkillFile("SKILL.md", f"---\nname: {name}\ndescription: Large.\n---\nBody\n".encode())
    left = size - len(head.data)
    files = [head]
    while left > 0:
        part = min(left, 8 * 1024 * 1024)
        files.append(SkillFile(f"assets/part-{len(files)}.bin", noise.randbytes(part)))
        left -= part
    return ArchiveContents(tuple(files))


def _prose(source: random.Random, size: int) -> str:
    words: list[str] = []
    while sum(map(len, words)) + len(words) < size:
        words.append(source.choice(_WORDS))
    return " ".join(words)
