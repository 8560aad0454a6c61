"""The HTTP contract: shapes, statuses, validators."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from api_client import JSON, NAME, SETTINGS, ZIP, Client
from house import House, skill_files, skill_md, skill_zip, zipped

from skill_registry.catalog.principal import user_scope
from skill_registry.store import keys
from skill_registry.store.base import UploadTarget
from skill_registry.store.keys import SkillId


@pytest.fixture
def house() -> House:
    return House(settings=SETTINGS)


@pytest.fixture
def client(house: House) -> Client:
    return Client(house)


def test_a_listing_in_json_markdown_and_xml(house: House, client: Client) -> None:
    house.publish("notes", license="MIT")
    status, body, headers = client.send("GET /skills")
    assert (status, headers["content-type"]) == (200, "application/json")
    assert body["skills"] == [
        {
            "name": "notes",
            "scope": "system",
            "version": 1,
            "description": "Does one thing well.",
            "license": "MIT",
        }
    ]
    assert set(body["catalog_version"]) == {"system"}
    _, markdown, _ = client.send("GET /skills", headers={"accept": "text/markdown"})
    assert markdown.splitlines() == ["- **notes** (v:1): Does one thing well."]
    _, xml, _ = client.send("GET /skills", headers={"accept": "application/xml"})
    assert "<name>notes</name>" in xml
    assert "<location>.skills/notes/SKILL.md</location>" in xml


def test_a_listing_revalidates(house: House, client: Client) -> None:
    house.publish("notes")
    _, _, headers = client.send("GET /skills")
    assert (headers["cache-control"], headers["vary"]) == (
        "private, no-cache",
        "accept, accept-encoding, authorization",
    )
    given = {"if-none-match": headers["etag"]}
    assert client.send("GET /skills", headers=given)[0] == 304
    house.publish("notes", "b")
    assert client.send("GET /skills", headers=given)[0] == 200


def test_a_stale_listing_says_its_age(house: House, client: Client) -> None:
    house.publish("notes")
    client.send("GET /skills")
    house.faults.before_if = lambda _: True
    house.time += 42
    status, _, headers = client.send("GET /skills")
    assert (status, headers["x-catalog-stale"]) == (200, "42")


def test_a_view_carries_version_files_and_frontmatter(house: House, client: Client) -> None:
    house.publish("notes", agents="[review]")
    status, body, headers = client.send("GET /skills/{name}", path=NAME)
    assert status == 200
    assert {k: body[k] for k in ("name", "scope", "version", "path", "content")} == {
        "name": "notes",
        "scope": "system",
        "version": 1,
        "path": "SKILL.md",
        "content": "# notes\n\nDo it.\n",
    }
    assert [(f["path"], f["mode"]) for f in body["files"]] == [
        ("SKILL.md", "0644"),
        ("references/notes.md", "0644"),
    ]
    assert body["files"][0]["sha256"] == skill_files("notes", agents="[review]")[0].sha256
    assert body["metadata"]["agents"] == ["review"]
    assert headers["etag"].startswith('"1-')


def test_raw_gives_the_stored_bytes(house: House, client: Client) -> None:
    house.publish("notes")
    status, body, headers = client.send("GET /skills/{name}", path=NAME, query="raw=1")
    assert (status, body.encode()) == (200, skill_md("notes"))
    assert headers["x-skill-version"] == "1"


def test_a_binary_file_comes_in_base64(house: House, client: Client) -> None:
    files = {"SKILL.md": skill_md("notes"), "assets/x.bin": b"\xff\x00\xfe"}
    client.send("PUT /skills/{name}", path=NAME, headers=ZIP, body=zipped(files))
    _, body, _ = client.send("GET /skills/{name}", path=NAME, query="path=assets/x.bin")
    assert (body["encoding"], base64.b64decode(body["content"])) == ("base64", b"\xff\x00\xfe")
    raw = client.send("GET /skills/{name}", path=NAME, query="path=assets/x.bin&raw=1")
    assert raw[1] == b"\xff\x00\xfe"


def test_a_file_too_large_for_an_answer_gives_the_bundle(house: House, client: Client) -> None:
    big = ("x" * 79 + "\n") * 80_000
    house.publish("notes", big)
    query = "path=references/notes.md"
    status, body, _ = client.send("GET /skills/{name}", path=NAME, query=query)
    assert (status, body["content"], body["size"]) == (200, None, len(big))
    assert set(body["bundle"]) == {"url", "sha256", "size", "expires"}
    status, body, _ = client.send("GET /skills/{name}", path=NAME, query=query + "&raw=1")
    assert (status, body["code"]) == (413, "too_large")


def test_a_bundle_is_a_link_or_a_redirect_to_it(house: House, client: Client) -> None:
    house.publish("notes")
    status, body, _ = client.send("GET /skills/{name}/bundle", path=NAME)
    assert (status, body["version"], body["expires"]) == (200, 1, 300)
    status, _, headers = client.send(
        "GET /skills/{name}/bundle", path=NAME, headers={"accept": "application/zip"}
    )
    assert (status, headers["location"]) == (303, body["url"])


@pytest.mark.parametrize("exact", [True, False], ids=["put", "post"])
def test_an_upload_from_ticket_to_version(house: House, client: Client, exact: bool) -> None:
    import hashlib

    data = skill_zip("notes")
    wanted: dict[str, Any] = {"name": "notes", "message": "First one"}
    if exact:
        wanted |= {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    status, ticket, _ = client.send("POST /uploads", body=json.dumps(wanted), headers=JSON)
    assert (status, ticket["method"], ticket["base"]) == (201, "PUT" if exact else "POST", None)
    target = UploadTarget(
        ticket["method"], ticket["url"], ticket.get("headers", {}), ticket.get("fields", {})
    )
    house.bucket.receive(target, data)
    upload = {"id": ticket["upload_id"]}
    assert client.send("GET /uploads/{id}", path=upload)[1]["state"] == "received"
    status, done, headers = client.send("POST /uploads/{id}/complete", path=upload)
    assert (status, done["state"], done["version"], headers["etag"]) == (200, "published", 1, '"1"')
    assert client.send("GET /uploads/{id}", path=upload)[1] == done
    info = house.bucket.head(keys.revision(SkillId("system", "notes"), 1))
    assert info is not None
    assert info.metadata["message"] == "First one"


def test_an_inline_publish_of_text_files(client: Client) -> None:
    body = json.dumps({"files": {"SKILL.md": skill_md("notes").decode()}})
    status, done, _ = client.send("PUT /skills/{name}", path=NAME, body=body, headers=JSON)
    assert (status, done["version"], done["unchanged"]) == (201, 1, False)
    status, done, _ = client.send("PUT /skills/{name}", path=NAME, body=body, headers=JSON)
    assert (status, done["version"], done["unchanged"]) == (200, 2, True)


def test_preconditions_are_versions_in_quotes_or_a_views_etag(client: Client) -> None:
    def put(**headers: str) -> tuple[int, Any]:
        given = ZIP | {key.replace("_", "-"): value for key, value in headers.items()}
        status, body, _ = client.send(
            "PUT /skills/{name}", path=NAME, headers=given, body=skill_zip("notes")
        )
        return status, body

    assert put(if_match="*")[0] == 404
    assert put(if_none_match="*")[0] == 201
    status, problem = put(if_none_match="*")
    assert (status, problem["code"], problem["current"]) == (412, "version_conflict", 1)
    assert put(if_match='"1"')[0] == 200
    assert put(if_match='"1"')[0] == 412
    _, _, headers = client.send("GET /skills/{name}", path=NAME)
    assert put(if_match=headers["etag"])[0] == 200
    # A blank one is that of a client that lost its version: ignoring it would overwrite.
    for wrong in ("3", '"x"', '"3", "4"', 'W/"3"', "", " "):
        status, problem = put(if_match=wrong)
        assert (status, problem["code"]) == (400, "precondition_invalid")
    assert put(if_none_match='"3"')[0] == put(if_none_match="")[0] == 400


def test_a_delete_answers_with_its_tombstone(house: House, client: Client) -> None:
    house.publish("notes")
    status, body, _ = client.send("DELETE /skills/{name}", path=NAME)
    assert (status, body) == (
        200,
        {"name": "notes", "scope": "system", "version": 2, "state": "deleted"},
    )
    assert client.send("GET /skills/{name}", path=NAME)[0] == 404
    assert client.send("DELETE /skills/{name}", path=NAME)[0] == 404


def test_a_dry_run_gives_the_diagnostics_of_a_publish_and_stores_nothing(
    house: House, client: Client
) -> None:
    bad = zipped({"SKILL.md": b"---\nname: other\n---\n"})
    before = house.state()
    _, dry, _ = client.send("POST /validate", query="name=notes", headers=ZIP, body=bad)
    status, wet, _ = client.send("PUT /skills/{name}", path=NAME, headers=ZIP, body=bad)
    assert (status, dry["valid"]) == (422, False)
    assert dry["diagnostics"] == wet["diagnostics"]
    assert {"name_mismatch", "description_missing"} <= {d["code"] for d in dry["diagnostics"]}
    assert house.state() == before
    good = client.send("POST /validate", headers=ZIP, body=skill_zip("notes"))[1]
    assert (good["valid"], good["diagnostics"]) == (True, [])


def test_a_write_without_a_scope_goes_to_the_callers_own(house: House, client: Client) -> None:
    claims = {"sub": "ann"}
    _, done, _ = client.send(
        "PUT /skills/{name}", path=NAME, headers=ZIP, body=skill_zip("notes"), claims=claims
    )
    assert done["scope"] == user_scope("ann")
    status, problem, _ = client.send(
        "PUT /skills/{name}",
        path=NAME,
        query="scope=system",
        headers=ZIP,
        body=skill_zip("notes"),
        claims=claims,
    )
    assert (status, problem["code"]) == (403, "forbidden")
