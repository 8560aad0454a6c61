"""Takes back writes that a kill of the emulator tore apart.

MiniStack stores an object as a data file and a sidecar, and writes them one after the other. A kill
between the two leaves new bytes under the ETag, size and metadata of the old ones. The writer never
had an answer then, so the write may be undone, and must not be half there.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SIDECAR = ".meta.json"
VERSIONS = ".versions"


def undo_torn_writes(objects: Path) -> list[str]:
    """Repair the emulator's object folder while no emulator runs; return the undone paths.

    A new object without its sidecar is removed. An object whose sidecar names a version of which a
    displaced copy exists was being overwritten: its old bytes come back from that copy.
    """
    undone = []
    for bucket in _buckets(objects):
        versions = objects / VERSIONS / bucket.relative_to(objects)
        for data in _data_files(bucket):
            sidecar = data.with_name(data.name + SIDECAR)
            if not sidecar.exists():
                data.unlink()
                undone.append(str(data.relative_to(objects)))
                continue
            version = _version_of(sidecar)
            displaced = versions / version / data.relative_to(bucket) if version else None
            if displaced is not None and displaced.is_file():
                undone.append(str(data.relative_to(objects)))
                displaced.replace(data)
    return undone


def _buckets(objects: Path) -> Iterator[Path]:
    for account in sorted(objects.glob("[0-9]" * 12)):
        yield from (bucket for bucket in sorted(account.iterdir()) if bucket.is_dir())


def _data_files(bucket: Path) -> Iterator[Path]:
    for path in sorted(bucket.rglob("*")):
        # Keys that end like these are stored under an encoded name without a dot.
        if path.is_file() and not path.name.endswith((SIDECAR, ".tmp")):
            yield path


def _version_of(sidecar: Path) -> str | None:
    content = json.loads(sidecar.read_bytes())
    if content.get("is_delete_marker"):
        return None
    version = content.get("version_id")
    return version if isinstance(version, str) else None
