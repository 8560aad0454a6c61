"""What the stack needs at its endpoint: the bucket, its events' queue, and the functions' keys."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from local_stack.emulator import Credentials, Endpoint
from local_stack.errors import StackError
from local_stack.template import events_queue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from local_stack.template import Function, ObjectRule, QueueSource


def make_bucket(endpoint: Endpoint, bucket: str) -> None:
    """Make the bucket, with object versions, where it is not there yet.

    Raises:
        StackError: The endpoint does not answer, or refuses.
    """
    try:
        endpoint.make_bucket(bucket)
    except (BotoCoreError, ClientError) as error:
        raise StackError(
            f"The store {endpoint.url} did not make the bucket {bucket}: {error}"
        ) from error


def make_queue(
    endpoint: Endpoint, bucket: str, source: QueueSource, rules: tuple[ObjectRule, ...]
) -> str | None:
    """Make the queue of a bucket's events, and have the bucket fill it.

    Returns its URL, or None where the endpoint speaks no SQS: a plain S3 server. Making it again,
    also by another server on the same endpoint, changes nothing.

    Raises:
        StackError: The endpoint speaks SQS and refuses.
    """
    sqs, s3 = endpoint.client("sqs"), endpoint.client("s3")
    name = events_queue(bucket)
    try:
        dead = sqs.create_queue(QueueName=f"{name}-dead")["QueueUrl"]
    except (BotoCoreError, ClientError):
        return None
    try:
        url: str = sqs.create_queue(QueueName=name)["QueueUrl"]
        queue = _arn(sqs, url)
        attributes = {
            "VisibilityTimeout": str(source.visibility),
            "RedrivePolicy": json.dumps(
                {"deadLetterTargetArn": _arn(sqs, dead), "maxReceiveCount": source.receives}
            ),
            "Policy": json.dumps(_document(_may_send(queue))),
        }
        sqs.set_queue_attributes(QueueUrl=url, Attributes=attributes)
        s3.put_bucket_notification_configuration(
            Bucket=bucket,
            NotificationConfiguration={
                "QueueConfigurations": [_notification(rule, queue) for rule in rules]
            },
        )
    except (BotoCoreError, ClientError) as error:
        raise StackError(f"The store {endpoint.url} did not set up its events: {error}") from error
    finally:
        sqs.close()
        s3.close()
    return url


def make_keys(endpoint: Endpoint, bucket: str, function: Function) -> Credentials:
    """Make a user with exactly the rights of a function's role, and return its keys.

    A function without a role in the template may do everything with the bucket.
    """
    arn = f"arn:aws:s3:::{bucket}"
    everything = {"Effect": "Allow", "Action": "s3:*", "Resource": [arn, f"{arn}/*"]}
    statements = list(function.statements) or [everything]
    name = f"{function.name}-{uuid.uuid4().hex[:8]}"
    iam = endpoint.client("iam")
    iam.create_user(UserName=name)
    iam.put_user_policy(
        UserName=name,
        PolicyName="role",
        PolicyDocument=json.dumps(_document(*statements)),
    )
    keys = iam.create_access_key(UserName=name)["AccessKey"]
    iam.close()
    return Credentials(keys["AccessKeyId"], keys["SecretAccessKey"])


def _document(*statements: Mapping[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def _may_send(queue: str) -> dict[str, Any]:
    return {
        "Effect": "Allow",
        "Principal": {"Service": "s3.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": queue,
    }


def _arn(sqs: Any, url: str) -> str:
    attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    arn: str = attributes["Attributes"]["QueueArn"]
    return arn


def _notification(rule: ObjectRule, queue: str) -> dict[str, Any]:
    rules = [{"Name": "prefix", "Value": rule.prefix}, {"Name": "suffix", "Value": rule.suffix}]
    return {
        "QueueArn": queue,
        "Events": [rule.event],
        "Filter": {"Key": {"FilterRules": [entry for entry in rules if entry["Value"]]}},
    }
