"""What an agent's process imports: the registry's client, and the skills of a running agent.

Frameworks have adapters of their own in ``skill_registry.agent.adapters``.
"""

from skill_registry.agent.async_client import AsyncRegistryClient
from skill_registry.agent.client import RegistryClient
from skill_registry.agent.compaction import client_output, compact
from skill_registry.agent.events import SkillEvent, SkillRefused, SkillUse
from skill_registry.agent.lockfile import Lock
from skill_registry.agent.session import Stale
from skill_registry.agent.shapes import (
    anthropic_result,
    anthropic_tools,
    bedrock_result,
    bedrock_tools,
    mcp_result,
    mcp_tools,
    openai_result,
    openai_tools,
)
from skill_registry.agent.skillset import AsyncSkillset, Skillset
from skill_registry.agent.source import AsyncSkillSource, SkillQuery, SkillSource
from skill_registry.agent.tool_answers import SkillAnswer
from skill_registry.agent.tools import ToolDefinition

__all__ = [
    "AsyncRegistryClient",
    "AsyncSkillSource",
    "AsyncSkillset",
    "Lock",
    "RegistryClient",
    "SkillAnswer",
    "SkillEvent",
    "SkillQuery",
    "SkillRefused",
    "SkillSource",
    "SkillUse",
    "Skillset",
    "Stale",
    "ToolDefinition",
    "anthropic_result",
    "anthropic_tools",
    "bedrock_result",
    "bedrock_tools",
    "client_output",
    "compact",
    "mcp_result",
    "mcp_tools",
    "openai_result",
    "openai_tools",
]
