"""What a file system cannot hold of an object: user metadata and content type, in hidden JSON.

The entries are kept by ETag. Both the entry of the old bytes and that of the new ones are there
while the file is being replaced, so a crash between the two writes mixes nothing up, and an entry
falls silent when somebody edits the file by hand.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from skill_registry.store.files import write_atomically


@dataclass(frozen=True, slots=True)
class Attributes:
    """Metadata and content type of one write."""

    metadata: dict[str, str] = field(default_factory=dict)
    content_type: str | None = None


class AttributeFiles:
    """One JSON file an object, named by the hash of its key: any key fits, nested ones too.

    Args:
        folder: Holds the files; made when first written.
        scratch: Folder of unfinished files, on the same file system.
    """

    def __init__(self, folder: Path, scratch: Path) -> None:
        self._folder = folder
        self._scratch = scratch

    def read(self, key: str, etag: str) -> Attributes:
        """Return what was said with the write that gave the object this ETag."""
        return self._entries(key).get(etag, Attributes())

    def write(self, key: str, etag: str, attributes: Attributes, *, current: str | None) -> None:
        """Record a write that is about to happen, beside that of the ``current`` ETag."""
        entries = self._entries(key)
        kept = {current: entries[current]} if current is not None and current in entries else {}
        kept[etag] = attributes
        document = {"key": key, "writes": {tag: asdict(value) for tag, value in kept.items()}}
        write_atomically(self._path(key), json.dumps(document).encode(), scratch=self._scratch)

    def remove(self, key: str) -> None:
        """Forget an object."""
        self._path(key).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()}.json"

    def _entries(self, key: str) -> dict[str, Attributes]:
        try:
            document: dict[str, Any] = json.loads(self._path(key).read_bytes())
            return {tag: Attributes(**entry) for tag, entry in document["writes"].items()}
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (ValueError, TypeError, KeyError, AttributeError):
            # Damaged by hand: the object itself is whole, only what was said about it is lost.
            return {}
