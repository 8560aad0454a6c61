"""The OpenAPI document: made from the code, whole, true to its examples, and served as it is."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

import pytest
from api_client import SETTINGS, Client
from house import House
from pydantic import TypeAdapter

import skill_registry
from documents.examples import EXAMPLES
from documents.openapi import OPERATIONS, TARGET, document, refusals, written
from documents.operations import JSON, Content
from documents.statuses import NARROWER, codes_of, status_of_class
from skill_registry import errors
from skill_registry.web import contract, problems, schemas
from skill_registry.web.codes import PROBLEMS

DESCRIBE = "GET /openapi.json"


@pytest.fixture
def client() -> Client:
    return Client(House(settings=SETTINGS))


def test_the_committed_document_is_what_the_code_says() -> None:
    assert TARGET.read_text("utf-8") == written(document()), "run ./scripts/openapi"


def test_every_route_has_an_entry_in_the_table_and_nothing_else_has() -> None:
    assert sorted(OPERATIONS) == sorted(contract.ROUTES)
    ids = [operation.id for operation in OPERATIONS.values()]
    assert len(set(ids)) == len(ids)


def test_every_model_of_a_request_is_in_the_document() -> None:
    described = document()["components"]["schemas"]
    models = {
        name
        for name, value in vars(schemas).items()
        if isinstance(value, type) and value.__module__ == schemas.__name__
    }
    assert {name for name in models if not name.startswith("_")} - described.keys() == set()


def _content(route: str, where: str | int) -> Content:
    operation = OPERATIONS[route]
    if where == "body":
        assert operation.body is not None
        return operation.body.content
    assert isinstance(where, int)
    return operation.gives[where].content


@pytest.mark.parametrize(("route", "where"), EXAMPLES)
def test_an_example_is_of_its_schema(route: str, where: str | int) -> None:
    models = _content(route, where)[JSON]
    assert isinstance(models, tuple)
    union: Any = reduce(or_, models)
    TypeAdapter(union).validate_json(json.dumps(EXAMPLES[route, where]))


def test_every_body_of_json_has_an_example() -> None:
    wanted = {
        (route, where)
        for route, operation in OPERATIONS.items()
        for where, content in [
            *((status, reply.content) for status, reply in operation.gives.items()),
            ("body", operation.body.content if operation.body else {}),
        ]
        if JSON in content
    }
    assert wanted - EXAMPLES.keys() == {(DESCRIBE, 200), ("POST /skills/{name}/copy", 201)}


def test_every_code_is_under_one_status_and_every_status_is_refused_by_a_call() -> None:
    statuses = {status_of_class(kind) for kind in _raised().values()}
    codes = [code for status in sorted(statuses) for code in codes_of(status)]
    assert sorted(codes) == sorted(PROBLEMS)
    refused = {status for each in OPERATIONS.values() for status in refusals(each)}
    # No path of the document answers with it: it is of methods that are not there.
    assert statuses - refused == {405}


def test_a_code_is_under_the_status_of_the_error_that_carries_it() -> None:
    for code, kind in _raised().items():
        assert code in codes_of(status_of_class(kind)), code
    assert NARROWER.items() <= _raised().items()


def _raised() -> dict[str, type[errors.RegistryError]]:
    """The class of each code that a class has, or that a call of one gives by keyword."""
    kinds = {
        name: value
        for module in (errors, problems)
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, errors.RegistryError)
    }
    found = {kind.code: kind for kind in kinds.values()}
    for ring in ("catalog", "store", "web"):
        for path in (Path(skill_registry.__file__).parent / ring).glob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    found |= {code: kinds[node.func.id] for code in _codes(node, kinds)}
    return found


def _codes(call: ast.Call, kinds: dict[str, type[errors.RegistryError]]) -> list[str]:
    if not isinstance(call.func, ast.Name) or call.func.id not in kinds:
        return []
    given = [keyword.value for keyword in call.keywords if keyword.arg == "code"]
    return [str(value.value) for value in given if isinstance(value, ast.Constant)]


def test_the_document_is_served_as_it_is_committed(client: Client) -> None:
    status, body, headers = client.send(DESCRIBE)
    assert (status, headers["content-type"]) == (200, JSON)
    assert body == json.loads(TARGET.read_text("utf-8"))
    again = client.send(DESCRIBE, headers={"if-none-match": headers["etag"]})
    assert (again[0], again[1]) == (304, "")


def test_whoever_has_no_identity_gets_no_document(client: Client) -> None:
    assert client.send(DESCRIBE, claims={})[0] == 401


@pytest.mark.parametrize(
    ("apis", "unloaded"),
    [
        ("list_api view_api upload_api maintenance_api", "responses"),
        # A function that only reads starts without models at all.
        ("list_api view_api", "pydantic"),
    ],
)
def test_a_cold_start_loads_no_model_that_it_does_not_need(apis: str, unloaded: str) -> None:
    script = (
        "import sys\n"
        "from skill_registry.web.environment import open_registry\n"
        "made = open_registry({'REGISTRY_BUCKET': 'b', 'AWS_REGION': 'eu-west-1'})\n"
        f"answering = [getattr(made, name)() for name in {apis.split()}]\n"
        f"print([name for name in sys.modules if name.endswith({unloaded!r})])\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
