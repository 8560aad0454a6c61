"""The client against the registry's own code behind a socket: what it reads, and how it fails."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest
from house import zipped
from loopback import QUICK, Fault, Loopback

from skill_registry.agent.client import RegistryClient
from skill_registry.agent.problems import (
    AnswerInvalid,
    RegistryProblem,
    RegistryUnreachable,
    TransferFailed,
)
from skill_registry.errors import RequestInvalid

if TYPE_CHECKING:
    pass

BUSY = b'{"status": 503, "code": "store_unavailable", "detail": "The store did not answer."}'


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


def test_a_refusal_is_not_repeated(registry: Loopback, client: RegistryClient) -> None:
    with pytest.raises(RegistryProblem):
        client.view_skill("nothing")
    assert len(registry.requests) == 1


def test_an_unknown_skill_names_those_that_are_there(
    registry: Loopback, client: RegistryClient
) -> None:
    registry.house.publish("notes")
    with pytest.raises(RegistryProblem) as unknown:
        client.view_skill("note")
    assert (unknown.value.code, unknown.value.available) == ("skill_not_found", ("notes",))


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
