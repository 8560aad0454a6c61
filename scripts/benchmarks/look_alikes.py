"""Made-up skills that look like those that were found in the wild, from the tests' inputs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from local_stack.virtualenvs import PROJECT

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = PROJECT / "tests" / "cases" / "look_alikes.jsonl"


def read_look_alikes() -> list[dict[str, Any]]:
    """Return the cases: ``id`` is the directory's name, ``outcome`` what a publish makes of it."""
    lines = SOURCE.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


def write_look_alike(case: dict[str, Any], folder: Path) -> Path:
    """Write one as a directory below ``folder``; return it."""
    directory = folder / str(case["id"])
    for path, given in case["files"].items():
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(_data(given, case))
        file.chmod(0o755 if path in case.get("runnable", ()) else 0o644)
    return directory


def _data(given: str | dict[str, Any], case: dict[str, Any]) -> bytes:
    """Read a file of a case: text, where ``<fill>`` may stand for more, ``hex``, or ``numbers``."""
    if isinstance(given, str):
        piece, count = case.get("fill", ("", 0))
        return given.replace("<fill>", piece * count).encode()
    if "hex" in given:
        return bytes.fromhex(given["hex"])
    # Spread out, so that they do not compress like a bomb.
    return "".join(f"{n * 2654435761 % 2**32:08x}\n" for n in range(given["numbers"])).encode()
