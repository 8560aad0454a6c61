"""The HTTP contract: shapes, statuses, problems; and that a refusal changes nothing."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from house import House, http_event, skill_files, skill_md, skill_zip, zipped

from skill_registry.catalog.principal import user_scope
from skill_registry.spec.model import Limits
from skill_registry.store import keys
from skill_registry.store.base import UploadTarget
from skill_registry.store.keys import SkillId
from skill_registry.web.settings import Settings

ADMIN_ROLE = "arn:aws:iam::000000000000:role/admin"
NAME = {"name": "notes"}
ZIP = {"content-type": "application/zip"}
JSON = {"content-type": "application/json"}


class Client:
    """Sends events to the function that a route belongs to."""

    def __init__(self, house: House) -> None:
        registry = house.registry
        self._apis = {
            "GET /skills": registry.list_api(),
            "$default": registry.list_api(),
            "GET /skills/{name}": registry.view_api(),
            "GET /skills/{name}/bundle": registry.view_api(),
        }
        self._upload = registry.upload_api()

    def send(self, route: str, **more: Any) -> tuple[int, Any, dict[str, str]]:
        """Return status, body (JSON read, else bytes or text) and headers."""
        event = http_event(route, **more)
        result = self._apis.get(route, self._upload).answer(event)
        body: Any = result["body"]
        if result["isBase64Encoded"]:
            body = base64.b64decode(body)
        elif "json" in result["headers"]["content-type"] and body:
            body = json.loads(body)
        return result["statusCode"], body, result["headers"]


@pytest.fixture
def house() -> House:
    return House(settings=Settings(registry_administrators=(ADMIN_ROLE,)))


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
        "accept, authorization",
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
    for wrong in ("3", '"x"', '"3", "4"', 'W/"3"'):
        status, problem = put(if_match=wrong)
        assert (status, problem["code"]) == (400, "precondition_invalid")
    assert put(if_none_match='"3"')[0] == 400


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


@pytest.mark.parametrize(
    ("method", "path", "status", "code", "allow"),
    [
        ("GET", "/nowhere", 404, "route_not_found", None),
        ("GET", "/", 404, "route_not_found", None),
        ("POST", "/skills", 405, "method_not_allowed", "GET"),
        ("PATCH", "/skills/notes", 405, "method_not_allowed", "DELETE, GET, PUT"),
        ("GET", "/uploads", 405, "method_not_allowed", "POST"),
    ],
)
def test_an_unknown_path_or_method_is_a_problem(
    client: Client, method: str, path: str, status: int, code: str, allow: str | None
) -> None:
    event = http_event("$default")
    event["rawPath"] = path
    event["requestContext"]["http"] = {"method": method, "path": path}
    result = client._apis["$default"].answer(event)
    assert (result["statusCode"], json.loads(result["body"])["code"]) == (status, code)
    assert result["headers"].get("allow") == allow
    assert result["headers"]["content-type"] == "application/problem+json"


def test_without_an_identity_nothing_is_answered(client: Client) -> None:
    event = http_event("GET /skills")
    event["requestContext"]["authorizer"] = {}
    result = client._apis["GET /skills"].answer(event)
    assert (result["statusCode"], json.loads(result["body"])["code"]) == (401, "unauthenticated")


def _bad_zip(path: str, data: bytes = b"x") -> bytes:
    return zipped({"SKILL.md": skill_md("notes"), path: data})


BAD_ARCHIVES = {
    "not a zip": (b"nonsense", "archive_invalid"),
    "empty": (b"", "archive_invalid"),
    "traversal": (_bad_zip("../x"), "path_traversal"),
    "absolute": (_bad_zip("/etc/x"), "path_absolute"),
    "no SKILL.md": (zipped({"README.md": b"x"}), "skill_md_missing"),
    "no frontmatter": (zipped({"SKILL.md": b"# x"}), None),
    "name mismatch": (skill_zip("other"), "name_mismatch"),
}


@pytest.mark.parametrize("case", BAD_ARCHIVES)
def test_a_bad_archive_is_a_problem_and_changes_nothing(
    house: House, client: Client, case: str
) -> None:
    data, code = BAD_ARCHIVES[case]
    house.publish("notes")
    before = house.state()
    status, problem, headers = client.send("PUT /skills/{name}", path=NAME, headers=ZIP, body=data)
    assert (status, problem["code"]) == (422, "skill_invalid")
    assert headers["content-type"] == "application/problem+json"
    assert problem["detail"]
    assert code is None or code in {d["code"] for d in problem["diagnostics"]}
    assert house.state() == before


BAD_REQUESTS: dict[str, tuple[str, dict[str, Any], int, str]] = {
    "unknown skill": ("GET /skills/{name}", {"path": {"name": "x"}}, 404, "skill_not_found"),
    "odd name": ("GET /skills/{name}", {"path": {"name": "../x"}}, 404, "skill_not_found"),
    "unknown version": ("GET /skills/{name}", {"query": "version=9"}, 404, "version_not_found"),
    "no version": ("GET /skills/{name}", {"query": "version=-1"}, 400, "version_invalid"),
    "zero version": ("GET /skills/{name}", {"query": "version=0"}, 400, "version_invalid"),
    "unknown file": ("GET /skills/{name}", {"query": "path=x.md"}, 404, "file_not_found"),
    "traversal": ("GET /skills/{name}", {"query": "path=../x"}, 400, "skill_path_invalid"),
    "encoded": ("GET /skills/{name}", {"query": "path=%2e%2e%2fx"}, 400, "skill_path_invalid"),
    "twice": ("GET /skills/{name}", {"query": "path=a&path=b"}, 400, "query_invalid"),
    "bad scope": ("GET /skills", {"query": "scope=nope"}, 400, "scope_invalid"),
    "bad limit": ("GET /skills", {"query": "limit=many"}, 400, "limit_invalid"),
    "bad cursor": ("GET /skills", {"query": "cursor=x"}, 400, "cursor_invalid"),
    "not json": ("POST /uploads", {"body": "{", "headers": JSON}, 400, "body_not_json"),
    "no name": ("POST /uploads", {"body": "{}", "headers": JSON}, 400, "body_invalid"),
    "bad name": (
        "POST /uploads",
        {"body": '{"name":"A b"}', "headers": JSON},
        422,
        "skill_invalid",
    ),
    "bad digest": (
        "POST /uploads",
        {"body": '{"name":"x","size":1,"sha256":"z"}', "headers": JSON},
        400,
        "body_invalid",
    ),
    "too large": (
        "POST /uploads",
        {"body": '{"name":"x","size":99999999}', "headers": JSON},
        413,
        "too_large",
    ),
    "unknown upload": ("GET /uploads/{id}", {"path": {"id": "0" * 32}}, 404, "upload_not_found"),
    "no upload": (
        "POST /uploads/{id}/complete",
        {"path": {"id": "../x"}},
        404,
        "upload_not_found",
    ),
    "no type": ("PUT /skills/{name}", {"body": b"x"}, 400, "content_type_invalid"),
    "long key": (
        "PUT /skills/{name}",
        {"body": skill_zip("notes"), "headers": ZIP | {"idempotency-key": "k" * 201}},
        400,
        "idempotency_key_invalid",
    ),
    "too large inline": (
        "PUT /skills/{name}",
        {"body": b"x" * (4 * 1024 * 1024 + 1), "headers": ZIP},
        413,
        "use_upload",
    ),
    "long message": (
        "PUT /skills/{name}",
        {"body": skill_zip("notes"), "headers": ZIP, "query": "message=" + "m" * 301},
        400,
        "message_invalid",
    ),
}


@pytest.mark.parametrize("case", BAD_REQUESTS)
def test_a_bad_request_is_a_problem_with_its_code_and_changes_nothing(
    house: House, client: Client, case: str
) -> None:
    route, more, status, code = BAD_REQUESTS[case]
    house.publish("notes")
    before = house.state()
    sent = {"path": NAME, **more} if "{name}" in route else more
    answered, problem, headers = client.send(route, **sent)
    assert (answered, problem["code"]) == (status, code)
    assert headers["content-type"] == "application/problem+json"
    assert (problem["status"], problem["type"]) == (status, f"urn:skill-registry:problem:{code}")
    assert problem["detail"].strip().endswith((".", "`"))
    assert house.state() == before


@pytest.mark.parametrize(
    ("route", "more"),
    [
        ("GET /skills", {}),
        ("GET /skills/{name}", {"path": NAME}),
        ("GET /skills/{name}/bundle", {"path": NAME}),
        ("PUT /skills/{name}", {"path": NAME, "headers": ZIP, "body": skill_zip("notes")}),
        ("DELETE /skills/{name}", {"path": NAME}),
        ("POST /uploads", {"body": '{"name":"notes"}', "headers": JSON}),
    ],
)
def test_a_store_that_does_not_answer_is_503_with_retry_after(
    house: House, client: Client, route: str, more: dict[str, Any]
) -> None:
    house.publish("notes")
    before = house.state()
    house.faults.before_if = lambda _: True
    status, problem, headers = client.send(route, **more)
    assert (status, problem["code"], headers["retry-after"]) == (503, "store_unavailable", "1")
    assert house.state() == before


def test_a_crash_is_an_answer_without_the_reason(
    house: House, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    def crash(_: object) -> bool:
        raise ZeroDivisionError("secret detail")

    house.faults.before_if = crash
    status, problem, _ = client.send("GET /skills/{name}", path=NAME)
    assert (status, problem["code"]) == (500, "internal_error")
    assert "secret" not in json.dumps(problem)
    assert "secret detail" in caplog.text


def test_the_limits_are_those_of_the_settings() -> None:
    small = House(
        settings=Settings(registry_administrators=(ADMIN_ROLE,), max_skill_bytes=300, max_files=1)
    )
    assert small.settings.limits.files < Limits().files
    status, problem, _ = Client(small).send(
        "PUT /skills/{name}", path=NAME, headers=ZIP, body=skill_zip("notes", "x" * 2000)
    )
    assert status == 422
    assert {d["code"] for d in problem["diagnostics"]} & {"archive_too_large", "too_many_files"}
