"""The ETag that bytes have where it depends on them alone."""

from __future__ import annotations

import hashlib


def content_etag(data: bytes) -> str:
    """Return the ETag of a single PUT of these bytes under SSE-S3 (AWS S3, object ETag).

    Under SSE-KMS an ETag is opaque: a difference to this one proves nothing.
    """
    return f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'
