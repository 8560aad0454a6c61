"""Lambda's event sources: batches of queue messages, and a schedule."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
import uuid
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from local_stack.template import REGION

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from local_stack.emulator import Endpoint
    from local_stack.environments import Outcome
    from local_stack.template import Schedule

    Message = Mapping[str, Any]
    Invoke = Callable[[bytes], Awaitable[Outcome]]

POLL_SECONDS = 5
RECEIVE = 10  # SQS hands out no more at once
# A publish writes several objects; what follows within this time goes into the same batch.
WINDOW_SECONDS = 0.3
# Seen to have failed, a message need not wait for the whole visibility timeout.
RETRY_SECONDS = 2
LOG = logging.getLogger("local_stack.events")


class QueueFeed:
    """Feeds a function from a queue, as Lambda's event source mapping does.

    Messages of an invocation that fails, and those that it reports in ``batchItemFailures``, stay
    in the queue and are delivered again, until the queue moves them to its dead-letter queue.
    """

    def __init__(self, endpoint: Endpoint, queue: str, batch_size: int, invoke: Invoke) -> None:
        self._sqs = endpoint.client("sqs")
        self._queue = queue
        self._batch_size = batch_size
        self._invoke = invoke
        self._stopping = threading.Event()
        self._loop = asyncio.get_running_loop()
        # boto3 blocks, and a long poll must not hold up the end of the server.
        self._thread = threading.Thread(target=self._run, name="queue", daemon=True)

    def start(self) -> None:
        """Begin to poll."""
        self._thread.start()

    def stop(self) -> None:
        """Take no more messages."""
        self._stopping.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                messages = self._receive_batch()
                if messages:
                    self._deliver(messages)
            except (BotoCoreError, ClientError, RuntimeError) as error:
                if not self._stopping.wait(1):
                    LOG.warning("The queue did not answer: %s", error)

    def _receive_batch(self) -> list[Message]:
        messages = self._receive(POLL_SECONDS)
        if messages and len(messages) < self._batch_size:
            self._stopping.wait(WINDOW_SECONDS)
        while messages and len(messages) < self._batch_size:
            more = self._receive(0, self._batch_size - len(messages))
            if not more:
                break
            messages += more
        return messages

    def _receive(self, wait: int, limit: int = RECEIVE) -> list[Message]:
        answer = self._sqs.receive_message(
            QueueUrl=self._queue,
            MaxNumberOfMessages=min(limit, RECEIVE, self._batch_size),
            WaitTimeSeconds=wait,
            MessageSystemAttributeNames=["All"],
            MessageAttributeNames=["All"],
        )
        return list(answer.get("Messages", ()))

    def _deliver(self, messages: Sequence[Message]) -> None:
        payload = json.dumps(batch_event(messages, self._queue)).encode()
        outcome = asyncio.run_coroutine_threadsafe(_await(self._invoke(payload)), self._loop)
        failed = failed_items(outcome.result(), [message["MessageId"] for message in messages])
        done = [message for message in messages if message["MessageId"] not in failed]
        again = [message for message in messages if message["MessageId"] in failed]
        for entries in _chunks(done):
            self._sqs.delete_message_batch(QueueUrl=self._queue, Entries=_entries(entries))
        for entries in _chunks(again):
            self._sqs.change_message_visibility_batch(
                QueueUrl=self._queue, Entries=_entries(entries, VisibilityTimeout=RETRY_SECONDS)
            )


async def _await(awaitable: Awaitable[Outcome]) -> Outcome:
    return await awaitable


def _chunks(messages: Sequence[Message]) -> Iterable[Sequence[Message]]:
    return (messages[start : start + RECEIVE] for start in range(0, len(messages), RECEIVE))


def _entries(messages: Sequence[Message], **extra: Any) -> list[dict[str, Any]]:
    return [
        {"Id": str(number), "ReceiptHandle": message["ReceiptHandle"], **extra}
        for number, message in enumerate(messages)
    ]


def batch_event(messages: Sequence[Message], queue: str) -> dict[str, Any]:
    """Return the event of a batch. Source: Lambda developer guide, "Using Lambda with SQS"."""
    account, name = queue.rsplit("/", 2)[-2:]
    return {
        "Records": [
            {
                "messageId": message["MessageId"],
                "receiptHandle": message["ReceiptHandle"],
                "body": message["Body"],
                "attributes": message.get("Attributes", {}),
                "messageAttributes": {
                    key: _attribute(value)
                    for key, value in message.get("MessageAttributes", {}).items()
                },
                "md5OfBody": message["MD5OfBody"],
                "eventSource": "aws:sqs",
                "eventSourceARN": f"arn:aws:sqs:{REGION}:{account}:{name}",
                "awsRegion": REGION,
            }
            for message in messages
        ]
    }


def _attribute(value: Mapping[str, Any]) -> dict[str, Any]:
    known = {"stringValue": value.get("StringValue"), "dataType": value["DataType"]}
    return {key: text for key, text in known.items() if text is not None} | {
        "stringListValues": [],
        "binaryListValues": [],
    }


def failed_items(outcome: Outcome, items: Sequence[str]) -> frozenset[str]:
    """Return which items of a batch are to be delivered again.

    As in Lambda, a failed invocation, an answer of another form, and a report that names an
    unknown item all fail the whole batch; an empty report succeeds.
    """
    everything = frozenset(items)
    if not outcome.succeeded:
        return everything
    result = json.loads(outcome.body or b"null")
    reports = (result or {}).get("batchItemFailures") if isinstance(result, dict | None) else None
    if not reports:
        return frozenset()
    try:
        named = frozenset(report["itemIdentifier"] for report in reports)
    except (TypeError, KeyError):
        return everything
    return named if named <= everything else everything


def schedule_event(schedule: Schedule) -> bytes:
    """Return the event of a schedule: its own input, else EventBridge's default one."""
    if schedule.input is not None:
        return schedule.input.encode()
    event = {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": "000000000000",
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "region": REGION,
        "resources": [f"arn:aws:events:{REGION}:000000000000:rule/local"],
        "detail": {},
    }
    return json.dumps(event).encode()
