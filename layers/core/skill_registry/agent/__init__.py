"""What an agent's process imports: the registry's client, and the skills of a running agent.

Frameworks have adapters of their own in ``skill_registry.agent.adapters``.
"""

from skill_registry.agent.async_client import AsyncRegistryClient
from skill_registry.agent.auth import BearerToken, SigV4
from skill_registry.agent.client import RegistryClient
from skill_registry.agent.compaction import client_output, compact
from skill_registry.agent.events import SkillEvent, SkillRefused, SkillUse
from skill_registry.agent.local import LocalSource
from skill_registry.agent.lockfile import Lock
from skill_registry.agent.retries import RetryPolicy
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
from skill_registry.agent.source import AsyncSkillSource, SkillQuery, SkillSource, in_threads
from skill_registry.agent.tool_answers import SkillAnswer
from skill_registry.agent.tools import ToolDefinition

__all__ = [
    "AsyncRegistryClient",
    "AsyncSkillSource",
    "AsyncSkillset",
    "BearerToken",
    "LocalSource",
    "Lock",
    "RegistryClient",
    "RetryPolicy",
    "SigV4",
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
    "in_threads",
    "mcp_result",
    "mcp_tools",
    "openai_result",
    "openai_tools",
]
