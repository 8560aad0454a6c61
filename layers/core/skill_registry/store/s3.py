"""The store on Amazon S3, or on anything that speaks its API. The only module that knows boto3.

What S3 answers becomes one of the port's values; what it fails to answer becomes ``Unavailable``.
The SDK resends a request whose reply was lost, conditional ones included, so ``Lost`` may be said
of a write that was applied: ``conditional.put_once`` is what tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

from skill_registry.errors import Unavailable
from skill_registry.store.base import (
    Condition,
    IfAbsent,
    IfMatch,
    Lost,
    NotModified,
    ObjectInfo,
    Page,
    StoredObject,
    StoredVersion,
    UploadTarget,
    VersionPage,
    Written,
)
from skill_registry.store.limits import check_key, page_size
from skill_registry.store.metadata import decode, encode, headers
from skill_registry.store.presigned import ARCHIVE_TYPE, checksum

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from mypy_boto3_s3 import S3Client

T = TypeVar("T")

_BUSY = 2
_DENIED = 30
_ABSENT = frozenset({"404", "NoSuchKey"})
_LOST = frozenset({"409", "412", "ConditionalRequestConflict", "PreconditionFailed"})


@dataclass(frozen=True, slots=True)
class _Refusal:
    """An answer that is no failure: not modified, condition not met, or absent."""

    reason: str

    @property
    def absent(self) -> bool:
        return self.reason in _ABSENT


def make_client(*, region: str, endpoint_url: str | None = None) -> S3Client:
    """Build the client that ``S3SkillStore`` needs. It is safe to share between threads.

    Presigned URLs are SigV4 on the regional host: the SDK's default of SigV2 on the global one
    binds neither length nor checksum. Timeouts stay below the gateway's 30 s, three tries included.

    Args:
        endpoint_url: Another S3 than AWS's; it is addressed by path, and spared the checksums that
            other servers reject. Pass the value of ``AWS_ENDPOINT_URL`` here, if it is set.
    """
    elsewhere = endpoint_url is not None
    config = Config(
        signature_version="s3v4",
        s3={
            "addressing_style": "path" if elsewhere else "virtual",
            "us_east_1_regional_endpoint": "regional",
        },
        retries={"mode": "standard", "total_max_attempts": 3},
        connect_timeout=2,
        read_timeout=5,
        max_pool_connections=32,
        request_checksum_calculation="when_required" if elsewhere else "when_supported",
        response_checksum_validation="when_required" if elsewhere else "when_supported",
    )
    session = boto3.session.Session()
    return session.client("s3", region_name=region, endpoint_url=endpoint_url, config=config)


class S3SkillStore:
    """The port over one bucket.

    Failures are told apart in what ``Unavailable`` says, never naming bucket, key or role; the
    SDK's own error is the cause, for the log. A denial (403) is one of them: the roles may list the
    bucket, so an absent key answers 404, and 403 means that the deployment is wrong. Asking again
    soon cannot help; ``retry_after`` is 30 s then.

    Args:
        client: From ``make_client``.
        bucket: Its name.
    """

    def __init__(self, client: S3Client, bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def get(
        self, key: str, *, if_none_match: str | None = None, if_match: str | None = None
    ) -> StoredObject | NotModified | None:
        """Read an object whole."""
        check_key(key)
        condition = _given(IfNoneMatch=if_none_match, IfMatch=if_match)

        def send() -> StoredObject:
            answer = self._client.get_object(Bucket=self._bucket, Key=key, **condition)
            # The body is read here, where a connection that breaks on the way is caught.
            body = answer["Body"].read()
            return StoredObject(_info(key, answer), body)

        found = self._send(send)
        if not isinstance(found, _Refusal):
            return found
        if found.reason == "304" and if_none_match is not None:
            return NotModified(if_none_match)
        return None

    def head(self, key: str) -> ObjectInfo | None:
        """Read what is known of an object."""
        check_key(key)
        found = self._send(
            lambda: _info(key, self._client.head_object(Bucket=self._bucket, Key=key))
        )
        return None if isinstance(found, _Refusal) else found

    def put(
        self,
        key: str,
        body: bytes,
        *,
        condition: Condition | None = None,
        metadata: Mapping[str, str] | None = None,
        content_type: str = "application/octet-stream",
    ) -> Written | Lost:
        """Write an object whole, or tell that the condition does not hold."""
        check_key(key)
        encoded = encode(metadata or {})
        written = self._send(
            lambda: self._client.put_object(
                Bucket=self._bucket,
                Key=key,
                Body=body,
                Metadata=encoded,
                ContentType=content_type,
                **_headers_of(condition),
            )
        )
        return Lost(written.reason) if isinstance(written, _Refusal) else Written(written["ETag"])

    def delete(self, key: str, *, if_match: str | None = None) -> bool:
        """Remove an object; an absent one counts as removed."""
        check_key(key)
        answer = self._send(
            lambda: self._client.delete_object(
                Bucket=self._bucket, Key=key, **_given(IfMatch=if_match)
            )
        )
        return not isinstance(answer, _Refusal) or answer.absent

    def list_page(
        self, prefix: str, *, delimiter: str = "", after: str | None = None, limit: int = 1000
    ) -> Page:
        """List keys under a prefix. The token is S3's own, good for the same arguments only."""
        keys = page_size(limit)
        answer = self._send(
            lambda: self._client.list_objects_v2(
                Bucket=self._bucket,
                Prefix=prefix,
                MaxKeys=keys,
                **_given(Delimiter=delimiter or None, ContinuationToken=after),
            )
        )
        if isinstance(answer, _Refusal):
            raise Unavailable("The store did not answer a listing.", retry_after=_BUSY)
        return Page(
            tuple(
                ObjectInfo(
                    item["Key"], item["ETag"], item["Size"], item["LastModified"].timestamp()
                )
                for item in answer.get("Contents", ())
            ),
            tuple(item["Prefix"] for item in answer.get("CommonPrefixes", ())),
            answer.get("NextContinuationToken"),
        )

    def list_versions(
        self, prefix: str, *, after: str | None = None, limit: int = 1000
    ) -> VersionPage:
        """List every stored version of the keys under a prefix, delete markers included."""
        key, _, version = (after or "").partition("\n")
        answer = self._send(
            lambda: self._client.list_object_versions(
                Bucket=self._bucket,
                Prefix=prefix,
                MaxKeys=page_size(limit),
                **_given(KeyMarker=key or None, VersionIdMarker=version or None),
            )
        )
        if isinstance(answer, _Refusal):
            raise Unavailable("The store did not answer a listing.", retry_after=_BUSY)
        kept = [_version(item, marker=False) for item in answer.get("Versions", ())]
        marks = [_version(item, marker=True) for item in answer.get("DeleteMarkers", ())]
        following = None
        if answer.get("IsTruncated"):
            following = f"{answer['NextKeyMarker']}\n{answer.get('NextVersionIdMarker', '')}"
        found = sorted(kept + marks, key=lambda each: (each.key.encode(), not each.current))
        return VersionPage(tuple(found), following)

    def delete_version(self, key: str, version_id: str) -> None:
        """Remove one stored version for good."""
        check_key(key)
        self._send(
            lambda: self._client.delete_object(Bucket=self._bucket, Key=key, VersionId=version_id)
        )

    def presign_get(self, key: str, *, expires: int, filename: str | None = None) -> str:
        """Sign a URL that reads the object; with a file name, browsers save it under that name."""
        check_key(key)
        params: dict[str, Any] = {"Bucket": self._bucket, "Key": key}
        if filename is not None:
            params["ResponseContentDisposition"] = (
                f"attachment; filename*=UTF-8''{quote(filename, safe='')}"
            )
        return self._sign(
            lambda: self._client.generate_presigned_url("get_object", params, ExpiresIn=expires)
        )

    def presign_put(
        self, key: str, *, size: int, sha256: str, metadata: Mapping[str, str], expires: int
    ) -> UploadTarget:
        """Sign a single-use write of exactly these bytes. Every header is under the signature."""
        check_key(key)
        digest = checksum(sha256)
        params = {
            "Bucket": self._bucket,
            "Key": key,
            "ContentLength": size,
            "ContentType": ARCHIVE_TYPE,
            "IfNoneMatch": "*",
            "ChecksumSHA256": digest,
            "Metadata": encode(metadata),
        }
        url = self._sign(
            lambda: self._client.generate_presigned_url("put_object", params, ExpiresIn=expires)
        )
        signed = {
            "content-length": str(size),
            "content-type": ARCHIVE_TYPE,
            "if-none-match": "*",
            "x-amz-checksum-sha256": digest,
            **headers(metadata),
        }
        return UploadTarget("PUT", url, headers=signed)

    def presign_post(
        self, key: str, *, max_size: int, metadata: Mapping[str, str], expires: int
    ) -> UploadTarget:
        """Sign a form upload. Sent again before it expires, it replaces the object."""
        check_key(key)
        fields = {"Content-Type": ARCHIVE_TYPE, **headers(metadata)}
        conditions: list[Any] = [{name: value} for name, value in fields.items()]
        conditions.append(["content-length-range", 1, max_size])
        form = self._sign(
            lambda: self._client.generate_presigned_post(
                self._bucket, key, Fields=dict(fields), Conditions=conditions, ExpiresIn=expires
            )
        )
        return UploadTarget("POST", form["url"], fields=form["fields"])

    def _send(self, request: Callable[[], T]) -> T | _Refusal:
        """Make one request: the only way to S3, and where its answers are read."""
        try:
            return request()
        except ClientError as error:
            refusal = _refusal(error)
            if refusal is None:
                raise _unavailable(error) from error
            return refusal
        except ParamValidationError:
            raise
        except BotoCoreError as error:
            raise Unavailable("The store cannot be reached.", retry_after=_BUSY) from error

    def _sign(self, signature: Callable[[], T]) -> T:
        try:
            return signature()
        except ParamValidationError:
            raise
        except BotoCoreError as error:
            raise Unavailable("The store's credentials cannot be used.") from error


