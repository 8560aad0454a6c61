"""The history of a skill over HTTP: versions, differences, pins by number and by label."""

from __future__ import annotations

import json
from typing import Any

import pytest
from api_client import JSON, NAME, SETTINGS, ZIP, Client
from house import ADMIN, House, skill, skill_md, skill_zip, zipped

from skill_registry.store.keys import SkillId
from skill_registry.store.memory import MemorySkillStore
from skill_registry.web.http import json_response

VERSIONS = "GET /skills/{name}/versions"
DIFF = "GET /skills/{name}/diff"
NOTES = SkillId("system", "notes")


@pytest.fixture
def house() -> House:
    return House(settings=SETTINGS)


@pytest.fixture
def client(house: House) -> Client:
    return Client(house)


def _label(client: Client, **labels: int | None) -> None:
    body = json.dumps({"labels": labels})
    assert client.send("PATCH /skills/{name}", path=NAME, headers=JSON, body=body)[0] == 200


def _purge(client: Client, version: int) -> None:
    body = json.dumps({"version": version})
    sent = client.send("POST /skills/{name}/purge", path=NAME, headers=JSON, body=body)
    assert sent[0] == 200, sent[1]


def test_versions_tell_who_made_them_when_and_why(house: House, client: Client) -> None:
    house.publish("notes")
    done = house.registry.publisher.publish_inline(
        ADMIN, NOTES, skill("notes", "two"), message="Say it twice"
    )
    _label(client, stable=2)
    status, body, _ = client.send(VERSIONS, path=NAME)
    assert (status, body["name"], body["scope"], body["current"]) == (200, "notes", "system", 2)
    assert body["versions"][0] == {
        "version": 2,
        "state": "content",
        "author": ADMIN.subject,
        "message": "Say it twice",
        "created": done.info.created,
        "size": done.info.size,
        "sha256": done.info.sha256,
        "labels": ["stable"],
        "restores": None,
        "unchanged": False,
    }
    assert [each["version"] for each in body["versions"]] == [2, 1]
    assert "next" not in body


def test_the_message_of_every_kind_of_publish_is_in_the_versions(client: Client) -> None:
    files = {"SKILL.md": skill_md("notes").decode()}
    inline = json.dumps({"files": files, "message": "As JSON"})
    client.send("PUT /skills/{name}", path=NAME, headers=JSON, body=inline)
    client.send(
        "PUT /skills/{name}",
        path=NAME,
        query="message=As+a+zip",
        headers=ZIP,
        body=skill_zip("notes"),
    )
    back = json.dumps({"version": 1, "message": "Back"})
    client.send("POST /skills/{name}/rollback", path=NAME, headers=JSON, body=back)
    _, body, _ = client.send(VERSIONS, path=NAME)
    assert [each["message"] for each in body["versions"]] == ["Back", "As a zip", "As JSON"]
    assert [each["restores"] for each in body["versions"]] == [1, None, None]


def test_the_message_of_an_announced_upload_is_in_the_versions(
    house: House, client: Client
) -> None:
    upload = house.upload("notes", skill_zip("notes"), message="Through the ticket")
    client.send("POST /uploads/{id}/complete", path={"id": upload})
    _, body, _ = client.send(VERSIONS, path=NAME)
    assert [each["message"] for each in body["versions"]] == ["Through the ticket"]


def test_versions_come_page_by_page(house: House, client: Client) -> None:
    for text in "abcde":
        house.publish("notes", text)
    seen: list[int] = []
    query = "limit=2"
    while True:
        _, body, _ = client.send(VERSIONS, path=NAME, query=query)
        assert body["current"] == 5
        seen += [each["version"] for each in body["versions"]]
        if "next" not in body:
            break
        query = f"limit=2&before={body['next']}"
    assert seen == [5, 4, 3, 2, 1]


def test_versions_revalidate_until_one_is_added(house: House, client: Client) -> None:
    house.publish("notes")
    _, _, headers = client.send(VERSIONS, path=NAME)
    assert headers["etag"].startswith('"1-')
    given = {"if-none-match": headers["etag"]}
    assert client.send(VERSIONS, path=NAME, headers=given)[0] == 304
    house.publish("notes", "two")
    assert client.send(VERSIONS, path=NAME, headers=given)[0] == 200


