"""Who may call, as the registry answers to administrators, and how it is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from skill_registry.agent.reading import read_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

    from skill_registry.agent.fields import Fields


@dataclass(frozen=True, slots=True)
class Grant:
    """What an IAM role may do.

    Attributes:
        role: Its ARN, without a path.
        roles: Some of ``reader``, ``author``, ``maintainer``, ``admin``.
        scopes: Scopes besides its own, in their order of precedence.
        agent: The agent that calls with this role, None where it is not one agent's.
        tier: The tier of that agent's model.
    """

    role: str
    roles: tuple[str, ...]
    scopes: tuple[str, ...]
    agent: str | None
    tier: str | None


@dataclass(frozen=True, slots=True)
class AccessChange:
    """A change of who may call: by whom, when, what and why."""

    who: str
    when: str
    what: Mapping[str, Any]
    why: str | None


@dataclass(frozen=True, slots=True)
class Access:
    """Every grant, by role, and the last changes, newest last."""

    grants: tuple[Grant, ...]
    changes: tuple[AccessChange, ...]
    answer: Mapping[str, Any] = field(repr=False, compare=False)


def read_access(response: httpx.Response) -> Access:
    """Read who may call."""
    answer = read_fields(response)
    return Access(
        grants=tuple(_grant(item) for item in answer.items("grants")),
        changes=tuple(_change(item) for item in answer.items("changes")),
        answer=answer.values,
    )


def _grant(item: Fields) -> Grant:
    return Grant(
        role=item.text("role"),
        roles=item.words("roles"),
        scopes=item.words("scopes"),
        agent=item.maybe_text("agent"),
        tier=item.maybe_text("tier"),
    )


def _change(item: Fields) -> AccessChange:
    return AccessChange(
        who=item.text("who"),
        when=item.text("when"),
        what=item.mapping("what"),
        why=item.maybe_text("why"),
    )
