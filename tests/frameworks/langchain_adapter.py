"""The adapter for LangChain."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from framework_checks import BLOCK, PROMPT, run_checks
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import SystemMessage, ToolMessage
from scripted_model import ScriptedModel, say, use

from skill_registry.agent import AsyncSkillset, Skillset, in_threads
from skill_registry.agent.adapters.langchain import SkillMiddleware

if TYPE_CHECKING:
    from framework_checks import Skills

    from skill_registry.agent.adapters.turns import AnySkillset

GO: Any = {"messages": [{"role": "user", "content": "Go."}]}


def agent(model: ScriptedModel, skills: AnySkillset, **options: Any) -> Any:
    made: Any = ChatAnthropic
    chat = made(model="claude-sonnet-5", base_url=model.url, api_key="none-is-needed")
    return create_agent(chat, middleware=[SkillMiddleware(skills)], **options)


def check_the_answer_as_an_object_is_the_artifact(skills: Skills) -> None:
    calls = [use("view_skill", name="sums"), use("view_skill", name="none")]
    with ScriptedModel(calls, [say("Done.")]) as model:
        state = agent(model, Skillset(skills), system_prompt=PROMPT).invoke(GO)
    model.assert_played()
    loaded, refused = [each for each in state["messages"] if isinstance(each, ToolMessage)]
    assert (loaded.status, refused.status) == ("success", "error")
    assert loaded.artifact["content"] == "Add.\n"
    assert skills.listings == 2
    for request in model.requests:
        assert request.system.startswith(f"{PROMPT}\n\n")
        assert BLOCK in request.system
        assert request.skills == ["sums"]


def check_tools_are_marked(skills: Skills) -> None:
    for tool in SkillMiddleware(Skillset(skills)).tools:
        assert tool.metadata is not None
        assert tool.metadata["readOnlyHint"] is True


def check_a_prompt_of_blocks_keeps_them_and_what_is_marked_in_them(skills: Skills) -> None:
    cached = {"type": "text", "text": PROMPT, "cache_control": {"type": "ephemeral"}}
    with ScriptedModel([say("Done.")]) as model:
        prompt = SystemMessage(content=[cached])
        agent(model, Skillset(skills), system_prompt=prompt).invoke(GO)
    own, block = model.requests[0].body["system"]
    assert own == cached
    assert BLOCK in block["text"]


def check_an_agent_without_a_prompt_gets_the_block(skills: Skills) -> None:
    with ScriptedModel([say("Done.")]) as model:
        agent(model, Skillset(skills)).invoke(GO)
    assert model.requests[0].system.startswith("### Skills")


def check_an_async_skillset_serves_an_agent_that_is_awaited(skills: Skills) -> None:
    offered = AsyncSkillset(in_threads(skills), workspace=skills.workspace)
    calls = [use("view_skill", name="sums"), use("view_skill", self="x", config={}, name="none")]
    with ScriptedModel(calls, [say("Done.")]) as model:
        asyncio.run(agent(model, offered).ainvoke(GO))
    loaded, refused = model.requests[1].results
    assert loaded.document["directory"] == ".skills/sums"
    assert refused.is_error


def check_a_skillset_serves_an_agent_that_is_awaited(skills: Skills) -> None:
    with ScriptedModel([use("view_skill", name="sums")], [say("Done.")]) as model:
        asyncio.run(agent(model, Skillset(skills)).ainvoke(GO))
    assert model.requests[1].results[0].document["content"] == "Add.\n"


def check_an_async_skillset_cannot_serve_an_agent_that_is_not(skills: Skills) -> None:
    with ScriptedModel() as model:
        try:
            agent(model, AsyncSkillset(in_threads(skills))).invoke(GO)
        except TypeError as error:
            told = str(error)
    assert told == "Await this agent: its skills are an AsyncSkillset."


if __name__ == "__main__":
    run_checks(globals())