def test_what_a_version_still_has_is_its_state(house: House, client: Client) -> None:
    house.publish("notes")
    house.registry.publisher.delete(ADMIN, NOTES)
    house.publish("notes", "three")
    _purge(client, 1)
    _, body, _ = client.send(VERSIONS, path=NAME)
    states = [(each["version"], each["state"]) for each in body["versions"]]
    assert states == [(3, "content"), (2, "deleted"), (1, "pruned")]
    assert [each["size"] is None for each in body["versions"]] == [False, True, True]


def test_a_vendored_skill_has_no_versions(house: House, client: Client) -> None:
    house.put("skills/system/notes/SKILL.md", skill_md("notes"))
    _, body, _ = client.send(VERSIONS, path=NAME)
    assert (body["current"], body["versions"]) == (None, [])


@pytest.mark.parametrize("route", [VERSIONS, DIFF])
def test_whoever_may_not_see_a_skill_gets_the_answer_of_an_unknown_one(
    house: House, client: Client, route: str
) -> None:
    house.publish("notes", agents="[review]")
    bob = {"sub": "bob", "agent": "coding"}
    hidden = client.send(route, path=NAME, claims=bob)
    unknown = client.send(route, path={"name": "nota"}, claims=bob)
    assert (hidden[0], unknown[0]) == (404, 404)
    assert hidden[1]["code"] == unknown[1]["code"] == "skill_not_found"
    assert hidden[1] == {**unknown[1], "detail": unknown[1]["detail"].replace("nota", "notes")}


def test_who_may_write_reads_the_history_of_a_deleted_skill(house: House, client: Client) -> None:
    house.publish("notes")
    house.registry.publisher.delete(ADMIN, NOTES)
    assert client.send(VERSIONS, path=NAME)[1]["current"] == 2
    assert client.send(VERSIONS, path=NAME, claims={"sub": "bob"})[0] == 404


def test_a_diff_is_of_the_last_change_when_nothing_else_is_asked(
    house: House, client: Client
) -> None:
    house.publish("notes", "one\n")
    house.publish("notes", "two\n")
    status, body, headers = client.send(DIFF, path=NAME)
    assert (status, body["from"], body["to"], body["truncated"]) == (200, 1, 2, False)
    (file,) = body["files"]
    assert (file["path"], file["change"]) == ("references/notes.md", "changed")
    assert (file["old"]["size"], file["new"]["mode"]) == (4, "0644")
    assert set(file["new"]) == {"size", "sha256", "mode"}
    assert "-one\n+two\n" in body["diff"]
    assert headers["etag"].startswith('"2-')
    given = {"if-none-match": headers["etag"]}
    assert client.send(DIFF, path=NAME, headers=given)[0] == 304


def test_a_diff_is_of_numbers_and_labels_either_way(house: House, client: Client) -> None:
    for text in ("one\n", "two\n", "three\n"):
        house.publish("notes", text)
    _label(client, stable=1)
    _, body, _ = client.send(DIFF, path=NAME, query="from=3&to=@stable")
    assert (body["from"], body["to"]) == (3, 1)
    assert "-three\n+one\n" in body["diff"]


def test_files_that_came_and_went_have_one_side(client: Client) -> None:
    for path in ("a.txt", "b.txt"):
        data = zipped({"SKILL.md": skill_md("notes"), path: path.encode()})
        client.send("PUT /skills/{name}", path=NAME, headers=ZIP, body=data)
    _, body, _ = client.send(DIFF, path=NAME)
    changes = {each["path"]: each for each in body["files"]}
    assert (changes["a.txt"]["change"], changes["a.txt"]["new"]) == ("removed", None)
    assert (changes["b.txt"]["change"], changes["b.txt"]["old"]) == ("added", None)


@pytest.mark.parametrize("kind", ["text/plain", "text/x-diff"])
def test_a_diff_comes_as_text_alone_to_whom_asks_for_it(
    house: House, client: Client, kind: str
) -> None:
    house.publish("notes", "one\n")
    house.publish("notes", "two\n")
    _, whole, _ = client.send(DIFF, path=NAME)
    _, text, headers = client.send(DIFF, path=NAME, headers={"accept": kind})
    assert (text, headers["content-type"]) == (whole["diff"], f"{kind}; charset=utf-8")
    assert "x-diff-truncated" not in headers


