"""A Pydantic AI agent with a shell and skills from a registry.

SKILL_REGISTRY_URL=... ANTHROPIC_API_KEY=... python pydantic_ai_agent.py WORKSPACE TASK
"""

import asyncio
import os
import sys
from subprocess import PIPE, STDOUT, run

from pydantic_ai import Agent

from skill_registry.agent import AsyncRegistryClient, AsyncSkillset
from skill_registry.agent.adapters.pydantic_ai import SkillToolset

WORKSPACE, TASK = sys.argv[1:]


def shell(command: str) -> str:
    """Run a command in the workspace; returns what it prints."""
    done = run(command, shell=True, cwd=WORKSPACE, stdout=PIPE, stderr=STDOUT, text=True)
    return done.stdout


async def main() -> None:
    async with AsyncRegistryClient(os.environ["SKILL_REGISTRY_URL"]) as registry:
        skills = AsyncSkillset(registry, workspace=WORKSPACE)
        agent = Agent(
            "anthropic:claude-sonnet-5",
            instructions="You are an engineer.",
            tools=[shell],
            toolsets=[SkillToolset(skills)],
        )
        result = await agent.run(TASK)
        print(result.output)


asyncio.run(main())
