"""The condition of a write, judged the way S3 judges it."""

from __future__ import annotations

from skill_registry.store.base import Condition, IfAbsent, IfMatch, Lost


def refused(condition: Condition | None, current: str | None) -> Lost | None:
    """Tell how a write fails against the ETag that the key has now, None when it may go on.

    Args:
        current: None where the key is absent. ``If-Match`` then answers 404, not 412.
    """
    match condition:
        case IfAbsent() if current is not None:
            return Lost("PreconditionFailed")
        case IfMatch() if current is None:
            return Lost("NoSuchKey")
        case IfMatch(etag) if current != etag:
            return Lost("PreconditionFailed")
    return None