def test_a_diff_that_is_too_long_is_cut_at_a_line_and_says_so(house: House, client: Client) -> None:
    line = "x" * 1023 + "\n"
    house.publish("notes", "one\n")
    house.publish("notes", line * 2000)
    _, body, _ = client.send(DIFF, path=NAME)
    assert (body["truncated"], len(body["diff"].encode()) <= 1024 * 1024) == (True, True)
    assert body["diff"].endswith(line)
    _, text, headers = client.send(DIFF, path=NAME, headers={"accept": "text/plain"})
    assert (text, headers["x-diff-truncated"]) == (body["diff"], "1")


def test_a_diff_whose_escapes_would_not_fit_into_an_answer_is_cut_further(
    house: House, client: Client
) -> None:
    house.publish("notes", "one\n")
    house.publish("notes", ("\x01" * 1022 + "\n") * 1000)
    _, body, _ = client.send(DIFF, path=NAME)
    assert body["truncated"]
    assert body["diff"].endswith("\x01\n")
    travels = json.dumps(json_response(body).body)
    assert len(travels) < 6 * 1000 * 1000


@pytest.mark.parametrize(
    ("route", "query", "code"),
    [
        (VERSIONS, "before=x", "version_invalid"),
        (VERSIONS, "before=0", "version_invalid"),
        (VERSIONS, "limit=51", "limit_invalid"),
        (VERSIONS, "limit=0", "limit_invalid"),
        (VERSIONS, "scope=nowhere", "scope_invalid"),
        (DIFF, "from=-1", "version_invalid"),
        (DIFF, "to=@", "version_invalid"),
        (DIFF, "from=1&from=2", "query_invalid"),
    ],
)
def test_a_query_that_is_none_is_named(
    house: House, client: Client, route: str, query: str, code: str
) -> None:
    house.publish("notes")
    status, body, _ = client.send(route, path=NAME, query=query)
    assert (status, body["code"]) == (400, code)


@pytest.mark.parametrize("query", ["from=7", "to=@stable", "to=7"])
def test_a_diff_of_a_version_that_never_was_is_not_found(
    house: House, client: Client, query: str
) -> None:
    house.publish("notes")
    house.publish("notes", "two")
    status, body, _ = client.send(DIFF, path=NAME, query=query)
    assert (status, body["code"]) == (404, "version_not_found")


def test_a_view_of_a_label_is_of_the_version_that_has_it(house: House, client: Client) -> None:
    house.publish("notes", "one")
    house.publish("notes", "two")
    _label(client, stable=1)
    query = "version=@stable&path=references/notes.md"

    def view() -> Any:
        return client.send("GET /skills/{name}", path=NAME, query=query)

    status, body, headers = view()
    assert (status, body["version"], body["content"]) == (200, 1, "one")
    assert headers["etag"].startswith('"1-')
    _label(client, stable=2)
    assert view()[1]["content"] == "two"
    _label(client, stable=None)
    status, body, _ = view()
    assert (status, body["code"]) == (404, "version_not_found")


@pytest.mark.parametrize("route", ["GET /skills/{name}", "GET /skills/{name}/bundle", DIFF])
def test_a_version_without_its_bytes_is_gone(house: House, client: Client, route: str) -> None:
    house.publish("notes", "one")
    house.publish("notes", "two")
    _purge(client, 1)
    query = "from=1" if route == DIFF else "version=1"
    status, body, _ = client.send(route, path=NAME, query=query)
    assert (status, body["code"]) == (410, "version_pruned")


def test_a_version_beyond_the_retention_is_gone_and_a_labelled_one_is_not() -> None:
    # Everything in this bucket is older than any retention.
    house = House(settings=SETTINGS, bucket=MemorySkillStore(clock=lambda: 0.0))
    client = Client(house)
    for count in range(22):
        house.publish("notes", str(count))
    _label(client, lts=1)
    assert house.registry.pruner.prune(NOTES) == (2,)
    by_label = client.send("GET /skills/{name}", path=NAME, query="version=@lts")
    assert (by_label[0], by_label[1]["version"]) == (200, 1)
    status, body, _ = client.send("GET /skills/{name}", path=NAME, query="version=2")
    assert (status, body["code"]) == (410, "version_pruned")
