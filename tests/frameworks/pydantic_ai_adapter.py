"""The adapter for Pydantic AI."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from framework_checks import BLOCK, PROMPT, run_checks
from pydantic_ai import Agent, RunContext, ToolReturnPart
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.toolsets import AbstractToolset
from scripted_model import ScriptedModel, say, use

from skill_registry.agent import AsyncSkillset, Skillset, in_threads
from skill_registry.agent.adapters.pydantic_ai import SkillToolset

if TYPE_CHECKING:
    from framework_checks import Skills
    from scripted_model import Block, ModelRequest


def agent(model: ScriptedModel, **options: Any) -> Agent[None, str]:
    provider = AnthropicProvider(base_url=model.url, api_key="none-is-needed")
    return Agent(AnthropicModel("claude-sonnet-5", provider=provider), **options)


def check_the_answer_as_an_object_is_the_metadata(skills: Skills) -> None:
    calls = [use("view_skill", name="sums"), use("view_skill", name="none")]
    with ScriptedModel(calls, [say("Done.")]) as model:
        toolsets = [SkillToolset(Skillset(skills))]
        result = agent(model, instructions=PROMPT, toolsets=toolsets).run_sync("Go.")
    model.assert_played()
    loaded, refused = [
        part
        for message in result.all_messages()
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    assert (loaded.outcome, refused.outcome) == ("success", "failed")
    assert loaded.metadata["content"] == "Add.\n"
    for request in model.requests:
        assert request.system.startswith(PROMPT)
        assert BLOCK in request.system
        assert request.skills == ["sums"]
    assert skills.listings == 2


def check_a_toolset_that_a_function_makes_for_each_run_works_too(skills: Skills) -> None:
    with ScriptedModel([use("registry_view_skill", name="sums")], [say("Done.")]) as model:
        made = agent(model)

        @made.toolset(per_run_step=False)
        def of_the_run(ctx: RunContext[None]) -> AbstractToolset[None]:
            offered = AsyncSkillset(in_threads(skills), workspace=skills.workspace)
            return SkillToolset(offered).prefixed("registry")

        made.run_sync("Go.")
    assert model.requests[0].tools.keys() == {"registry_view_skill", "registry_list_skills"}
    assert BLOCK in model.requests[0].system
    assert model.requests[1].results[0].document["directory"] == ".skills/sums"


def check_arguments_that_are_no_json_are_answered(skills: Skills) -> None:
    texts = iter(["not JSON", "[]", '{"name": "sums"}'])
    seen: list[Any] = []

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.extend(part for part in messages[-1].parts if isinstance(part, ToolReturnPart))
        arguments = next(texts, None)
        if arguments is None:
            return ModelResponse(parts=[TextPart("Done.")])
        return ModelResponse(parts=[ToolCallPart("view_skill", arguments)])

    Agent(FunctionModel(reply), toolsets=[SkillToolset(Skillset(skills))]).run_sync("Go.")
    assert [part.outcome for part in seen] == ["failed", "failed", "success"]


def check_a_run_goes_on_where_a_model_asks_again_for_what_is_gone(skills: Skills) -> None:
    view = [use("registry_view_skill", name="sums")]

    def view_what_is_deleted(request: ModelRequest) -> list[Block]:
        shutil.rmtree(skills.workspace.parent / "skills" / "sums")
        return view

    with ScriptedModel(view, view_what_is_deleted, view, view, view, [say("Done.")]) as model:
        toolsets = [SkillToolset(Skillset(skills)).prefixed("registry")]
        result = agent(model, instructions=PROMPT, toolsets=toolsets).run_sync("Go.")
    model.assert_played()
    assert result.output == "Done."
    told = [request.results[0] for request in model.requests[2:]]
    assert [each.document["error"]["code"] for each in told] == ["skill_not_found"] * 4
    assert all(each.is_error for each in told)
    # Bedrock takes no history with calls in it, where a request has no tools.
    assert model.requests[-1].tools.keys() == {"registry_view_skill", "registry_list_skills"}
    assert model.requests[-1].system == PROMPT


def check_a_run_that_called_no_skill_has_no_tools_where_none_is_listed(skills: Skills) -> None:
    shutil.rmtree(skills.workspace.parent / "skills" / "sums")
    with ScriptedModel([say("Done.")]) as model:
        agent(model, instructions=PROMPT, toolsets=[SkillToolset(Skillset(skills))]).run_sync("Go.")
    assert model.requests[0].tools == {}
    assert model.requests[0].system == PROMPT


def check_tools_are_marked(skills: Skills) -> None:
    seen: list[Any] = []

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.extend(tool.metadata for tool in info.function_tools)
        return ModelResponse(parts=[TextPart("Done.")])

    Agent(FunctionModel(reply), toolsets=[SkillToolset(Skillset(skills))]).run_sync("Go.")
    assert [metadata["annotations"]["readOnlyHint"] for metadata in seen] == [True, True]


if __name__ == "__main__":
    run_checks(globals())
