"""Refresh metadata: S3 events from the queue, the scheduled reconcile, maintenance on demand."""

from __future__ import annotations

from typing import Any

from skill_registry.web.refresh import refresh
from skill_registry.web.wiring import registry


def lambda_handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return refresh(registry(), event)
