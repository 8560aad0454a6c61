"""Entry of the refresh function: batches of the queue, the schedule, and calls of the API."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from skill_registry.web.telemetry import logger

if TYPE_CHECKING:
    from skill_registry.web.wiring import Registry

# Less than the function's timeout by more than one skill and one catalog take.
SCHEDULED_SECONDS = 150


def refresh(registry: Registry, event: dict[str, Any]) -> dict[str, Any]:
    """Work off an event of the queue, of the schedule or of the API.

    A batch answers with the messages to deliver again (AWS Lambda, SQS partial batch responses);
    the schedule with what the reconcile repaired; the API with an HTTP answer.
    """
    if "routeKey" in event:
        return registry.maintenance_api().answer(event)
    log = logger()
    records = event.get("Records")
    if isinstance(records, list):
        messages = {str(record["messageId"]): str(record["body"]) for record in records}
        failed = registry.events.handle(messages)
        return {"batchItemFailures": [{"itemIdentifier": message} for message in sorted(failed)]}
    done = registry.reconciler.run(budget=SCHEDULED_SECONDS, anywhere=True)
    counts = {key: len(value) for key, value in asdict(done).items() if key != "next"}
    log.info("reconciled", extra=counts)
    if done.next is not None:
        log.warning("reconcile_incomplete", extra={"next": done.next})
    return asdict(done)
