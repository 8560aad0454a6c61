"""The adapter for Strands Agents."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from framework_checks import BLOCK, PROMPT, run_checks
from scripted_model import ScriptedModel, say, use
from strands import Agent
from strands.hooks import AfterToolCallEvent
from strands.middleware import InvokeModelStage
from strands.models.anthropic import AnthropicModel

from skill_registry.agent import AsyncSkillset, Skillset, in_threads
from skill_registry.agent.adapters.strands import SkillPlugin, SkillTool

if TYPE_CHECKING:
    from framework_checks import Skills
    from strands.middleware import InvokeModelContext


def agent(model: ScriptedModel, **options: Any) -> Agent:
    client = {"base_url": model.url, "api_key": "none-is-needed"}
    made = AnthropicModel(client_args=client, model_id="claude-sonnet-5", max_tokens=100)
    return Agent(model=made, callback_handler=None, **options)


def check_the_agents_own_prompt_is_never_changed(skills: Skills) -> None:
    with ScriptedModel([use("view_skill", name="sums")], [say("Done.")], [say("Again.")]) as model:
        made = agent(model, system_prompt=PROMPT, plugins=[SkillPlugin(Skillset(skills))])
        made("Go.")
        made("Go on.")
    model.assert_played()
    assert made.system_prompt == PROMPT
    for request in model.requests:
        own, block = request.body["system"]
        assert own["text"] == PROMPT
        assert BLOCK in block["text"]
        assert request.skills == ["sums"]
    assert skills.listings == 3


def check_a_cache_point_stays_between_prompt_and_block(skills: Skills) -> None:
    blocks = [{"text": PROMPT}, {"cachePoint": {"type": "default"}}]
    with ScriptedModel([say("Done.")]) as model:
        agent(model, system_prompt=blocks, plugins=[SkillPlugin(Skillset(skills))])("Go.")
    own, block = model.requests[0].body["system"]
    assert own["cache_control"]["type"] == "ephemeral"
    assert "cache_control" not in block


def check_an_agent_without_a_prompt_gets_the_block(skills: Skills) -> None:
    with ScriptedModel([say("Done.")]) as model:
        agent(model, plugins=[SkillPlugin(Skillset(skills))])("Go.")
    assert model.requests[0].system.startswith("### Skills")


def check_an_async_skillset_serves_an_agent_that_is_awaited(skills: Skills) -> None:
    offered = AsyncSkillset(in_threads(skills), workspace=skills.workspace)
    with ScriptedModel([use("view_skill", name="sums")], [say("Done.")]) as model:
        made = agent(model, system_prompt=PROMPT, plugins=[SkillPlugin(offered)])
        result = asyncio.run(made.invoke_async("Go."))
    assert str(result).strip() == "Done."
    assert model.requests[1].results[0].document["directory"] == ".skills/sums"


def check_specs_are_marked_and_results_have_a_status(skills: Skills) -> None:
    specs: list[Any] = []
    statuses: list[str] = []

    def look(context: InvokeModelContext) -> InvokeModelContext:
        specs.append({spec["name"]: spec for spec in context.tool_specs})
        return context

    calls = [use("view_skill", name="sums"), use("view_skill", name="none")]
    with ScriptedModel(calls, [say("Done.")]) as model:
        made = agent(model, plugins=[SkillPlugin(Skillset(skills))])
        made.add_middleware(InvokeModelStage.Input, look)
        made.add_hook(lambda event: statuses.append(event.result["status"]), AfterToolCallEvent)
        made("Go.")
    assert specs[0]["view_skill"]["annotations"]["readOnlyHint"] is True
    assert sorted(statuses) == ["error", "success"]


def check_a_tool_alone_follows_the_listing_too(skills: Skills) -> None:
    offered = Skillset(skills)
    with ScriptedModel([use("view_skill", name="sums")], [say("Done.")]) as model:
        made = agent(model, tools=[SkillTool(offered, "view_skill")])
        offered.refresh()
        made("Go.")
    assert model.requests[0].skills == ["sums"]
    assert model.requests[1].results[0].document["content"] == "Add.\n"


if __name__ == "__main__":
    run_checks(globals())
