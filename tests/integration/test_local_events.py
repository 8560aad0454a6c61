"""Events from the bucket to the function, by queue and by schedule, as Lambda delivers them."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from local_stack.emulator import Endpoint
from local_stack.environments import Outcome
from local_stack.events import batch_event, failed_items, schedule_event
from local_stack.template import Schedule

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from local_stack.launcher import ServerProcess

BUCKET = "skill-registry"


def wait_for(condition: Callable[[], Any], seconds: float = 30.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.05)
    return found


def seen(template: Path) -> list[dict[str, Any]]:
    file = template.parent / "code" / "seen.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def records(template: Path, key: str) -> list[dict[str, Any]]:
    """Return the queue's records about a key, one for each delivery."""
    found = [record for event in seen(template) for record in event.get("Records", ())]
    return [record for record in found if f'"key": "{key}"' in record["body"]]


def put(server: ServerProcess, *keys: str) -> None:
    s3 = Endpoint(server.note()["store"]).client("s3")
    for key in keys:
        s3.put_object(Bucket=BUCKET, Key=key, Body=b"1")
    s3.close()


def test_a_new_object_reaches_the_function_by_the_rules_of_the_bucket(
    toy_server: ServerProcess, toy_template: Path
) -> None:
    put(toy_server, "inbox/a.zip", "outbox/a.txt", "inbox/a b+ü.txt")
    (record,) = wait_for(lambda: records(toy_template, "inbox/a+b%2B%C3%BC.txt"))
    body = json.loads(record["body"])["Records"][0]
    assert record["eventSource"] == "aws:sqs"
    assert record["eventSourceARN"].endswith(":skill-registry-events")
    assert record["attributes"]["ApproximateReceiveCount"] == "1"
    assert body["eventName"] == "ObjectCreated:Put"
    assert body["s3"]["object"]["versionId"]
    assert records(toy_template, "inbox/a.zip") == records(toy_template, "outbox/a.txt") == []


def test_only_the_items_that_failed_come_again_and_end_in_the_dead_letter_queue(
    toy_server: ServerProcess, toy_template: Path
) -> None:
    put(toy_server, "inbox/fine.txt", "inbox/broken.txt")
    endpoint = Endpoint(toy_server.note()["store"])
    sqs = endpoint.client("sqs")
    dead = toy_server.note()["queue"] + "-dead"
    message = wait_for(
        lambda: sqs.receive_message(QueueUrl=dead, WaitTimeSeconds=1).get("Messages")
    )
    assert "inbox/broken.txt" in message[0]["Body"]
    assert len(records(toy_template, "inbox/broken.txt")) == 2
    assert len(records(toy_template, "inbox/fine.txt")) == 1
    sqs.close()


def test_the_schedule_runs_at_the_start(toy_server: ServerProcess, toy_template: Path) -> None:
    assert {"action": "tidy"} in seen(toy_template)


def test_a_schedule_without_input_sends_eventbridges_own() -> None:
    event = json.loads(schedule_event(Schedule("any")))
    assert event["detail-type"] == "Scheduled Event"
    assert event["source"] == "aws.events"


def test_message_attributes_are_written_as_lambda_does() -> None:
    message = {
        "MessageId": "1",
        "ReceiptHandle": "r",
        "Body": "b",
        "MD5OfBody": "m",
        "Attributes": {"SentTimestamp": "17"},
        "MessageAttributes": {"kind": {"StringValue": "x", "DataType": "String"}},
    }
    (record,) = batch_event([message], "http://127.0.0.1:1/000000000000/q")["Records"]
    assert record["messageAttributes"]["kind"]["stringValue"] == "x"
    assert record["attributes"] == {"SentTimestamp": "17"}
    assert record["eventSourceARN"] == "arn:aws:sqs:us-east-1:000000000000:q"


@pytest.mark.parametrize(
    ("kind", "result", "failed"),
    [
        ("response", None, ""),
        ("response", {"batchItemFailures": []}, ""),
        ("response", {"batchItemFailures": [{"itemIdentifier": "b"}]}, "b"),
        ("response", {"batchItemFailures": [{"itemIdentifier": "z"}]}, "abc"),
        ("response", {"batchItemFailures": [{"id": "b"}]}, "abc"),
        ("error", {"errorType": "ValueError"}, "abc"),
        ("exit", None, "abc"),
        ("timeout", None, "abc"),
    ],
)
def test_a_batch_report_decides_what_comes_again(kind: str, result: Any, failed: str) -> None:
    outcome = Outcome(kind, json.dumps(result).encode())
    assert failed_items(outcome, ["a", "b", "c"]) == set(failed)
