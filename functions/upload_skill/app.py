"""Upload a skill: announce, publish, delete, and dry run."""

from __future__ import annotations

from typing import Any

from skill_registry.web.environment import upload_api


def lambda_handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return upload_api().answer(event)
