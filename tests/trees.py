"""Small trees of files and links, made in a temporary folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def grow(root: Path, files: Mapping[str, str | bytes], links: Mapping[str, str] = {}) -> Path:
    """Write files (text as UTF-8, without changing line ends), then links; return the root."""
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    for path, to in links.items():
        link = root / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(to)
    return root
