"""A conditional write whose outcome is known, although replies get lost.

A resent request answers 412 against the object that the first one wrote, and an unanswered one
may or may not have been applied. Only reading back tells, so each write is stamped with an id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skill_registry.errors import Unavailable
from skill_registry.store.base import Condition, Lost, ObjectInfo, SkillStore, Written

if TYPE_CHECKING:
    from collections.abc import Mapping

WRITE_ID = "write-id"


@dataclass(frozen=True, slots=True)
class Taken:
    """The key does not hold our write. ``current`` is what it holds, None when nothing.

    Our write may still have been applied and replaced since: read the state, then decide.
    """

    current: ObjectInfo | None


def put_once(
    store: SkillStore,
    key: str,
    body: bytes,
    *,
    condition: Condition,
    metadata: Mapping[str, str] | None = None,
    content_type: str = "application/octet-stream",
    write_id: str,
) -> Written | Taken:
    """Write under a condition, and find out whether it was applied.

    One PUT, and one HEAD only where its answer does not settle it. The write is never sent again.

    Args:
        write_id: Unique to this attempt (32 hex digits of a UUID). Kept as metadata ``write-id``.

    Returns:
        ``Written`` with the ETag of our object, or ``Taken``.

    Raises:
        Unavailable: The outcome is unknown, since reading back failed too.
    """
    stamped = {**(metadata or {}), WRITE_ID: write_id}
    try:
        outcome = store.put(
            key, body, condition=condition, metadata=stamped, content_type=content_type
        )
    except Unavailable:
        outcome = Lost("unanswered")
    if isinstance(outcome, Written):
        return outcome
    current = store.head(key)
    if current is not None and current.metadata.get(WRITE_ID) == write_id:
        return Written(current.etag)
    return Taken(current)
