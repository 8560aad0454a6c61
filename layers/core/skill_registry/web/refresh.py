"""Entry of the refresh function: batches of the queue, the schedule, and calls of the API."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from skill_registry.web.telemetry import begin, logger

if TYPE_CHECKING:
    from skill_registry.web.wiring import Registry

# Less than the function's timeout by more than one skill and one catalog take.
SCHEDULED_SECONDS = 150


class RefreshFailed(Exception):
    """An event could not be worked off. The log has the reason; the message says nothing of it."""


def refresh(registry: Registry, event: dict[str, Any], invocation: str = "") -> dict[str, Any]:
    """Work off an event of the queue, of the schedule or of the API.

    A batch answers with the messages to deliver again (AWS Lambda, SQS partial batch responses);
    the schedule with what the reconcile repaired; the API with an HTTP answer.

    Args:
        invocation: Lambda's id of it, which ties its lines of the log together.

    Raises:
        RefreshFailed: The event is to be delivered again.
    """
    if "routeKey" in event:
        return registry.maintenance_api().answer(event)
    begin(invocation, invocation)
    try:
        records = event.get("Records")
        return _reconcile(registry) if not isinstance(records, list) else _batch(registry, records)
    except Exception:
        logger().exception("refresh_crashed")
        # Lambda prints the message of what it is left with, and this one quotes nothing.
        raise RefreshFailed("refresh_crashed") from None


def _batch(registry: Registry, records: list[dict[str, Any]]) -> dict[str, Any]:
    messages = {str(record["messageId"]): str(record["body"]) for record in records}
    failed = registry.events.handle(messages)
    return {"batchItemFailures": [{"itemIdentifier": message} for message in sorted(failed)]}


def _reconcile(registry: Registry) -> dict[str, Any]:
    done = registry.reconciler.run(budget=SCHEDULED_SECONDS, anywhere=True)
    counts = {key: len(value) for key, value in asdict(done).items() if key != "next"}
    logger().info("reconciled", extra=counts)
    if done.next is not None:
        logger().warning("reconcile_incomplete", extra={"next": done.next})
    return asdict(done)
