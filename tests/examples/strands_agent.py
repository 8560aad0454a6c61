"""Strands Agents with a shell and skills from a registry.

SKILL_REGISTRY_URL=... ANTHROPIC_API_KEY=... python strands_agent.py WORKSPACE TASK
"""

import os
import sys
from subprocess import PIPE, STDOUT, run

from strands import Agent, tool
from strands.models.anthropic import AnthropicModel

from skill_registry.agent import RegistryClient, Skillset
from skill_registry.agent.adapters.strands import SkillPlugin

WORKSPACE, TASK = sys.argv[1:]


@tool
def shell(command: str) -> str:
    """Run a command in the workspace; returns what it prints."""
    done = run(command, shell=True, cwd=WORKSPACE, stdout=PIPE, stderr=STDOUT, text=True)
    return done.stdout


with RegistryClient(os.environ["SKILL_REGISTRY_URL"]) as registry:
    skills = Skillset(registry, workspace=WORKSPACE)
    agent = Agent(
        model=AnthropicModel(model_id="claude-sonnet-5", max_tokens=4096),
        system_prompt="You are an engineer.",
        tools=[shell],
        plugins=[SkillPlugin(skills)],
        callback_handler=None,
    )
    print(agent(TASK))