def _given(**params: str | None) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def _headers_of(condition: Condition | None) -> dict[str, Any]:
    match condition:
        case IfAbsent():
            return {"IfNoneMatch": "*"}
        case IfMatch(etag):
            return {"IfMatch": etag}
    return {}


def _info(key: str, answer: Mapping[str, Any]) -> ObjectInfo:
    modified: datetime = answer["LastModified"]
    return ObjectInfo(
        key,
        answer["ETag"],
        answer["ContentLength"],
        modified.timestamp(),
        decode(answer["Metadata"]),
        answer.get("ContentType"),
    )


def _version(item: Mapping[str, Any], *, marker: bool) -> StoredVersion:
    return StoredVersion(item["Key"], item["VersionId"], item["IsLatest"], marker)


def _refusal(error: ClientError) -> _Refusal | None:
    code = error.response["Error"]["Code"]
    return _Refusal(code) if code in _ABSENT | _LOST | {"304"} else None


def _unavailable(error: ClientError) -> Unavailable:
    status = error.response["ResponseMetadata"]["HTTPStatusCode"]
    if status == 403:
        return Unavailable(
            "The store denied the registry access; its operator must check the deployment.",
            retry_after=_DENIED,
        )
    if status in (429, 503):
        return Unavailable("The store is busy.", retry_after=_BUSY)
    return Unavailable("The store failed to answer.", retry_after=_BUSY)
