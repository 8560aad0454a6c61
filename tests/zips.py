"""Zip archives as other tools make them, entry by entry."""

from __future__ import annotations

import io
import zipfile
from typing import Any


def make_zip(*entries: tuple[str, bytes, dict[str, Any]]) -> bytes:
    """Pack entries under exactly these names; options are ``mode``, ``system`` and ``method``."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, data, options in entries:
            info = zipfile.ZipInfo("x", (2026, 1, 2, 3, 4, 6))
            info.filename = name
            info.create_system = options.get("system", 3)
            mode = options.get("mode", 0o40755 if name.endswith("/") else 0o100644)
            info.external_attr = mode << 16 if info.create_system == 3 else 0x20
            info.compress_type = options.get("method", zipfile.ZIP_DEFLATED)
            archive.writestr(info, data)
    return target.getvalue()


def skill_text(name: str = "knot-book") -> bytes:
    """A sound SKILL.md."""
    return f"---\nname: {name}\ndescription: Ties knots.\n---\nTie.\n".encode()
