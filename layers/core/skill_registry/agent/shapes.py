"""Tools and their answers in the shapes that model APIs take. Pure: no SDK is imported.

Sources: Anthropic Messages API ("Tool use"), OpenAI Responses API ("Function calling"), Amazon
Bedrock ``Converse`` (ToolSpecification, ToolResultBlock), MCP 2025-06-18 ("Tools").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from skill_registry.agent.tool_answers import SkillAnswer
    from skill_registry.agent.tools import ToolDefinition


def anthropic_tools(tools: Iterable[ToolDefinition]) -> list[dict[str, Any]]:
    """Return ``tools`` of a Messages request."""
    return [
        {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}
        for tool in tools
    ]


def anthropic_result(tool_use_id: str, answer: SkillAnswer) -> dict[str, Any]:
    """Return the ``tool_result`` block of an answer."""
    return {
        "type": "tool_result",
        "tool_use_id": tool_use_id,
        "content": answer.text,
        "is_error": answer.is_error,
    }


def openai_tools(tools: Iterable[ToolDefinition]) -> list[dict[str, Any]]:
    """Return ``tools`` of a Responses request.

    Strict: the model's arguments always fit the schema. That asks for every property to be
    required, so what is optional may be null instead.
    """
    return [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": _strict(tool.parameters),
            "strict": True,
        }
        for tool in tools
    ]


def openai_result(call_id: str, answer: SkillAnswer) -> dict[str, Any]:
    """Return the ``function_call_output`` item of an answer."""
    return {"type": "function_call_output", "call_id": call_id, "output": answer.text}


def bedrock_tools(tools: Iterable[ToolDefinition]) -> dict[str, Any]:
    """Return ``toolConfig`` of a Converse request.

    Converse takes no empty one, and wants one where messages hold calls of tools: an agent whose
    only tools are skills keeps the last one while no skill is listed.
    """
    return {
        "tools": [
            {
                "toolSpec": {
                    "name": tool.name,
                    "description": tool.description,
                    "inputSchema": {"json": dict(tool.parameters)},
                }
            }
            for tool in tools
        ]
    }


def bedrock_result(tool_use_id: str, answer: SkillAnswer) -> dict[str, Any]:
    """Return the content block of an answer."""
    return {
        "toolResult": {
            "toolUseId": tool_use_id,
            "content": [{"text": answer.text}],
            "status": "error" if answer.is_error else "success",
        }
    }


def mcp_tools(tools: Iterable[ToolDefinition]) -> list[dict[str, Any]]:
    """Return ``tools`` of a ``tools/list`` result."""
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": dict(tool.parameters),
            "annotations": {
                "readOnlyHint": tool.read_only,
                "idempotentHint": True,
                "openWorldHint": False,
            },
        }
        for tool in tools
    ]


def mcp_result(answer: SkillAnswer) -> dict[str, Any]:
    """Return a ``tools/call`` result: for the model a text, for programs the same as an object."""
    return {
        "content": [{"type": "text", "text": answer.text}],
        "structuredContent": answer.to_dict(),
        "isError": answer.is_error,
    }


def _strict(parameters: Mapping[str, Any]) -> dict[str, Any]:
    required = parameters["required"]
    properties = {
        name: schema if name in required else {**schema, "type": [schema["type"], "null"]}
        for name, schema in parameters["properties"].items()
    }
    return {**parameters, "properties": properties, "required": list(properties)}
