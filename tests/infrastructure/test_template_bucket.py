"""The bucket and its queue: what is kept, who is refused, which events are sent.

What the policy comes to, request by request, is in `test_bucket_policy.py`.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infrastructure.conftest import Deploy
    from infrastructure.stack import Stack

CREATED, REMOVED = "s3:ObjectCreated:*", "s3:ObjectRemoved:*"
WRITERS = ("ViewSkillRole", "UploadSkillRole", "RefreshMetadataRole")
SESSION = "arn:${AWS::Partition}:sts::${AWS::AccountId}:assumed-role"
RECORDS = [
    "${Bucket.Arn}/uploads/*",
    "${Bucket.Arn}/registry/*",
    "${Bucket.Arn}/skills/*/.version",
]


def _statements(stack: Stack) -> dict[str, Any]:
    (policy,) = stack.of_type("AWS::S3::BucketPolicy").values()
    statements = policy["PolicyDocument"]["Statement"]
    assert all(item["Effect"] == "Deny" and item["Principal"] == "*" for item in statements)
    return {item["Sid"]: item for item in statements}


def _unless(*roles: str) -> dict[str, Any]:
    arns = ["${" + role + ".Arn}" for role in roles]
    sessions = [f"{SESSION}/${{{role}}}/*" for role in roles]
    return {"ArnNotLike": {"aws:PrincipalArn": arns + sessions}}


def _notifications(stack: Stack) -> list[tuple[str, str, str]]:
    configuration = stack.properties("Bucket")["NotificationConfiguration"]
    assert list(configuration) == ["QueueConfigurations"]
    found = []
    for item in configuration["QueueConfigurations"]:
        assert item["Queue"] == "${EventsQueue.Arn}"
        rules = {rule["Name"]: rule["Value"] for rule in item["Filter"]["S3Key"]["Rules"]}
        found.append((item["Event"], rules.get("prefix", ""), rules.get("suffix", "")))
    return found


def test_skills_outlive_their_stack(stack: Stack) -> None:
    bucket = stack.resources["Bucket"]
    assert bucket["DeletionPolicy"] == bucket["UpdateReplacePolicy"] == "Retain"


def test_the_bucket_is_private_encrypted_and_versioned(stack: Stack) -> None:
    bucket = stack.properties("Bucket")
    assert list(bucket["PublicAccessBlockConfiguration"].values()) == [True] * 4
    (encryption,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert encryption["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    assert bucket["OwnershipControls"]["Rules"] == [{"ObjectOwnership": "BucketOwnerEnforced"}]


def test_only_uploads_expire_and_only_old_object_versions_are_dropped(stack: Stack) -> None:
    rules = stack.properties("Bucket")["LifecycleConfiguration"]["Rules"]
    assert all(rule["Status"] == "Enabled" for rule in rules)
    expiring = [
        (rule["Prefix"], rule["ExpirationInDays"]) for rule in rules if "ExpirationInDays" in rule
    ]
    assert expiring == [("uploads/", 1)]
    noncurrent = {
        rule.get("Prefix", ""): rule["NoncurrentVersionExpiration"]["NoncurrentDays"]
        for rule in rules
        if "NoncurrentVersionExpiration" in rule
    }
    assert noncurrent == {"uploads/": 1, "": 30}
    aborted = [
        rule["AbortIncompleteMultipartUpload"]
        for rule in rules
        if "AbortIncompleteMultipartUpload" in rule
    ]
    assert aborted == [{"DaysAfterInitiation": 1}]


def test_browsers_may_use_a_presigned_upload(stack: Stack) -> None:
    (rule,) = stack.properties("Bucket")["CorsConfiguration"]["CorsRules"]
    assert rule["AllowedMethods"] == ["PUT", "POST"]
    assert rule["AllowedOrigins"] == ["*"]


def test_browser_origins_can_be_named(deploy: Deploy) -> None:
    stack = deploy(BrowserOrigins="https://a.example,https://b.example")
    (rule,) = stack.properties("Bucket")["CorsConfiguration"]["CorsRules"]
    assert rule["AllowedOrigins"] == ["https://a.example", "https://b.example"]


def test_events_are_sent_for_what_may_change_a_skill(stack: Stack) -> None:
    assert sorted(_notifications(stack)) == sorted(
        [
            (CREATED, "skills/", ""),
            (REMOVED, "skills/", ""),
            (REMOVED, "registry/", "catalog.json.gz"),
            (CREATED, "uploads/", ".zip"),
            (CREATED, "registry/", ".zip"),
            (CREATED, "registry/", "settings.json"),
        ]
    )


def test_a_written_catalog_or_outcome_sends_no_event(stack: Stack) -> None:
    created = [rule[1:] for rule in _notifications(stack) if rule[0] == CREATED]
    for key in ("registry/system/catalog.json.gz", "uploads/0123/an-upload.json"):
        for prefix, suffix in created:
            assert not (key.startswith(prefix) and key.endswith(suffix))


def test_no_two_rules_of_one_event_overlap(stack: Stack) -> None:
    for left, right in itertools.combinations(_notifications(stack), 2):
        if left[0] != right[0]:
            continue
        prefixes = left[1].startswith(right[1]) or right[1].startswith(left[1])
        suffixes = left[2].endswith(right[2]) or right[2].endswith(left[2])
        assert not (prefixes and suffixes), (left, right)


def test_everybody_is_refused_without_tls(stack: Stack) -> None:
    statement = _statements(stack)["TlsOnly"]
    assert statement["Action"] == "s3:*"
    assert statement["Resource"] == ["${Bucket.Arn}", "${Bucket.Arn}/*"]
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_records_are_written_by_the_functions_only(stack: Stack) -> None:
    statement = _statements(stack)["OnlyTheRegistryWritesRecords"]
    assert statement["Action"] == ["s3:PutObject", "s3:ReplicateObject"]
    assert statement["Resource"] == RECORDS
    assert statement["Condition"] == _unless(*WRITERS)


def test_records_are_never_deleted(stack: Stack) -> None:
    statement = _statements(stack)["RecordsAreNeverDeleted"]
    assert statement["Action"] == ["s3:DeleteObject", "s3:ReplicateDelete"]
    assert statement["Resource"] == RECORDS
    assert "Condition" not in statement


def test_object_versions_of_records_are_removed_by_a_purge_only(stack: Stack) -> None:
    statement = _statements(stack)["OnlyPurgeRemovesObjectVersions"]
    assert statement["Action"] == "s3:DeleteObjectVersion"
    assert statement["Resource"] == ["${Bucket.Arn}/uploads/*", "${Bucket.Arn}/registry/*"]
    assert statement["Condition"] == _unless("UploadSkillRole")


def test_an_older_number_is_never_brought_back(stack: Stack) -> None:
    statement = _statements(stack)["VersionsNeverGoBack"]
    assert statement["Action"] == "s3:DeleteObjectVersion"
    assert statement["Resource"] == "${Bucket.Arn}/skills/*/.version"
    assert "Condition" not in statement


def test_records_are_written_with_a_condition_or_not_at_all(stack: Stack) -> None:
    statement = _statements(stack)["RecordsAreWrittenConditionally"]
    assert statement["Action"] == "s3:PutObject"
    assert statement["Resource"] == ["${Bucket.Arn}/registry/*", "${Bucket.Arn}/skills/*/.version"]
    assert statement["Condition"] == {
        "Null": {"s3:if-match": "true", "s3:if-none-match": "true"},
        "Bool": {"s3:ObjectCreationOperation": "true"},
    }


def test_what_fails_five_times_waits_two_weeks(stack: Stack) -> None:
    redrive = stack.properties("EventsQueue")["RedrivePolicy"]
    assert redrive == {"deadLetterTargetArn": "${DeadLetterQueue.Arn}", "maxReceiveCount": 5}
    assert stack.properties("DeadLetterQueue")["MessageRetentionPeriod"] == 14 * 24 * 3600


def test_only_s3_of_this_account_may_send_events(stack: Stack) -> None:
    (policy,) = stack.of_type("AWS::SQS::QueuePolicy").values()
    (allowed,) = [
        item for item in policy["PolicyDocument"]["Statement"] if item["Effect"] == "Allow"
    ]
    assert allowed["Principal"] == {"Service": "s3.amazonaws.com"}
    assert allowed["Action"] == "sqs:SendMessage"
    assert allowed["Condition"] == {"StringEquals": {"aws:SourceAccount": "${AWS::AccountId}"}}


def test_notifications_are_set_after_s3_may_send_them(stack: Stack) -> None:
    assert stack.resources["Bucket"]["DependsOn"] == "EventsQueuePolicy"
