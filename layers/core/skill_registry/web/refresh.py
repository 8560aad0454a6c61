"""Entry of the refresh function: batches of the queue, and the schedule."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from skill_registry.web.telemetry import logger

if TYPE_CHECKING:
    from skill_registry.web.wiring import Registry


def refresh(registry: Registry, event: dict[str, Any]) -> dict[str, Any]:
    """Work off an event of the queue or of the schedule.

    A batch answers with the messages to deliver again (AWS Lambda, SQS partial batch responses);
    the schedule with what the reconcile repaired.
    """
    log = logger()
    records = event.get("Records")
    if isinstance(records, list):
        messages = {str(record["messageId"]): str(record["body"]) for record in records}
        failed = registry.events.handle(messages)
        return {"batchItemFailures": [{"itemIdentifier": message} for message in sorted(failed)]}
    done = asdict(registry.reconciler.run())
    log.info("reconciled", extra={key: len(value) for key, value in done.items()})
    return done
