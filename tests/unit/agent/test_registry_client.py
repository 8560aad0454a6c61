"""The client against the registry's own code behind a socket: calls, conditions, lost replies."""

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
    AnswerInvalid,
    RegistryProblem,
    RegistryUnreachable,
    TransferFailed,
)
from skill_registry.agent.requests import Precondition
from skill_registry.agent.retries import RetryPolicy
from skill_registry.errors import RequestInvalid

if TYPE_CHECKING:
    from collections.abc import Iterator

QUICK = RetryPolicy(attempts=4, base=0.001)
BUSY = b'{"status": 503, "code": "store_unavailable", "detail": "The store did not answer."}'


@pytest.fixture
def registry() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


@pytest.fixture
def naps() -> list[float]:
    """Seconds that the client slept, had it slept."""
    return []


@pytest.fixture
def client(registry: Loopback, naps: list[float]) -> Iterator[RegistryClient]:
    with RegistryClient(registry.url, retry=QUICK, sleep=naps.append) as made:
        yield made


def _header(registry: Loopback, index: int, name: str) -> str | None:
    return dict(registry.requests[index].headers).get(name)


def test_a_listing_names_what_was_published(registry: Loopback, client: RegistryClient) -> None:
    registry.house.publish("notes")
    listing = client.list_skills()
    (skill,) = listing.skills
    assert (skill.name, skill.scope, skill.version) == ("notes", "system", 1)
    assert skill.description == "Does one thing well."
    assert set(listing.catalog_version) == {"system"}
    assert listing.next is None


def test_an_unchanged_listing_is_asked_for_conditionally_and_kept(
    registry: Loopback, client: RegistryClient
) -> None:
    registry.house.publish("notes")
    first = client.list_skills()
    again = client.list_skills()
    assert again is first
    assert _header(registry, 0, "if-none-match") is None
    assert _header(registry, 1, "if-none-match") is not None
    registry.house.publish("notes", "two")
    assert [skill.version for skill in client.list_skills().skills] == [2]


def test_listings_of_other_scopes_and_pages_are_remembered_apart(
    registry: Loopback, client: RegistryClient
) -> None:
    registry.house.publish("notes")
    client.list_skills()
    client.list_skills(["system"])
    client.list_skills(limit=1)
    assert [_header(registry, index, "if-none-match") for index in range(3)] == [None] * 3


def test_pages_follow_one_another(registry: Loopback, client: RegistryClient) -> None:
    for name in ("a", "b", "c"):
        registry.house.publish(name)
    pages = list(client.list_pages(limit=2))
    assert [[skill.name for skill in page.skills] for page in pages] == [["a", "b"], ["c"]]


def test_a_view_has_the_body_and_the_version(registry: Loopback, client: RegistryClient) -> None:
    registry.house.publish("notes")
    view = client.view_skill("notes")
    assert (view.version, view.scope, view.path) == (1, "system", "SKILL.md")
    assert view.data == b"# notes\n\nDo it.\n"
    assert [file.path for file in view.files] == ["SKILL.md", "references/notes.md"]
    assert view.metadata["name"] == "notes"


def test_a_view_can_be_of_a_file_a_version_and_stored_bytes(
    registry: Loopback, client: RegistryClient
) -> None:
    registry.house.publish("notes", "one")
    registry.house.publish("notes", "two")
    assert client.view_skill("notes", "references/notes.md").data == b"two"
    assert client.view_skill("notes", "references/notes.md", version=1).data == b"one"
    raw = client.view_skill("notes", raw=True, scope="system")
    assert (raw.version, raw.scope) == (2, "system")
    assert raw.data.startswith(b"---\nname: notes\n")


def test_bytes_that_are_no_text_arrive_as_they_are(
    registry: Loopback, client: RegistryClient
) -> None:
    data = bytes(range(256))
    registry.house.put("skills/system/odd/SKILL.md", b"---\nname: odd\ndescription: d\n---\nx\n")
    registry.house.put("skills/system/odd/a.bin", data)
    view = client.view_skill("odd", "a.bin")
    assert (view.data, view.version) == (data, None)
    raw = client.view_skill("odd", "a.bin", raw=True)
    assert (raw.data, raw.version) == (data, None)


