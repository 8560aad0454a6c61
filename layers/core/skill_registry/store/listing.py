"""Paging and folding of keys for the stores that hold all their keys at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skill_registry.store.base import StoredVersion
from skill_registry.store.limits import page_size

if TYPE_CHECKING:
    from collections.abc import Iterable

UNVERSIONED = "null"


@dataclass(frozen=True, slots=True)
class KeyPage:
    """One page: the keys to describe, the folded prefixes, and the token of the next page."""

    keys: tuple[str, ...]
    prefixes: tuple[str, ...]
    after: str | None


def page_of(
    keys: Iterable[str], prefix: str, *, delimiter: str, after: str | None, limit: int
) -> KeyPage:
    """Cut one page out of keys in any order, as ListObjectsV2 does.

    The token is the last entry that the page holds, key or prefix, so that writes between two
    pages neither repeat nor hide an entry that was there all the time.
    """
    limit = page_size(limit)
    found: list[str] = []
    prefixes: list[str] = []
    last: str | None = None
    for key in sorted((key for key in keys if key.startswith(prefix)), key=str.encode):
        folded = _folded(key, prefix, delimiter)
        entry = key if folded is None else folded
        if entry == last or (after is not None and entry.encode() <= after.encode()):
            continue
        if len(found) + len(prefixes) == limit:
            return KeyPage(tuple(found), tuple(prefixes), last)
        last = entry
        (found if folded is None else prefixes).append(entry)
    return KeyPage(tuple(found), tuple(prefixes), None)


def _folded(key: str, prefix: str, delimiter: str) -> str | None:
    end = key.find(delimiter, len(prefix)) if delimiter else -1
    return None if end < 0 else key[: end + len(delimiter)]


def unversioned(keys: Iterable[str]) -> tuple[StoredVersion, ...]:
    """Return the stored versions of keys in a store that keeps only what is current."""
    return tuple(StoredVersion(key, UNVERSIONED, current=True) for key in keys)
