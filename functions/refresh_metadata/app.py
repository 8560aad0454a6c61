"""Refresh metadata: S3 events from the queue, the scheduled reconcile, maintenance on demand."""

from __future__ import annotations

from typing import Any

from skill_registry.web.environment import registry
from skill_registry.web.refresh import refresh


def lambda_handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return refresh(registry(), event, str(getattr(context, "aws_request_id", "")))
