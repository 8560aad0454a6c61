"""A LangChain agent with a shell and skills from a registry.

SKILL_REGISTRY_URL=... ANTHROPIC_API_KEY=... python langchain_agent.py WORKSPACE TASK
"""

import os
import sys
from subprocess import PIPE, STDOUT, run

from langchain.agents import create_agent
from langchain_core.tools import tool

from skill_registry.agent import RegistryClient, Skillset
from skill_registry.agent.adapters.langchain import SkillMiddleware

WORKSPACE, TASK = sys.argv[1:]


@tool
def shell(command: str) -> str:
    """Run a command in the workspace; returns what it prints."""
    done = run(command, shell=True, cwd=WORKSPACE, stdout=PIPE, stderr=STDOUT, text=True)
    return done.stdout


with RegistryClient(os.environ["SKILL_REGISTRY_URL"]) as registry:
    skills = Skillset(registry, workspace=WORKSPACE)
    agent = create_agent(
        "anthropic:claude-sonnet-5",
        system_prompt="You are an engineer.",
        tools=[shell],
        middleware=[SkillMiddleware(skills)],
    )
    state = agent.invoke({"messages": [{"role": "user", "content": TASK}]})
    print(state["messages"][-1].text)
