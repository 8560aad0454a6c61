"""What the evaluator of policies promises: AWS's rules, and an error where it knows none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from infrastructure.policy_evaluator import (
    AccessRequest,
    Decision,
    PolicyNotUnderstood,
    applies,
    decide,
)

if TYPE_CHECKING:
    from infrastructure.policy_evaluator import Statement

OBJECT = "arn:aws:s3:::bucket/registry/system/catalog.json.gz"
ROLE = "arn:aws:iam::111122223333:role/writer"
PUT = AccessRequest("s3:PutObject", OBJECT, ROLE)


def _statement(**parts: Any) -> Statement:
    return {"Effect": "Deny", "Principal": "*", "Action": "s3:PutObject", "Resource": "*"} | parts


def _under(condition: dict[str, Any], request: AccessRequest) -> bool:
    return applies(_statement(Condition=condition), request)


def test_a_denial_beats_a_permission_and_silence_is_neither() -> None:
    allow, deny = _statement(Effect="Allow"), _statement()
    assert decide([], PUT) is Decision.SILENT
    assert decide([allow], PUT) is Decision.ALLOWED
    assert decide([allow, deny], PUT) is decide([deny, allow], PUT) is Decision.DENIED


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("s3:PutObject", True),
        ("S3:putobject", True),
        ("s3:*", True),
        ("s3:PutObjec?", True),
        ("s3:Put", False),
        ("s3:GetObject", False),
    ],
)
def test_actions_match_whole_with_wildcards_in_any_case(pattern: str, matches: bool) -> None:
    assert applies(_statement(Action=["s3:Other", pattern]), PUT) is matches


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        (OBJECT, True),
        ("arn:aws:s3:::bucket/registry/*", True),
        ("arn:aws:s3:::bucket/*/catalog.json.gz", True),
        ("arn:aws:s3:::bucket/registry/system/catalog.json.g?", True),
        ("arn:aws:s3:::bucket/Registry/*", False),
        ("arn:aws:s3:::bucket/registry", False),
        ("arn:aws:s3:::bucket/registry/system/catalogxjsonxgz", False),
        ("arn:aws:s3:::bucket/[r]egistry/*", False),
    ],
)
def test_resources_match_whole_with_wildcards_over_slashes(pattern: str, matches: bool) -> None:
    assert applies(_statement(Resource=[pattern]), PUT) is matches


def test_bool_compares_and_an_absent_key_is_no_match() -> None:
    secure = {"Bool": {"aws:SecureTransport": "false"}}
    assert not _under(secure, PUT)
    assert _under(secure, AccessRequest("s3:PutObject", OBJECT, ROLE, tls=False))
    creates = {"Bool": {"s3:ObjectCreationOperation": "true"}}
    assert _under(creates, PUT)
    assert not _under(creates, AccessRequest("s3:PutObject", OBJECT, ROLE, creates=False))
    get = AccessRequest("s3:GetObject", OBJECT, ROLE)
    assert not applies(_statement(Action="*", Condition=creates), get)


def test_null_asks_whether_a_key_is_absent() -> None:
    absent, present = ({"Null": {"s3:if-match": flag}} for flag in ("true", "false"))
    conditional = AccessRequest("s3:PutObject", OBJECT, ROLE, if_match='"etag"')
    assert _under(absent, PUT)
    assert not _under(present, PUT)
    assert _under(present, conditional)
    assert not _under(absent, conditional)


def test_all_keys_of_all_operators_have_to_hold() -> None:
    both = {"Null": {"s3:if-match": "true", "s3:if-none-match": "true"}}
    assert _under(both, PUT)
    assert not _under(both, AccessRequest("s3:PutObject", OBJECT, ROLE, if_none_match="*"))
    assert not _under(both | {"Bool": {"aws:SecureTransport": "false"}}, PUT)


@pytest.mark.parametrize(
    ("patterns", "matches"),
    [
        ([ROLE], False),
        (["arn:aws:iam::111122223333:role/other", ROLE], False),
        (["arn:aws:iam::111122223333:role/*"], False),
        (["arn:aws:iam::111122223333:role/writ"], True),
        (["arn:aws:iam::111122223333:role/writer/*"], True),
        (["arn:aws:iam::*:user/writer"], True),
        (["arn:aws:*:role/writer:a:b"], True),
    ],
)
def test_arn_not_like_compares_part_by_part(patterns: list[str], matches: bool) -> None:
    assert _under({"ArnNotLike": {"aws:PrincipalArn": patterns}}, PUT) is matches


def test_who_has_no_arn_is_like_none() -> None:
    service = AccessRequest("s3:PutObject", OBJECT, principal=None)
    assert _under({"ArnNotLike": {"aws:PrincipalArn": ["arn:aws:iam::*:*"]}}, service)


@pytest.mark.parametrize(
    "parts",
    [
        {"NotAction": "s3:GetObject"},
        {"NotResource": "*"},
        {"Effect": "deny"},
        {"Principal": {"AWS": ROLE}},
        {"Resource": "arn:aws:s3:::bucket/${aws:username}/*"},
        {"Condition": {"StringLike": {"aws:PrincipalArn": "*"}}},
        {"Condition": {"BoolIfExists": {"aws:SecureTransport": "false"}}},
        {"Condition": {"Bool": {"aws:MultiFactorAuthPresent": "false"}}},
        {"Condition": {"Bool": {"aws:SecureTransport": "no"}}},
        {"Condition": {"Null": {"s3:if-match": "yes"}}},
        {"Condition": {"ArnNotLike": {"aws:PrincipalArn": "*"}}},
    ],
)
def test_what_it_does_not_know_is_an_error_even_where_nothing_would_match(
    parts: dict[str, Any],
) -> None:
    with pytest.raises(PolicyNotUnderstood):
        applies(_statement(**{"Action": "s3:Other"} | parts), PUT)
