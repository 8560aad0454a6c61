"""Changing: a stored document is read, changed and written, again until nobody was faster."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from skill_registry.errors import Unavailable
from skill_registry.store.base import IfAbsent, IfMatch, Written
from skill_registry.store.conditional import put_once

if TYPE_CHECKING:
    from collections.abc import Callable

    from skill_registry.catalog.runtime import Runtime
    from skill_registry.store.base import SkillStore

T = TypeVar("T")

ATTEMPTS = 60


def change_stored(
    store: SkillStore,
    runtime: Runtime,
    key: str,
    *,
    read: Callable[[], tuple[T, str | None]],
    change: Callable[[T], T],
    encode: Callable[[T], bytes],
    exhausted: str,
) -> tuple[T, str | None]:
    """Read, change, write if nobody else did, else once more; return what is stored now.

    Args:
        key: Of the JSON document.
        read: Returns the document with its ETag, None where there is none.
        change: Called with what is stored now; what it raises ends the change. Answering the same
            writes nothing.
        exhausted: What to say where others kept winning.

    Raises:
        Unavailable: Others kept winning, or the store does not answer.
    """
    for attempt in range(ATTEMPTS):
        current, etag = read()
        wanted = change(current)
        if wanted == current:
            return current, etag
        result = put_once(
            store,
            key,
            encode(wanted),
            condition=IfAbsent() if etag is None else IfMatch(etag),
            content_type="application/json",
            write_id=runtime.new_id(),
        )
        if isinstance(result, Written):
            return wanted, result.etag
        runtime.pause(attempt)
    raise Unavailable(exhausted)
