"""View a skill: its body (L2), one of its files (L3), or a bundle of all."""

from __future__ import annotations

from typing import Any

from skill_registry.web.environment import view_api


def lambda_handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return view_api().answer(event)
