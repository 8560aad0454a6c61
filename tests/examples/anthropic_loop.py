"""A whole agent in one loop: the Anthropic API, a shell, and skills from a registry.

SKILL_REGISTRY_URL=... ANTHROPIC_API_KEY=... python anthropic_loop.py WORKSPACE TASK [TASK ...]
"""

import os
import sys
from subprocess import PIPE, STDOUT, run
from typing import Any

import anthropic

from skill_registry.agent import RegistryClient, Skillset, compact
from skill_registry.agent.shapes import anthropic_result, anthropic_tools

MODEL = "claude-sonnet-5"
PROMPT = "You are an engineer. Your shell starts in your workspace."
SHELL = {
    "name": "shell",
    "description": "Run a command; returns what it prints.",
    "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}},
}


def perform(call: Any, skills: Skillset, workspace: str) -> dict[str, Any]:
    if call.name != "shell":
        return anthropic_result(call.id, skills.call(call.name, call.input))
    command = call.input["command"]
    done = run(command, shell=True, cwd=workspace, stdout=PIPE, stderr=STDOUT, text=True)
    return {"type": "tool_result", "tool_use_id": call.id, "content": done.stdout}


def work(task: str, messages: list[Any], skills: Skillset, workspace: str) -> str:
    client = anthropic.Anthropic()
    for message in messages:  # What earlier tasks loaded: name and version stay, the body goes.
        for block in message["content"] if message["role"] == "user" else ():
            if block["type"] == "tool_result":
                block["content"] = compact(block["content"])
    messages.append({"role": "user", "content": [{"type": "text", "text": skills.expand(task)}]})
    while True:
        system = PROMPT + skills.instructions()  # A turn begins: what is listed now.
        tools: list[Any] = [SHELL, *anthropic_tools(skills.definitions())]
        answer = client.messages.create(
            model=MODEL, max_tokens=4096, system=system, tools=tools, messages=messages
        )
        messages.append({"role": "assistant", "content": answer.content})
        results = [perform(b, skills, workspace) for b in answer.content if b.type == "tool_use"]
        if not results:
            return "".join(block.text for block in answer.content if block.type == "text")
        messages.append({"role": "user", "content": results})


if __name__ == "__main__":
    workspace, tasks, messages = sys.argv[1], sys.argv[2:], list[Any]()
    with RegistryClient(os.environ["SKILL_REGISTRY_URL"]) as registry:
        skills = Skillset(registry, workspace=workspace)
        for task in tasks:
            print(work(task, messages, skills, workspace))
