"""What several routes read from a query in the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skill_registry.errors import RequestInvalid

if TYPE_CHECKING:
    from skill_registry.catalog.principal import Principal
    from skill_registry.catalog.resolving import Pin
    from skill_registry.web.http import Request

_DIGITS = 9
_LONGEST_AGENT = 64


def narrowed(request: Request, principal: Principal) -> Principal:
    """Return the principal as the query narrows it: by ``agent`` and by ``tier``.

    Raises:
        RequestInvalid: ``filter_invalid``.
    """
    agent = request.value("agent")
    if agent is not None and not (agent.isprintable() and len(agent) <= _LONGEST_AGENT):
        raise RequestInvalid(
            f"`agent` is printable text of at most {_LONGEST_AGENT} characters.",
            code="filter_invalid",
        )
    return principal.narrowed(agent=agent, tier=request.value("tier"))


def number(request: Request, name: str, *, code: str) -> int | None:
    """Return a whole number from 1 on, None where the query does not name it.

    Raises:
        RequestInvalid: With ``code``.
    """
    text = request.value(name)
    if text is None:
        return None
    found = _whole(text)
    if found is None:
        raise RequestInvalid(f"`{name}` is a whole number, 1 or more.", code=code)
    return found


def pin(request: Request, name: str) -> Pin:
    """Return the version that the query names, None where it names none.

    Raises:
        RequestInvalid: ``version_invalid``.
    """
    text = request.value(name)
    return read_pin(text, name) if text else None


def read_pin(value: int | str, name: str) -> int | str:
    """Return a version as it is written: a number, or ``@`` and a label.

    Raises:
        RequestInvalid: ``version_invalid``.
    """
    if isinstance(value, str) and value.startswith("@") and len(value) > 1:
        return value
    found = _whole(str(value))
    if found is None:
        raise RequestInvalid(
            f"`{name}` is the number of a version, or `@` and a label.", code="version_invalid"
        )
    return found


def _whole(text: str) -> int | None:
    if not (text.isascii() and text.isdecimal()) or len(text) > _DIGITS:
        return None
    return int(text) or None
