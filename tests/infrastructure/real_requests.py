"""Sends the requests of the golden table to a real S3, and tells whether they were refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError
from infrastructure.access_table import (
    ABSENT,
    ALLOWED,
    CONDITIONAL,
    DELETE,
    DELETE_VERSION,
    FUNCTIONS,
    GET,
    LIST,
    LIST_VERSIONS,
    LOOK_ALIKE,
    MATCH,
    OPERATOR,
    PUT,
    REFUSED,
    USER,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from infrastructure.access_table import Row

CALLERS = (*FUNCTIONS, OPERATOR, USER, LOOK_ALIKE)
# What S3 answers where it evaluated a request and the object is not as the request wants it.
EVALUATED = {"NoSuchKey", "NoSuchVersion", "PreconditionFailed"}
_CONDITIONS = {ABSENT: {"IfNoneMatch": "*"}, MATCH: {"IfMatch": '"no-such-etag"'}}
_SENT = {GET, PUT, DELETE, LIST, LIST_VERSIONS, DELETE_VERSION}


def sendable() -> Iterator[tuple[Row, bool]]:
    """Yield rows with whether they are refused where no rule on conditions stands.

    Left out is what has no request of its own (replication), what emulators have no callers for
    (services, other accounts), and what needs another connection (no TLS).
    """
    for row in ALLOWED + REFUSED:
        if row.who in CALLERS and row.action in _SENT and row.tls and not row.emulated:
            yield row, bool(set(row.by) - {CONDITIONAL})


def is_refused(s3: Any, bucket: str, row: Row) -> bool:
    """Send a row's request; every answer but "access denied" means that it was allowed.

    What a condition guards is not written: the ETag that it names is none.
    """
    try:
        _send(s3, bucket, row)
    except ClientError as error:
        code = error.response["Error"]["Code"]
        assert code == "AccessDenied" or code in EVALUATED, (code, row)
        return code == "AccessDenied"
    return False


def _send(s3: Any, bucket: str, row: Row) -> None:
    named = {"Bucket": bucket, "Key": row.key}
    condition = _CONDITIONS.get(row.condition, {})
    match row.action:
        case "s3:GetObject":
            s3.get_object(**named)["Body"].close()
        case "s3:PutObject" if not row.creates:
            s3.create_multipart_upload(**named)
        case "s3:PutObject":
            s3.put_object(**named, **condition, Body=b"1")
        case "s3:DeleteObject":
            s3.delete_object(**named, **condition)
        case "s3:DeleteObjectVersion":
            s3.delete_object(**named, VersionId="null")
        case "s3:ListBucket":
            s3.list_objects_v2(Bucket=bucket, MaxKeys=1)
        case "s3:ListBucketVersions":
            s3.list_object_versions(Bucket=bucket, MaxKeys=1)
        case _:
            raise AssertionError(f"{row.action} is sent by nothing here")
