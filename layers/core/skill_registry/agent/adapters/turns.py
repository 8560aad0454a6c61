"""A skillset of either kind, called from the async code that frameworks run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from skill_registry.agent.skillset import AsyncSkillset, Skillset

if TYPE_CHECKING:
    from skill_registry.agent.tool_answers import SkillAnswer

AnySkillset = Skillset | AsyncSkillset


async def begin_turn(skills: AnySkillset) -> str:
    """Begin a turn and return the block for the prompt."""
    if isinstance(skills, AsyncSkillset):
        return await skills.instructions()
    return await asyncio.to_thread(skills.instructions)


async def answer(skills: AnySkillset, tool: str, arguments: object) -> SkillAnswer:
    """Answer the call of a tool."""
    if isinstance(skills, AsyncSkillset):
        return await skills.call(tool, arguments)
    return await asyncio.to_thread(skills.call, tool, arguments)
