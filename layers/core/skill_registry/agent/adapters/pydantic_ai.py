"""Skills for Pydantic AI: ``Agent(model, toolsets=[SkillToolset(skills)])``.

The extra is ``pydantic-ai``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from skill_registry.agent.adapters.turns import answer, begin_turn
from skill_registry.agent.shapes import mcp_tools
from skill_registry.agent.tools import define

try:
    from pydantic_ai import RunContext, ToolReturn
    from pydantic_ai.exceptions import ToolFailed
    from pydantic_ai.messages import ToolCallPart
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
except ImportError as error:
    raise ImportError(
        "Pydantic AI is not installed: pip install 'skill-registry[pydantic-ai]'"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skill_registry.agent import tools
    from skill_registry.agent.adapters.turns import AnySkillset


class SkillToolset(AbstractToolset[Any]):
    """The tools and the instructions of a skillset. A turn is a step of a run.

    A refusal is a failed tool result; the answer as an object is the result's ``metadata``.

    Args:
        skills: Of one run at a time.
        id: Of the toolset within its agent.
    """

    def __init__(self, skills: AnySkillset, *, id: str = "skills") -> None:
        self._skills = skills
        self._id = id
        self._step: object = None
        self._block = ""

    @property
    def id(self) -> str:
        """The toolset's name within its agent."""
        return self._id

    async def get_instructions(self, ctx: RunContext[Any]) -> str | None:
        """Return the block; Pydantic AI parts instructions by blank lines itself."""
        await self._begin(ctx)
        return self._block.removeprefix("\n\n") or None

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the tools with the names that are listed in this turn.

        Where none is listed any more, the tools stay for a run whose messages hold a call of one:
        Pydantic AI does not ask a toolset about a tool that is gone, and ends the run at the
        second such call.
        """
        await self._begin(ctx)
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=dict(tool.parameters),
                    metadata={"annotations": mcp_tools([tool])[0]["annotations"]},
                ),
                max_retries=0,
                args_validator=_Arguments(),
            )
            for tool in self._offered(ctx)
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> ToolReturn:
        """Answer a call."""
        made = await answer(self._skills, name, tool_args)
        if made.is_error:
            raise ToolFailed(made.text)
        return ToolReturn(made.text, metadata=made.to_dict())

    def _offered(self, ctx: RunContext[Any]) -> Sequence[tools.ToolDefinition]:
        listed = self._skills.definitions()
        if listed or not _was_called(self._skills.tools, ctx):
            return listed
        return define(self._skills.tools, None)

    async def _begin(self, ctx: RunContext[Any]) -> None:
        # Not in ``for_run_step``: toolsets that are made by a function are not told of steps.
        step = (ctx.run_id, ctx.run_step)
        if step != self._step:
            self._block = await begin_turn(self._skills)
            self._step = step


def _was_called(names: tuple[str, ...], ctx: RunContext[Any]) -> bool:
    # Their ends, since ``prefixed`` puts something before a name.
    return any(
        isinstance(part, ToolCallPart) and part.tool_name.endswith(names)
        for message in ctx.messages
        for part in message.parts
    )


class _Arguments:
    """Lets everything through: a skillset says itself what is wrong with arguments."""

    def validate_json(self, input: str | bytes | bytearray, **_: Any) -> dict[str, Any]:
        try:
            return self.validate_python(json.loads(input))
        except (ValueError, RecursionError):
            return {}

    def validate_python(self, input: Any, **_: Any) -> dict[str, Any]:
        return input if isinstance(input, dict) else {}
