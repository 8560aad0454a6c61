"""Places: where a run of maintenance goes on, as its ``next`` says."""

from __future__ import annotations

from skill_registry.catalog.principal import is_scope
from skill_registry.errors import RequestInvalid
from skill_registry.store import keys


def read_place(text: str | None, *, within: str | None = None) -> tuple[str, str]:
    """Read a scope and the name after which to go on in it; empty ones for the beginning.

    Args:
        within: The one scope that is worked on.

    Raises:
        RequestInvalid: ``cursor_invalid``, since it is no ``next`` of such a run.
    """
    if text is None:
        return "", ""
    scope, slash, after = text.partition("/")
    if not slash or not is_scope(scope) or within not in (None, scope):
        raise _invalid()
    return scope, after


def read_upload_place(text: str) -> str:
    """Read the key of the upload after which to go on.

    Raises:
        RequestInvalid: ``cursor_invalid``.
    """
    if keys.parse_upload(text) is None:
        raise _invalid()
    return text


def _invalid() -> RequestInvalid:
    message = "This cursor is not the `next` of such a run. Start again without it."
    return RequestInvalid(message, code="cursor_invalid")
