"""Least privilege: every action of every role on every resource, as one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from infrastructure.conftest import ROLE
from infrastructure.iam import grants

if TYPE_CHECKING:
    from infrastructure.conftest import Deploy
    from infrastructure.stack import Stack

GET, PUT, DELETE, LIST = "s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:ListBucket"
DELETE_VERSION, LIST_VERSIONS = "s3:DeleteObjectVersion", "s3:ListBucketVersions"
BUCKET = "${Bucket.Arn}"
# X-Ray knows no resources that a policy could name.
TRACE = {("xray:PutTraceSegments", "*"), ("xray:PutTelemetryRecords", "*")}

GRANTS = {
    "ListSkills": {
        (LIST, BUCKET),
        (GET, f"{BUCKET}/registry/*/catalog.json.gz"),
        (GET, f"{BUCKET}/registry/access.json"),
    },
    "ViewSkill": {
        (LIST, BUCKET),
        (GET, f"{BUCKET}/skills/*"),
        (GET, f"{BUCKET}/registry/*"),
        (PUT, f"{BUCKET}/registry/*/snapshots/*"),
    },
    "UploadSkill": {
        (LIST, BUCKET),
        (GET, f"{BUCKET}/uploads/*"),
        (GET, f"{BUCKET}/registry/*"),
        (GET, f"{BUCKET}/skills/*"),
        (PUT, f"{BUCKET}/uploads/*"),
        (PUT, f"{BUCKET}/registry/*/revisions/*"),
        (PUT, f"{BUCKET}/registry/*/settings.json"),
        (PUT, f"{BUCKET}/registry/*/catalog.json.gz"),
        (PUT, f"{BUCKET}/registry/access.json"),
        (PUT, f"{BUCKET}/skills/*"),
        (DELETE, f"{BUCKET}/skills/*"),
        (LIST_VERSIONS, BUCKET),
        (DELETE_VERSION, f"{BUCKET}/registry/*/revisions/*"),
        (DELETE_VERSION, f"{BUCKET}/registry/*/snapshots/*"),
        (DELETE_VERSION, f"{BUCKET}/registry/*/catalog.json.gz"),
        (DELETE_VERSION, f"{BUCKET}/skills/*"),
        (DELETE_VERSION, f"{BUCKET}/uploads/*"),
    },
    "RefreshMetadata": {
        ("sqs:ReceiveMessage", "${EventsQueue.Arn}"),
        ("sqs:DeleteMessage", "${EventsQueue.Arn}"),
        ("sqs:GetQueueAttributes", "${EventsQueue.Arn}"),
        (LIST, BUCKET),
        (GET, f"{BUCKET}/uploads/*"),
        (GET, f"{BUCKET}/registry/*"),
        (GET, f"{BUCKET}/skills/*"),
        (PUT, f"{BUCKET}/uploads/*.json"),
        (PUT, f"{BUCKET}/registry/*/revisions/*"),
        (PUT, f"{BUCKET}/registry/*/settings.json"),
        (PUT, f"{BUCKET}/registry/*/catalog.json.gz"),
        (PUT, f"{BUCKET}/skills/*"),
        (DELETE, f"{BUCKET}/skills/*"),
    },
}


def test_every_role_may_do_this_and_nothing_else(stack: Stack) -> None:
    roles = stack.of_type("AWS::IAM::Role")
    assert set(roles) == {f"{name}Role" for name in GRANTS}
    for name, expected in GRANTS.items():
        logs = f"${{{name}Logs.Arn}}"
        log = {("logs:CreateLogStream", logs), ("logs:PutLogEvents", logs)}
        assert grants(roles[f"{name}Role"]) == expected | log, name


@pytest.mark.parametrize(("tracing", "trace"), [("PassThrough", set()), ("Active", TRACE)])
def test_a_role_may_trace_where_the_deployment_traces_and_nowhere_else(
    deploy: Deploy, tracing: str, trace: set[tuple[str, str]]
) -> None:
    stack = deploy(Administrators=ROLE, Tracing=tracing)
    for name, expected in GRANTS.items():
        granted = grants(stack.properties(f"{name}Role"))
        assert {grant for grant in granted if grant[0].startswith("xray:")} == trace, name
        assert expected <= granted


def test_no_role_borrows_a_managed_policy_or_a_wildcard_action(stack: Stack) -> None:
    for role in stack.of_type("AWS::IAM::Role").values():
        assert "ManagedPolicyArns" not in role
        for action, resource in grants(role):
            assert "*" not in action
            assert resource != "*"


def test_only_lambda_may_assume_the_roles(stack: Stack) -> None:
    for role in stack.of_type("AWS::IAM::Role").values():
        (statement,) = role["AssumeRolePolicyDocument"]["Statement"]
        assert statement["Principal"] == {"Service": "lambda.amazonaws.com"}


def test_every_function_has_the_role_of_its_name(stack: Stack) -> None:
    for name, function in stack.of_type("AWS::Lambda::Function").items():
        assert function["Role"] == "${" + name.replace("Function", "Role") + ".Arn}"
