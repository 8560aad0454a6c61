"""List skills: the short listing (L1) that an agent puts into its prompt."""

from __future__ import annotations

from typing import Any

from skill_registry.web.environment import list_api


def lambda_handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return list_api().answer(event)
