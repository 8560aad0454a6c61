"""Skills for Strands Agents: ``Agent(plugins=[SkillPlugin(skills)])``.

The extra is ``strands``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skill_registry.agent.adapters.turns import answer, begin_turn
from skill_registry.agent.shapes import bedrock_result, bedrock_tools, mcp_tools
from skill_registry.agent.tools import define

try:
    from strands.middleware import InvokeModelStage
    from strands.plugins import Plugin
    from strands.types.tools import AgentTool, ToolSpec, ToolUse
except ImportError as error:
    raise ImportError(
        "Strands Agents is not installed: pip install 'skill-registry[strands]'"
    ) from error

if TYPE_CHECKING:
    from strands import Agent
    from strands.middleware import InvokeModelContext
    from strands.types.content import SystemContentBlock, SystemPrompt
    from strands.types.tools import ToolGenerator

    from skill_registry.agent.adapters.turns import AnySkillset
    from skill_registry.agent.tools import ToolDefinition


class SkillTool(AgentTool):
    """One tool of a skillset, for agents that are given tools one by one."""

    def __init__(self, skills: AnySkillset, name: str) -> None:
        super().__init__()
        self._skills = skills
        self._name = name

    @property
    def tool_name(self) -> str:
        """What the model calls it by."""
        return self._name

    @property
    def tool_type(self) -> str:
        """What Strands files it under."""
        return "skill"

    @property
    def tool_spec(self) -> ToolSpec:
        """The tool with the names that are listed now."""
        listed = [tool for tool in self._skills.definitions() if tool.name == self._name]
        return _spec((listed or define([self._name], None))[0])

    async def stream(
        self, tool_use: ToolUse, invocation_state: dict[str, Any], **kwargs: Any
    ) -> ToolGenerator:
        """Answer a call."""
        made = await answer(self._skills, self._name, tool_use["input"])
        yield bedrock_result(tool_use["toolUseId"], made)["toolResult"]


class SkillPlugin(Plugin):
    """The tools of a skillset, and its block behind the agent's own prompt.

    A turn is a call of the model. Only that call gets block and tools: the agent's own prompt, and
    what is saved of it, stay as they are. The block is a content block of its own, so that a cache
    point before it holds.

    Args:
        skills: Of one agent. An agent that is called from several event loops, as ``agent(...)``
            does, needs a ``Skillset`` and no ``AsyncSkillset``.
    """

    name = "skills"

    def __init__(self, skills: AnySkillset) -> None:
        super().__init__()
        self._skills = skills

    def init_agent(self, agent: Agent) -> None:
        """Register the tools, and what offers them."""
        for tool in self._skills.tools:
            agent.tool_registry.register_tool(SkillTool(self._skills, tool))
        agent.add_middleware(InvokeModelStage.Input, self._offered)

    async def _offered(self, context: InvokeModelContext) -> InvokeModelContext:
        block = await begin_turn(self._skills)
        own = self._skills.tools
        others = [spec for spec in context.tool_specs if spec["name"] not in own]
        listed = [_spec(tool) for tool in self._skills.definitions()]
        return context.replace(
            system_prompt=_appended(context.system_prompt, block), tool_specs=[*others, *listed]
        )


def _appended(prompt: SystemPrompt, block: str) -> SystemPrompt:
    """Return a prompt with the block behind it; as it is for none."""
    if not block:
        return prompt
    if not prompt:
        return [{"text": block.removeprefix("\n\n")}]
    own: list[SystemContentBlock] = [{"text": prompt}] if isinstance(prompt, str) else prompt
    return [*own, {"text": block}]


def _spec(tool: ToolDefinition) -> ToolSpec:
    spec: ToolSpec = bedrock_tools([tool])["tools"][0]["toolSpec"]
    spec["annotations"] = mcp_tools([tool])[0]["annotations"]
    return spec
