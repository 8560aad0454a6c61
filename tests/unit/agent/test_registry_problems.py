"""Refusals as the client reads them, also those that no registry wrote."""

from __future__ import annotations

import json

import httpx
import pytest

from skill_registry.agent.problems import read_diagnostics, read_problem
from skill_registry.errors import RegistryError
from skill_registry.spec.model import Severity


def _response(status: int, body: object = b"", **headers: str) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = httpx.Request("GET", "https://registry.example/skills")
    return httpx.Response(status, content=content, headers=headers, request=request)


def test_a_problem_is_a_registry_error_with_all_its_members() -> None:
    found = {"severity": "error", "code": "name_mismatch", "message": "No.", "line": 2, "hint": "h"}
    document = {
        "type": "urn:x",
        "title": "Precondition Failed",
        "status": 412,
        "code": "version_conflict",
        "detail": "The head is 6.",
        "current": 6,
        "available": ["a", "b"],
        "diagnostics": [found],
    }
    problem = read_problem(_response(412, document))
    assert isinstance(problem, RegistryError)
    assert (problem.status, problem.code, problem.detail) == (412, "version_conflict", str(problem))
    assert (problem.current, problem.available) == (6, ("a", "b"))
    assert [each.to_dict() for each in problem.diagnostics] == [found]
    assert problem.document == document


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "unauthenticated"),
        (403, "forbidden"),
        (404, "not_found"),
        (413, "too_large"),
        (429, "too_many_requests"),
        (418, "refused"),
        (500, "unavailable"),
        (599, "unavailable"),
    ],
)
def test_a_refusal_of_the_gateway_has_a_code_by_its_status(status: int, code: str) -> None:
    problem = read_problem(_response(status, {"message": "Forbidden"}))
    assert (problem.status, problem.code, problem.detail) == (status, code, "Forbidden")


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"\xff", b'"x"', b"[" * 100_000])
def test_a_refusal_without_a_document_asks_whether_the_address_is_right(body: bytes) -> None:
    problem = read_problem(_response(404, body))
    assert problem.code == "not_found"
    assert "registry.example answered 404 Not Found" in problem.detail
    assert "Is this the address of a registry?" in problem.detail


def test_members_of_another_type_count_as_missing() -> None:
    document = {"code": 5, "detail": ["x"], "current": "6", "available": "a", "diagnostics": {}}
    problem = read_problem(_response(409, document))
    assert (problem.code, problem.current, problem.available) == ("refused", None, ())
    assert problem.diagnostics == ()


def test_diagnostics_of_a_newer_registry_are_kept_as_far_as_they_are_known() -> None:
    newer = [
        {"severity": "fatal", "code": "c", "message": "m", "colour": "red", "actual": "1"},
        {"severity": ["x"], "line": "3"},
        "no object",
    ]
    first, second = read_diagnostics(newer)
    assert (first.severity, first.code, first.actual) == (Severity.ERROR, "c", "1")
    assert (second.severity, second.code, second.line) == (Severity.ERROR, "unknown", None)