def test_the_number_of_a_vendored_skill_stays_the_text_that_it_is(
    registry: Loopback, client: RegistryClient
) -> None:
    text = b"---\nname: odd\ndescription: d\nversion: 3\n---\nx\n"
    registry.house.put("skills/system/odd/SKILL.md", text)
    assert client.view_skill("odd").version == "3"
    assert client.view_skill("odd", raw=True).version == "3"


def test_a_file_too_large_for_one_answer_comes_out_of_the_bundle(
    registry: Loopback, client: RegistryClient
) -> None:
    data = hashlib.shake_256(b"large").digest(5_000_000)
    skill = {"SKILL.md": b"---\nname: large\ndescription: d\n---\nx\n", "assets/a.bin": data}
    client.publish("large", zipped(skill))
    view = client.view_skill("large", "assets/a.bin")
    assert (view.data, view.version) == (data, 1)
    assert [file.path for file in view.files] == ["SKILL.md", "assets/a.bin"]
    raw = client.view_skill("large", "assets/a.bin", raw=True)
    assert (raw.data, raw.version, raw.scope) == (data, 1, "system")


def test_a_bundle_is_downloaded_and_its_digest_compared(
    registry: Loopback, client: RegistryClient
) -> None:
    registry.house.publish("notes")
    bundle = client.bundle("notes")
    data = client.download(bundle)
    assert hashlib.sha256(data).hexdigest() == bundle.sha256
    registry.faults.append(Fault("GET /s3", 200, body=data[:-1]))
    with pytest.raises(TransferFailed, match="another digest"):
        client.download(bundle)


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


def test_a_busy_registry_is_asked_again_when_it_said(
    registry: Loopback, client: RegistryClient, naps: list[float]
) -> None:
    registry.house.publish("notes")
    registry.faults += [
        Fault("GET /skills", 503, {"Retry-After": "7"}, BUSY),
        Fault("GET /skills", 429, {"Retry-After": "2"}),
    ]
    assert client.view_skill("notes").version == 1
    assert naps == [7.0, 2.0]


def test_a_registry_that_stays_busy_is_given_up_after_its_attempts(
    registry: Loopback, client: RegistryClient, naps: list[float]
) -> None:
    registry.faults += [Fault("GET /skills", 503, {"Retry-After": "1"}, BUSY)] * 4
    with pytest.raises(RegistryProblem) as given_up:
        client.list_skills()
    assert (given_up.value.status, given_up.value.code) == (503, "store_unavailable")
    assert given_up.value.retry_after == 1.0
    assert naps == [1.0] * 3


def test_a_wait_beyond_patience_is_not_waited(
    registry: Loopback, client: RegistryClient, naps: list[float]
) -> None:
    registry.faults.append(Fault("GET /skills", 503, {"Retry-After": "3600"}, BUSY))
    with pytest.raises(RegistryProblem) as busy:
        client.list_skills()
    assert busy.value.retry_after == 3600.0
    assert naps == []


def test_a_publish_that_goes_on_is_asked_about_until_it_is_done(
    registry: Loopback, client: RegistryClient, naps: list[float]
) -> None:
    registry.faults.append(Fault("POST /uploads/", 202, {"Retry-After": "3"}, applied=True))
    assert client.publish("notes", skill_zip("notes")).version == 1
    assert naps == [3.0]


def test_a_refusal_is_not_repeated(registry: Loopback, client: RegistryClient) -> None:
    with pytest.raises(RegistryProblem):
        client.view_skill("nothing")
    assert len(registry.requests) == 1


