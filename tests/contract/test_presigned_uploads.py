"""Presigned targets: what is signed is all that is accepted, over real HTTP where there is one."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol

import httpx
import pytest

from skill_registry.errors import Forbidden, RequestInvalid
from skill_registry.store.base import StoredObject, Written
from skill_registry.store.directory import DirectorySkillStore
from skill_registry.store.memory import MemorySkillStore
from skill_registry.store.s3 import S3SkillStore

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mypy_boto3_s3 import S3Client

    from skill_registry.store.base import SkillStore, UploadTarget

KEY = "uploads/0123456789abcdef0123456789abcdef/id_1.zip"
OTHER = "uploads/0123456789abcdef0123456789abcdef/id_2.zip"
DATA = b"PK\x05\x06" + bytes(18)
TICKET = {"skill": "system/example", "message": "naïve 100% — 日本語"}


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def deliver(store: SkillStore, target: UploadTarget, data: bytes) -> bool:
    """Send bytes to a target as a client does; tell whether they were taken."""
    if isinstance(store, MemorySkillStore | DirectorySkillStore):
        try:
            return isinstance(store.receive(target, data), Written)
        except (Forbidden, RequestInvalid):
            return False
    if target.method == "PUT":
        answer = httpx.put(target.url, content=data, headers=target.headers)
    else:
        file = {"file": ("skill.zip", data, "application/zip")}
        answer = httpx.post(target.url, data=target.fields, files=file)
    assert answer.status_code in (200, 204, 400, 403, 412), answer.text
    return answer.is_success


class Sign(Protocol):
    def __call__(self, store: SkillStore, metadata: Mapping[str, str] = TICKET) -> UploadTarget: ...


def signed_put(store: SkillStore, metadata: Mapping[str, str] = TICKET) -> UploadTarget:
    return store.presign_put(
        KEY, size=len(DATA), sha256=digest(DATA), metadata=metadata, expires=60
    )


def signed_post(store: SkillStore, metadata: Mapping[str, str] = TICKET) -> UploadTarget:
    return store.presign_post(KEY, max_size=100, metadata=metadata, expires=60)


def stored(store: SkillStore, key: str = KEY) -> StoredObject:
    found = store.get(key)
    assert isinstance(found, StoredObject)
    return found


def test_a_signed_put_stores_the_bytes_with_the_ticket(signing_store: SkillStore) -> None:
    target = signed_put(signing_store)
    assert target.method == "PUT" and not target.fields
    assert deliver(signing_store, target, DATA)
    found = stored(signing_store)
    assert found.body == DATA
    assert found.info.metadata == TICKET
    assert found.info.content_type == "application/zip"


@pytest.mark.parametrize("sign", [signed_put, signed_post])
def test_a_signed_upload_keeps_an_empty_text(signing_store: SkillStore, sign: Sign) -> None:
    ticket = {**TICKET, "empty": ""}
    assert deliver(signing_store, sign(signing_store, ticket), DATA)
    assert stored(signing_store).info.metadata == ticket


def test_a_signed_put_is_good_for_one_use(signing_store: SkillStore) -> None:
    target = signed_put(signing_store)
    assert deliver(signing_store, target, DATA)
    assert not deliver(signing_store, target, DATA)


def test_a_signed_put_refuses_other_bytes_of_the_same_size(signing_store: SkillStore) -> None:
    assert not deliver(signing_store, signed_put(signing_store), b"x" * len(DATA))
    assert signing_store.head(KEY) is None


def test_a_signed_put_refuses_another_size(signing_store: SkillStore) -> None:
    target = signed_put(signing_store)
    longer = DATA + b"x"
    resized = replace(target, headers={**target.headers, "content-length": str(len(longer))})
    assert not deliver(signing_store, resized, longer)
    assert signing_store.head(KEY) is None


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("x-amz-checksum-sha256", base64.b64encode(bytes(32)).decode()),
        ("x-amz-meta-skill", "system/other"),
        ("content-type", "text/html"),
        ("if-none-match", None),
    ],
)
def test_a_signed_put_refuses_an_altered_header(
    signing_store: SkillStore, header: str, value: str | None
) -> None:
    target = signed_put(signing_store)
    headers = {name: text for name, text in target.headers.items() if name != header}
    if value is not None:
        headers[header] = value
    assert header in target.headers
    assert not deliver(signing_store, replace(target, headers=headers), DATA)
    assert signing_store.head(KEY) is None


def test_a_signed_form_refuses_a_field_that_was_not_signed(signing_store: SkillStore) -> None:
    target = signed_post(signing_store)
    altered = replace(target, fields={**target.fields, "x-amz-meta-admin": "yes"})
    assert not deliver(signing_store, altered, DATA)
    assert signing_store.head(KEY) is None


def test_a_signed_put_refuses_another_key(signing_store: SkillStore) -> None:
    target = signed_put(signing_store)
    moved = replace(target, url=target.url.replace("id_1", "id_2"))
    assert not deliver(signing_store, moved, DATA)
    assert signing_store.head(KEY) is None
    assert signing_store.head(OTHER) is None


@pytest.mark.parametrize("size", [1, 22, 100])
def test_a_signed_form_takes_any_size_in_its_range(signing_store: SkillStore, size: int) -> None:
    target = signed_post(signing_store)
    assert target.method == "POST" and not target.headers
    assert target.fields["key"] == KEY
    assert deliver(signing_store, target, b"x" * size)
    found = stored(signing_store)
    assert found.body == b"x" * size
    assert found.info.metadata == TICKET
    assert found.info.content_type == "application/zip"


@pytest.mark.parametrize("size", [0, 101, 5000])
def test_a_signed_form_refuses_a_size_out_of_range(signing_store: SkillStore, size: int) -> None:
    assert not deliver(signing_store, signed_post(signing_store), b"x" * size)
    assert signing_store.head(KEY) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [("key", OTHER), ("x-amz-meta-skill", "system/other"), ("Content-Type", "text/html")],
)
def test_a_signed_form_refuses_an_altered_field(
    signing_store: SkillStore, field: str, value: str
) -> None:
    target = signed_post(signing_store)
    assert field in target.fields
    altered = replace(target, fields={**target.fields, field: value})
    assert not deliver(signing_store, altered, DATA)
    assert signing_store.head(KEY) is None
    assert signing_store.head(OTHER) is None


def test_a_signed_form_sent_again_replaces_the_object(signing_store: SkillStore) -> None:
    target = signed_post(signing_store)
    assert deliver(signing_store, target, b"one")
    assert deliver(signing_store, target, b"two")
    assert stored(signing_store).body == b"two"


@pytest.mark.parametrize("sign", [signed_put, signed_post])
def test_ticket_metadata_over_the_limit_is_refused_at_signing(
    signing_store: SkillStore, sign: Sign
) -> None:
    with pytest.raises(RequestInvalid) as refusal:
        sign(signing_store, metadata={"message": "x" * 2048})
    assert refusal.value.code == "metadata_too_large"


@pytest.mark.parametrize("sha256", ["", "0" * 63, "z" * 64, "00 " * 32, "0" * 66])
def test_a_digest_that_is_no_sha256_is_refused_at_signing(
    signing_store: SkillStore, sha256: str
) -> None:
    with pytest.raises(RequestInvalid) as refusal:
        signing_store.presign_put(KEY, size=1, sha256=sha256, metadata={}, expires=9)
    assert refusal.value.code == "sha256_invalid"


def test_an_upper_case_digest_is_the_same_digest(signing_store: SkillStore) -> None:
    target = signing_store.presign_put(
        KEY, size=len(DATA), sha256=digest(DATA).upper(), metadata={}, expires=60
    )
    assert deliver(signing_store, target, DATA)


@pytest.mark.parametrize("sign", [signed_put, signed_post])
def test_an_expired_target_on_s3_is_refused(
    served_store: SkillStore, monkeypatch: pytest.MonkeyPatch, sign: Sign
) -> None:
    long_ago = datetime.now(UTC) - timedelta(minutes=10)
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda **_: long_ago)
    monkeypatch.setattr("botocore.signers.get_current_datetime", lambda **_: long_ago)
    target = sign(served_store)
    monkeypatch.undo()
    assert not deliver(served_store, target, DATA)
    assert served_store.head(KEY) is None


def test_a_signed_url_on_s3_reads_the_object_under_the_given_name(
    served_store: SkillStore,
) -> None:
    served_store.put(KEY, DATA)
    answer = httpx.get(served_store.presign_get(KEY, expires=60, filename="naïve v6.zip"))
    assert (answer.status_code, answer.content) == (200, DATA)
    disposition = answer.headers["content-disposition"]
    assert disposition == "attachment; filename*=UTF-8''na%C3%AFve%20v6.zip"
    assert httpx.get(served_store.presign_get(KEY, expires=60)).content == DATA


def test_a_signed_url_reads_no_other_key(served_store: SkillStore) -> None:
    served_store.put(KEY, DATA)
    served_store.put(OTHER, DATA)
    url = served_store.presign_get(KEY, expires=60).replace("id_1", "id_2")
    assert httpx.get(url).status_code == 403


def test_the_form_policy_allows_this_key_these_fields_and_this_range_only(
    moto_client: S3Client,
) -> None:
    target = S3SkillStore(moto_client, "registry").presign_post(
        KEY, max_size=16_777_216, metadata={"skill": "system/example"}, expires=900
    )
    policy = json.loads(base64.b64decode(target.fields["policy"]))
    conditions = policy["conditions"]
    for condition in (
        {"bucket": "registry"},
        {"key": KEY},
        {"Content-Type": "application/zip"},
        {"x-amz-meta-skill": "system/example"},
        ["content-length-range", 1, 16_777_216],
    ):
        assert condition in conditions
    left = datetime.fromisoformat(policy["expiration"]) - datetime.now(UTC)
    assert timedelta(seconds=890) < left <= timedelta(seconds=901)


def test_a_put_signs_every_header_on_the_regional_host(moto_client: S3Client) -> None:
    target = S3SkillStore(moto_client, "registry").presign_put(
        KEY, size=3, sha256=digest(b"abc"), metadata={"skill": "system/example"}, expires=900
    )
    url = httpx.URL(target.url)
    assert url.host == "registry.s3.us-east-1.amazonaws.com"
    signed = url.params["X-Amz-SignedHeaders"].split(";")
    assert sorted(signed) == sorted([*target.headers, "host"])
    assert url.params["X-Amz-Expires"] == "900"
    assert url.params["X-Amz-Algorithm"] == "AWS4-HMAC-SHA256"
