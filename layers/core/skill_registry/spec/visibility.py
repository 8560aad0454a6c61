"""Who may see a skill: one rule for every door, listing and view alike.

What an operator set overrides the frontmatter; the caller passes the list that counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

# Lowest first (seed 1). A viewer that names none is of the lowest.
TIERS = ("lite", "ultra")


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who asks, each member None where there is none.

    Attributes:
        agent: A verified agent identity.
        tier: The tier of its model.
        relevant_to: An agent that nobody verified. It narrows what the viewer sees, and opens
            nothing.
    """

    agent: str | None = None
    tier: str | None = None
    relevant_to: str | None = None


EVERYONE = Viewer()


def may_see(
    *,
    agents: Collection[str] | None,
    min_tier: str | None,
    viewer: Viewer = EVERYONE,
    strict: bool = False,
) -> bool:
    """Tell whether the viewer may see a skill.

    Args:
        agents: Whom the skill is for; None is everyone.
        min_tier: The lowest model tier that it is for; None is every tier, an unknown one none
            but the highest.
        viewer: Without an agent it is not filtered by ``agents``, unless ``strict``; with a blank
            one it sees what is for everyone only. Where tiers do not matter, pass the highest.
        strict: Show only skills that name the viewer's agent.
    """
    return (
        _agent_may(agents, viewer.agent, strict)
        and _agent_may(agents, viewer.relevant_to, strict=False)
        and _rank(viewer.tier, 0) >= _rank(min_tier, len(TIERS) - 1)
    )


def tools_suffice(needed: Iterable[str], tools: Collection[str] | None) -> bool:
    """Tell whether the tools that a skill needs are among those that there are.

    A tool may be had for everything, or for what its skill says in brackets alone. None is every
    tool.
    """
    if tools is None:
        return True
    return all(tool in tools or tool.partition("(")[0] in tools for tool in needed)


def lower_tier(verified: str | None, asked: str | None) -> str | None:
    """Return the tier that counts: what a caller says of itself never lifts what was verified."""
    if verified is None:
        return asked
    if asked is None:
        return verified
    return asked if _rank(asked, 0) < _rank(verified, 0) else verified


def _agent_may(agents: Collection[str] | None, agent: str | None, strict: bool) -> bool:
    if strict:
        return bool(agent) and agents is not None and agent in agents
    return agents is None or agent is None or (agent != "" and agent in agents)


def _rank(tier: str | None, unknown: int) -> int:
    if tier is None:
        return 0
    return TIERS.index(tier) if tier in TIERS else unknown
