"""The client publishes exactly once, whatever gets lost, and keeps its credentials to itself."""

from __future__ import annotations

import hashlib
import json
import logging
from typing import TYPE_CHECKING

import httpx
import pytest
from house import skill_zip, zipped
from loopback import SIGNATURE, Fault, Loopback

from skill_registry.agent.client import RegistryClient
from skill_registry.agent.problems import (
    RegistryProblem,
    RegistryUnreachable,
    TransferFailed,
)
from skill_registry.agent.requests import Precondition

if TYPE_CHECKING:
    pass


def _header(registry: Loopback, index: int, name: str) -> str | None:
    return dict(registry.requests[index].headers).get(name)


def test_a_publish_is_ticket_upload_and_completion(
    registry: Loopback, client: RegistryClient
) -> None:
    published = client.publish("notes", skill_zip("notes"), message="First.")
    assert (published.version, published.scope, published.unchanged) == (1, "system", False)
    assert published.upload_id is not None
    assert registry.seen() == [
        "POST /uploads",
        "PUT /s3",
        f"POST /uploads/{published.upload_id}/complete",
    ]
    assert client.upload_state(published.upload_id).state == "published"


def test_an_upload_by_form_works_as_well(registry: Loopback, client: RegistryClient) -> None:
    ticket = client.create_upload("notes")
    assert ticket.method == "POST"
    client.send_upload(ticket, skill_zip("notes"))
    assert client.upload_state(ticket.upload_id).state == "received"
    assert client.complete(ticket.upload_id).version == 1


def test_the_store_sees_nothing_of_the_registrys_credentials(registry: Loopback) -> None:
    claims = {"sub": "alice"}
    auth = httpx.BasicAuth("alice", "secret")
    with RegistryClient(registry.url, auth=auth, claims=claims) as client:
        client.publish("notes", skill_zip("notes"))
    ticket, upload, _ = (dict(request.headers) for request in registry.requests)
    assert json.loads(ticket["x-local-claims"]) == claims
    assert ticket["authorization"].startswith("Basic ")
    assert not {"x-local-claims", "authorization", "cookie"} & set(upload)


def test_progress_counts_up_to_the_whole_for_both_ways_of_uploading(
    client: RegistryClient,
) -> None:
    data = zipped({"SKILL.md": b"---\nname: n\ndescription: d\n---\nx\n", "a": b""})
    data += hashlib.shake_256(b"padding").digest(200_000)
    digest = hashlib.sha256(data).hexdigest()
    for ticket in (
        client.create_upload("n"),
        client.create_upload("n", size=len(data), sha256=digest),
    ):
        told: list[tuple[int, int]] = []

        def note(sent: int, whole: int, told: list[tuple[int, int]] = told) -> None:
            told.append((sent, whole))

        client.send_upload(ticket, data, note)
        assert told == sorted(told)
        assert len(told) > 3
        assert told[-1] == (len(data), len(data))


def test_an_archive_over_the_tickets_limit_is_not_sent(
    registry: Loopback, client: RegistryClient
) -> None:
    ticket = client.create_upload("notes")
    assert ticket.max_size is not None
    with pytest.raises(TransferFailed, match=str(ticket.max_size)):
        client.send_upload(ticket, bytes(ticket.max_size + 1))
    assert registry.seen() == ["POST /uploads"]


def test_other_bytes_than_announced_are_refused_by_the_store(client: RegistryClient) -> None:
    ticket = client.create_upload("notes", size=3, sha256=hashlib.sha256(b"abc").hexdigest())
    with pytest.raises(TransferFailed, match=r"400 \(BadDigest\)") as refused:
        client.send_upload(ticket, b"abd")
    assert refused.value.status == 400


def test_an_expired_ticket_says_what_to_do(registry: Loopback, client: RegistryClient) -> None:
    ticket = client.create_upload("notes")
    registry.bucket.targets.clear()
    with pytest.raises(TransferFailed, match="start again"):
        client.send_upload(ticket, b"abc")


