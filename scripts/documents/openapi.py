"""Writes the OpenAPI document of the HTTP API: routes, models, problem codes and one table.

What can be derived is: paths from ``web/contract.py``, schemas from the pydantic models, codes and
statuses from the errors. The rest is one entry a route, in ``*_operations.py``.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from documents.examples import EXAMPLES
from documents.operating_operations import OPERATING
from documents.operations import (
    COMMON_REFUSALS,
    JSON,
    OF_THE_GATEWAY,
    Operation,
    Raw,
    Reply,
)
from documents.parameters import HEADERS, PARAMETERS, PATH
from documents.reading_operations import READING
from documents.statuses import codes_of
from documents.writing_operations import WRITING
from skill_registry.web.codes import PROBLEMS
from skill_registry.web.contract import ROUTES
from skill_registry.web.problems import PROBLEM
from skill_registry.web.responses import GatewayMessage, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import BaseModel

    from documents.operations import Content

    Schema = dict[str, Any]

PROJECT = Path(__file__).resolve().parents[2]
TARGET = PROJECT / "layers" / "core" / "skill_registry" / "web" / "openapi.json"

OPERATIONS: Mapping[str, Operation] = {**READING, **WRITING, **OPERATING}

ABOUT = """\
A registry for Agent Skills (https://agentskills.io). Errors are problems (RFC 9457) with a stable
`code`; a path that is not here is a 404, another method a 405. Versions of published skills are
numbers; of directories in the bucket they are texts, or null. Writes without `scope` go to the
caller's own."""

SECURITY = {
    "iam": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "AWS Signature Version 4, of the service `execute-api`.",
    },
    "jwt": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
}


class _Schemas(GenerateJsonSchema):
    """Schemas without a title for each member, which says its name again."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def document() -> dict[str, Any]:
    """Return the whole document.

    Raises:
        KeyError: A route has no entry in the table.
    """
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        method, path = route.split()
        paths.setdefault(path, {})[method.lower()] = _operation(route, OPERATIONS[route])
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Skill Registry",
            "version": _version(),
            "description": ABOUT.replace("\n", " "),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{name: []} for name in SECURITY],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(_schemas().items())),
            "responses": {f"Problem{status}": _refusal(status) for status in _refused()},
            "parameters": {**PATH, **PARAMETERS},
            "headers": dict(HEADERS),
            "securitySchemes": SECURITY,
        },
    }


def _version() -> str:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    return str(project["project"]["version"])


def _operation(route: str, operation: Operation) -> Schema:
    takes = [*re.findall(r"{(\w+)}", route), *operation.takes, "correlation_id"]
    made: Schema = {
        "operationId": operation.id,
        "summary": operation.summary,
        **({"description": operation.text} if operation.text else {}),
        "parameters": [_ref("parameters", name) for name in takes],
    }
    if operation.body is not None:
        content = _content(operation.body.content, EXAMPLES.get((route, "body")))
        made["requestBody"] = {"required": operation.body.required, "content": content}
    given = {
        str(s): _reply(reply, EXAMPLES.get((route, s))) for s, reply in operation.gives.items()
    }
    refused = {str(status): _ref("responses", f"Problem{status}") for status in refusals(operation)}
    made["responses"] = dict(sorted({**given, **refused}.items()))
    return made


def refusals(operation: Operation) -> list[int]:
    """Return every status of a problem that an operation may answer with."""
    return sorted({*COMMON_REFUSALS, *operation.refuses})


def _refused() -> list[int]:
    return sorted({status for each in OPERATIONS.values() for status in refusals(each)})


def _reply(reply: Reply, example: Any) -> Schema:
    made: Schema = {"description": reply.text}
    headers = (*reply.headers, "X-Correlation-Id")
    made["headers"] = {
        **{name: _header(name, required=True) for name in headers},
        **{name: _header(name, required=False) for name in reply.may_have},
    }
    if reply.content:
        made["content"] = _content(reply.content, example)
    if reply.links:
        made["links"] = {
            other: {"operationId": other, "parameters": dict([parameter])}
            for other, parameter in reply.links.items()
        }
    return made


def _header(name: str, *, required: bool) -> Schema:
    return {**HEADERS[name], "required": True} if required else _ref("headers", name)


def _content(content: Content, example: Any) -> Schema:
    made: Schema = {}
    for kind, models in content.items():
        made[kind] = {"schema": _schema(models)}
        if kind == JSON and example is not None:
            made[kind]["example"] = example
    return made


def _schema(models: tuple[type[BaseModel], ...] | Raw) -> Schema:
    if models is Raw.TEXT:
        return {"type": "string"}
    if models is Raw.BYTES:
        return {"type": "string", "format": "binary"}
    assert isinstance(models, tuple)
    refs = [_ref("schemas", model.__name__) for model in models]
    if not refs:
        return {"type": "object"}
    return refs[0] if len(refs) == 1 else {"anyOf": refs}


def _ref(kind: str, name: str) -> Schema:
    return {"$ref": f"#/components/{kind}/{name}"}


def _refusal(status: int) -> Schema:
    """A problem of one status: the codes that it may have, and what they mean."""
    codes = codes_of(status)
    content: Schema = {PROBLEM: {"schema": _ref("schemas", f"Problem{status}")}}
    if status in OF_THE_GATEWAY:
        content[JSON] = {"schema": _ref("schemas", GatewayMessage.__name__)}
    told = "".join(f"\n* `{code}`: {PROBLEMS[code]}" for code in codes)
    headers = {"X-Correlation-Id": _ref("headers", "X-Correlation-Id")}
    if status in (429, 503):
        headers["Retry-After"] = _ref("headers", "Retry-After")
    return {
        "description": f"{HTTPStatus(status).phrase}.\n{told}",
        "headers": headers,
        "content": content,
    }


def _narrowed(status: int) -> Schema:
    members = {"status": {"const": status}, "code": {"enum": codes_of(status)}}
    return {"allOf": [_ref("schemas", Problem.__name__), {"properties": members}]}


def _schemas() -> Schema:
    _, definitions = models_json_schema(
        [(model, "validation") for model in _models()],
        ref_template="#/components/schemas/{model}",
        schema_generator=_Schemas,
    )
    made: Schema = definitions["$defs"]
    return made | {f"Problem{status}": _narrowed(status) for status in _refused()}


def _models() -> list[type[BaseModel]]:
    """Every model that an operation names, each once."""
    found: list[type[BaseModel]] = [Problem, GatewayMessage]
    for operation in OPERATIONS.values():
        contents: Iterable[Content] = [reply.content for reply in operation.gives.values()]
        for content in [*contents, *([operation.body.content] if operation.body else [])]:
            for models in content.values():
                found += models if isinstance(models, tuple) else ()
    return list(dict.fromkeys(found))


def written(made: Mapping[str, Any]) -> str:
    """Return the document as the file that is committed."""
    return json.dumps(made, ensure_ascii=False, indent=1) + "\n"


def main(arguments: list[str]) -> int:
    """Write the file, or with ``--check`` tell whether it would change."""
    after = written(document())
    if "--check" in arguments:
        return 0 if TARGET.is_file() and TARGET.read_text(encoding="utf-8") == after else 1
    TARGET.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
