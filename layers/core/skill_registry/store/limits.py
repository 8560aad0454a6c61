"""Bounds that S3 sets on a request, held by every store so that none accepts what another refuses.

Source: AWS S3 user guide, "object key names" and "working with object metadata".
"""

from __future__ import annotations

from skill_registry.errors import RequestInvalid

KEY_BYTES = 1024
PAGE_KEYS = 1000
METADATA_BYTES = 2048


def check_key(key: str) -> None:
    """Refuse a key that S3 cannot hold.

    Raises:
        RequestInvalid: ``key_invalid``; it is empty, over 1,024 bytes of UTF-8, or no valid text.
    """
    try:
        size = len(key.encode())
    except UnicodeEncodeError as error:
        raise RequestInvalid(
            "The object key holds a lone surrogate; use valid Unicode text.", code="key_invalid"
        ) from error
    if not 0 < size <= KEY_BYTES:
        raise RequestInvalid(
            f"The object key has {size} bytes; use 1 to {KEY_BYTES}.", code="key_invalid"
        )


def page_size(limit: int) -> int:
    """Return how many entries one page holds: what the caller asks, at most 1,000.

    Raises:
        ValueError: The limit is below 1; such a listing would never end.
    """
    if limit < 1:
        raise ValueError(f"a page holds at least 1 entry, not {limit}")
    return min(limit, PAGE_KEYS)
