"""What the Anthropic Messages API refuses of a request, as far as a client can break it.

Source: the API's reference ("Messages", "Tool use", "Errors").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")


class Refused(Exception):
    """``invalid_request_error``: the request is none that the API takes."""


def check_request(body: Mapping[str, Any]) -> None:
    """Check a request. Raises Refused."""
    for key in ("model", "messages", "max_tokens"):
        if key not in body:
            raise Refused(f"{key}: Field required")
    _check_system(body.get("system"))
    _check_tools(body.get("tools", []))
    _check_messages(body["messages"])


def blocks_of(content: object) -> list[dict[str, Any]]:
    """Return the content of a message, a tool result or a system prompt as blocks."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content) if isinstance(content, list) else []


def text_of(content: object) -> str:
    """Return the text of some content."""
    return "".join(block["text"] for block in blocks_of(content) if block.get("type") == "text")


def _check_system(system: object) -> None:
    if isinstance(system, list):
        _check_texts("system", system)
    elif system is not None and not isinstance(system, str):
        raise Refused("system: Input should be a valid string or list")


def _check_tools(tools: list[dict[str, Any]]) -> None:
    names = [tool.get("name", "") for tool in tools]
    for number, tool in enumerate(tools):
        if not _TOOL_NAME.match(names[number]):
            raise Refused(f"tools.{number}.custom.name: String should match the pattern")
        if tool.get("input_schema", {}).get("type") != "object":
            raise Refused(f"tools.{number}.custom.input_schema.type: Field required")
        unknown = tool.keys() - {"name", "description", "input_schema", "type", "cache_control"}
        if unknown - {"strict", "eager_input_streaming", "defer_loading", "input_examples"}:
            raise Refused(f"tools.{number}.custom.{min(unknown)}: Extra inputs are not permitted")
    if len(set(names)) != len(names):
        raise Refused("tools: Tool names must be unique.")


def _check_messages(messages: list[dict[str, Any]]) -> None:
    if not messages:
        raise Refused("messages: at least one message is required")
    if messages[0].get("role") != "user":
        raise Refused("messages: first message must use the user role")
    waiting: set[str] = set()
    for number, message in enumerate(messages):
        where = f"messages.{number}"
        blocks = blocks_of(message.get("content"))
        if not blocks:
            raise Refused(f"{where}: user messages must have non-empty content")
        _check_texts(f"{where}.content", blocks)
        answered = set(_ids(blocks, "tool_result", "tool_use_id"))
        if answered - waiting:
            raise Refused(
                f"{where}.content: unexpected `tool_use_id` found in `tool_result` blocks:"
                f" {min(answered - waiting)}. Each `tool_result` block must have a corresponding"
                " `tool_use` block in the previous message."
            )
        if waiting - answered:
            raise Refused(
                f"{where}: `tool_use` ids were found without `tool_result` blocks immediately"
                f" after: {min(waiting - answered)}."
            )
        waiting = set(_ids(blocks, "tool_use", "id"))
    if waiting:
        raise Refused("messages: `tool_use` ids were found without `tool_result` blocks after")


def _ids(blocks: list[dict[str, Any]], kind: str, member: str) -> Iterator[str]:
    return (str(block.get(member)) for block in blocks if block.get("type") == kind)


def _check_texts(where: str, blocks: list[dict[str, Any]]) -> None:
    for number, block in enumerate(blocks):
        if block.get("type") == "text" and not str(block.get("text", "")).strip():
            raise Refused(f"{where}.{number}: text content blocks must be non-empty")