def test_a_refused_skill_brings_every_diagnostic(client: RegistryClient) -> None:
    bad = zipped({"SKILL.md": b"---\nname: other\ndescription: a: b\n---\nx\n"})
    with pytest.raises(RegistryProblem) as refused:
        client.publish("notes", bad)
    assert (refused.value.status, refused.value.code) == (422, "skill_invalid")
    places = [(each.code, each.file, each.line) for each in refused.value.diagnostics]
    assert ("yaml_colon", "SKILL.md", 3) in places
    assert refused.value.document["diagnostics"]


def test_an_unknown_skill_names_those_that_are_there(
    registry: Loopback, client: RegistryClient
) -> None:
    registry.house.publish("notes")
    with pytest.raises(RegistryProblem) as unknown:
        client.view_skill("note")
    assert (unknown.value.code, unknown.value.available) == ("skill_not_found", ("notes",))


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


def test_a_name_cannot_lead_to_another_route(registry: Loopback, client: RegistryClient) -> None:
    for name in ("..", "../uploads", "a/bundle", "?", "#", "a b"):
        with pytest.raises(RegistryProblem):
            client.view_skill(name)
    assert all(request.path.startswith("/skills/") for request in registry.requests)
    with pytest.raises(RequestInvalid):
        client.view_skill("")
    with pytest.raises(RequestInvalid, match="Unicode"):
        client.view_skill("\udcff")
    with pytest.raises(RequestInvalid, match="Unicode"):
        client.view_skill("notes", "\udcff")


def test_a_registry_that_is_not_there_is_an_error_of_its_own() -> None:
    with Loopback() as gone:
        url = gone.url
    naps: list[float] = []
    with (
        RegistryClient(url, retry=QUICK, sleep=naps.append) as client,
        pytest.raises(RegistryUnreachable, match=url),
    ):
        client.list_skills()
    assert len(naps) == 3


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault("GET /skills", 200, body=b"<html>Hello</html>"), "Is this the address"),
        (Fault("GET /skills", 200, body=b"[1]"), "Is this the address"),
        (Fault("GET /skills", 200, body=b'{"skills": [{"name": 1}]}'), "'name' is not text"),
        (Fault("GET /skills", 200, body=b'{"skills": "x"}'), "not a list of objects"),
        (Fault("GET /skills", 200, {"Content-Encoding": "gzip"}, b"no"), "cannot be decoded"),
        (Fault("GET /skills", 304), "Is this the address"),
        (Fault("GET /skills", 301, {"Location": "https://a.example/?t=secret"}), "a.example/,"),
    ],
)
def test_an_answer_that_is_no_registrys_says_so(
    fault: Fault, message: str, registry: Loopback, client: RegistryClient
) -> None:
    registry.faults.append(fault)
    with pytest.raises(AnswerInvalid, match=message) as strange:
        client.list_skills()
    assert "secret" not in str(strange.value)


def test_a_listing_that_runs_in_a_circle_ends(registry: Loopback, client: RegistryClient) -> None:
    page = b'{"skills": [], "next": "x"}'
    registry.faults += [Fault("GET /skills", 200, body=page)] * 3
    with pytest.raises(AnswerInvalid, match="does not end"):
        list(client.list_pages())


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


@pytest.mark.parametrize(
    "url",
    [
        "",
        "registry",
        "ftp://a.example",
        "http://",
        "http://a.example?x=1",
        "http://u:p@a.example",
        "http://a.example:port",
        "file:///etc/passwd",
    ],
)
def test_an_address_that_is_none_is_refused_before_anything_is_sent(url: str) -> None:
    with pytest.raises(RequestInvalid) as refused:
        RegistryClient(url)
    assert refused.value.code == "url_invalid"


def test_a_path_in_the_address_is_kept(registry: Loopback) -> None:
    with (
        RegistryClient(f"{registry.url}/stage/") as client,
        pytest.raises(RegistryProblem) as missing,
    ):
        client.list_skills()
    assert registry.requests[0].path == "/stage/skills"
    assert missing.value.code == "route_not_found"
