"""The lock beside the manifest: every file of every vendored skill, by mode and digest.

The digest in a SKILL.md says that something differs; this says what.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from skill_registry_cli.vendoring.digests import Fingerprint

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    # By skill, then by path.
    Lock = Mapping[str, Mapping[str, Fingerprint]]

LOCK = "manifest.lock"

_LINE = re.compile(r"(0644|0755) ([0-9a-f]{64})")
_MOST_BYTES = 64 * 1024 * 1024


def write_lock(skills: Lock) -> bytes:
    """Return the file: JSON, sorted, one line a file, so that a diff shows what changed."""
    document = {
        "skills": {
            name: {path: f"{one.mode} {one.sha256}" for path, one in files.items()}
            for name, files in skills.items()
        }
    }
    text = json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True)
    return text.encode("utf-8", "surrogateescape") + b"\n"


def read_lock(path: Path) -> dict[str, dict[str, Fingerprint]] | None:
    """Return what the lock says; None where it is not there or is none."""
    try:
        with path.open("rb") as file:
            document = json.loads(file.read(_MOST_BYTES))
        return {
            name: {path: _fingerprint(line) for path, line in files.items()}
            for name, files in document["skills"].items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _fingerprint(line: str) -> Fingerprint:
    found = _LINE.fullmatch(line)
    if found is None:
        raise ValueError("no fingerprint")
    return Fingerprint(found[1], found[2])
