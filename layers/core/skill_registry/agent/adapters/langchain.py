"""Skills for LangChain agents: ``create_agent(model, middleware=[SkillMiddleware(skills)])``.

The extra is ``langchain``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from skill_registry.agent.adapters.turns import answer, begin_turn
from skill_registry.agent.shapes import mcp_tools
from skill_registry.agent.skillset import AsyncSkillset
from skill_registry.agent.tools import define

try:
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.messages import SystemMessage
    from langchain_core.tools import BaseTool, ToolException
except ImportError as error:
    raise ImportError(
        "LangChain is not installed: pip install 'skill-registry[langchain]'"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from langchain.agents.middleware import ModelRequest, ModelResponse

    from skill_registry.agent.adapters.turns import AnySkillset
    from skill_registry.agent.skillset import Skillset
    from skill_registry.agent.tool_answers import SkillAnswer
    from skill_registry.agent.tools import ToolDefinition


class SkillTool(BaseTool):
    """One tool of a skillset.

    A refusal is a tool message with the status ``error``; else the answer as an object is the
    message's ``artifact``.
    """

    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    handle_tool_error: Any = True
    _skills: Any = None

    def __init__(self, skills: AnySkillset, tool: ToolDefinition) -> None:
        super().__init__(
            name=tool.name,
            description=tool.description,
            args_schema=dict(tool.parameters),
            metadata=mcp_tools([tool])[0]["annotations"],
        )
        self._skills = skills

    # A model may call an argument anything, also ``self``.
    def _run(self, /, **arguments: Any) -> tuple[str, dict[str, Any]]:
        return _returned(_sync(self._skills).call(self.name, arguments))

    async def _arun(self, /, **arguments: Any) -> tuple[str, dict[str, Any]]:
        return _returned(await answer(self._skills, self.name, arguments))


class SkillMiddleware(AgentMiddleware[Any, Any, Any]):
    """The tools of a skillset, and its block behind the agent's own prompt.

    A turn is a call of the model.

    Args:
        skills: Of one agent; an ``AsyncSkillset`` for agents that are awaited only.
    """

    def __init__(self, skills: AnySkillset) -> None:
        super().__init__()
        self._skills = skills
        # What runs a call; which of them a model is offered, and for which names, a turn decides.
        self.tools = [SkillTool(skills, tool) for tool in define(skills.tools, None)]

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Begin a turn and call the model."""
        return handler(self._offered(request, _sync(self._skills).instructions()))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Begin a turn and call the model."""
        return await handler(self._offered(request, await begin_turn(self._skills)))

    def _offered(self, request: ModelRequest[Any], block: str) -> ModelRequest[Any]:
        own = self._skills.tools
        others = [tool for tool in request.tools if getattr(tool, "name", None) not in own]
        tools = [SkillTool(self._skills, tool) for tool in self._skills.definitions()]
        return request.override(
            tools=[*others, *tools], system_message=_appended(request.system_message, block)
        )


def _appended(message: SystemMessage | None, block: str) -> SystemMessage | None:
    """Return a system message with the block behind it; as it is for none."""
    if not block:
        return message
    if message is None:
        return SystemMessage(block.removeprefix("\n\n"))
    if isinstance(message.content, str):
        return message.model_copy(update={"content": message.content + block})
    content = [*message.content, {"type": "text", "text": block}]
    return message.model_copy(update={"content": content})


def _sync(skills: AnySkillset) -> Skillset:
    if isinstance(skills, AsyncSkillset):
        raise TypeError("Await this agent: its skills are an AsyncSkillset.")
    return skills


def _returned(made: SkillAnswer) -> tuple[str, dict[str, Any]]:
    if made.is_error:
        raise ToolException(made.text)
    return made.text, made.to_dict()
