"""Bad input: a problem with a stable code, a sentence that says what to do, nothing changed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from api_client import JSON, NAME, SETTINGS, ZIP, Client
from house import House, http_event, skill_md, skill_zip, zipped

from skill_registry.spec.model import Limits


@pytest.fixture
def house() -> House:
    return House(settings=SETTINGS)


@pytest.fixture
def client(house: House) -> Client:
    return Client(house)


@pytest.mark.parametrize(
    ("method", "path", "status", "code", "allow"),
    [
        ("GET", "/nowhere", 404, "route_not_found", None),
        ("GET", "/", 404, "route_not_found", None),
        ("POST", "/skills", 405, "method_not_allowed", "GET"),
        ("POST", "/skills/notes", 405, "method_not_allowed", "DELETE, GET, PATCH, PUT"),
        ("GET", "/uploads", 405, "method_not_allowed", "POST"),
    ],
)
def test_an_unknown_path_or_method_is_a_problem(
    client: Client, method: str, path: str, status: int, code: str, allow: str | None
) -> None:
    event = http_event("$default")
    event["rawPath"] = path
    event["requestContext"]["http"] = {"method": method, "path": path}
    result = client.apis["$default"].answer(event)
    assert (result["statusCode"], json.loads(result["body"])["code"]) == (status, code)
    assert result["headers"].get("allow") == allow
    assert result["headers"]["content-type"] == "application/problem+json"


def test_without_an_identity_nothing_is_answered(client: Client) -> None:
    event = http_event("GET /skills")
    event["requestContext"]["authorizer"] = {}
    result = client.apis["GET /skills"].answer(event)
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


TOO_LARGE = json.dumps({"name": "x", "size": 99_999_999, "sha256": "0" * 64})
HALF = json.dumps({"files": {"SKILL.md": "\ud800"}})

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
    "a member named twice": (
        "POST /uploads",
        {"body": '{"name": "a", "name": "b"}', "headers": JSON},
        400,
        "body_not_json",
    ),
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
        {"body": TOO_LARGE, "headers": JSON},
        413,
        "too_large",
    ),
    "size alone": (
        "POST /uploads",
        {"body": '{"name":"x","size":5}', "headers": JSON},
        400,
        "body_invalid",
    ),
    "half a character": (
        "PUT /skills/{name}",
        {"body": HALF, "headers": JSON},
        400,
        "body_not_json",
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
    small = House(settings=replace(SETTINGS, max_skill_bytes=300, max_files=1))
    assert small.settings.limits.files < Limits().files
    status, problem, _ = Client(small).send(
        "PUT /skills/{name}", path=NAME, headers=ZIP, body=skill_zip("notes", "x" * 2000)
    )
    assert status == 422
    assert {d["code"] for d in problem["diagnostics"]} & {"archive_too_large", "too_many_files"}