@pytest.mark.parametrize("route", ["POST /uploads", "PUT /s3", "POST /uploads/"])
def test_a_lost_reply_anywhere_in_a_publish_makes_no_second_version(
    route: str, registry: Loopback, client: RegistryClient, naps: list[float]
) -> None:
    registry.faults.append(Fault(route, applied=True))
    assert client.publish("notes", skill_zip("notes")).version == 1
    assert len(naps) == 1
    assert registry.house.listed() == {"notes": 1}
    assert client.publish("notes", skill_zip("notes")).version == 2


def test_a_lost_reply_of_an_inline_publish_makes_no_second_version(
    registry: Loopback, client: RegistryClient, naps: list[float]
) -> None:
    files = {"SKILL.md": "---\nname: notes\ndescription: d\n---\nx\n"}
    registry.faults.append(Fault("PUT /skills", applied=True))
    assert client.publish_inline("notes", files, message="Why.").version == 1
    assert len(naps) == 1
    assert _header(registry, 0, "idempotency-key") == _header(registry, 1, "idempotency-key")
    assert client.publish_inline("notes", skill_zip("notes"), message="Zip.").version == 2


def test_a_key_of_the_callers_own_makes_the_whole_call_repeatable(client: RegistryClient) -> None:
    files = {"SKILL.md": "---\nname: notes\ndescription: d\n---\nx\n"}
    versions = [client.publish_inline("notes", files, key="job-7").version for _ in range(2)]
    assert versions == [1, 1]


def test_a_refused_skill_brings_every_diagnostic(client: RegistryClient) -> None:
    bad = zipped({"SKILL.md": b"---\nname: other\ndescription: a: b\n---\nx\n"})
    with pytest.raises(RegistryProblem) as refused:
        client.publish("notes", bad)
    assert (refused.value.status, refused.value.code) == (422, "skill_invalid")
    places = [(each.code, each.file, each.line) for each in refused.value.diagnostics]
    assert ("yaml_colon", "SKILL.md", 3) in places
    assert refused.value.document["diagnostics"]


def test_a_failed_precondition_brings_the_version_that_is(client: RegistryClient) -> None:
    client.publish("notes", skill_zip("notes"), precondition=Precondition(absent=True))
    client.publish("notes", skill_zip("notes"), precondition=Precondition(version=1))
    for late in (Precondition(version=1), Precondition(absent=True)):
        with pytest.raises(RegistryProblem) as conflict:
            client.publish("notes", skill_zip("notes"), precondition=late)
        assert (conflict.value.status, conflict.value.current) == (412, 2)


def test_a_dry_run_gives_diagnostics_and_stores_nothing(
    registry: Loopback, client: RegistryClient
) -> None:
    assert client.validate(skill_zip("notes"), "notes").valid
    verdict = client.validate({"SKILL.md": "no frontmatter"})
    assert not verdict.valid
    assert verdict.diagnostics[0].code == "frontmatter_missing"
    assert registry.house.state() == {}


def test_a_publish_that_goes_on_is_asked_about_until_it_is_done(
    registry: Loopback, client: RegistryClient, naps: list[float]
) -> None:
    registry.faults.append(Fault("POST /uploads/", 202, {"Retry-After": "3"}, applied=True))
    assert client.publish("notes", skill_zip("notes")).version == 1
    assert naps == [3.0]


def test_no_signature_reaches_a_log_or_a_message(
    registry: Loopback, client: RegistryClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    client.publish("notes", skill_zip("notes"))
    bundle = client.bundle("notes")
    client.download(bundle)
    ticket = client.create_upload("notes")
    registry.faults += [Fault("POST /s3", 403)]
    with pytest.raises(TransferFailed) as refused:
        client.send_upload(ticket, b"abc")
    registry.faults += [Fault("GET /s3")] * 4
    with pytest.raises(RegistryUnreachable) as lost:
        client.download(bundle)
    shown = [str(refused.value), str(lost.value), repr(ticket), repr(bundle)]
    assert "HTTP Request: PUT" in caplog.text
    assert SIGNATURE in ticket.url
    assert not [text for text in (*shown, caplog.text) if SIGNATURE in text]
