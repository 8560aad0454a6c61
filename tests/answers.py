"""Holds an answer of the API against its contract: status, media type, headers and members."""

from __future__ import annotations

import base64
import gzip
from functools import lru_cache, reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from documents.openapi import OPERATIONS, refusals
from documents.operations import Raw
from documents.statuses import codes_of
from skill_registry.web.problems import PROBLEM
from skill_registry.web.responses import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from skill_registry.web.http import Result

# Every answer may have these, whatever it says.
USUAL = {"content-type", "x-content-type-options", "x-correlation-id", "content-encoding", "vary"}
OF_PROBLEMS = {"cache-control", "retry-after", "allow"}

# What the route that takes everything else answers.
UNMATCHED = (401, 403, 404, 405, 500, 503)


def check_answer(route: str, result: Result) -> None:
    """Fail where an answer is not one that the contract knows of this route."""
    status, headers = result["statusCode"], result["headers"]
    kind = headers["content-type"].partition(";")[0]
    where = f"{route} {status}"
    assert "x-correlation-id" in headers, where
    if kind == PROBLEM:
        _check_problem(route, status, headers, body_of(result))
        return
    reply = OPERATIONS[route].gives.get(status)
    assert reply is not None, f"{where} is not in the contract"
    required = {name.lower() for name in reply.headers}
    known = required | {name.lower() for name in reply.may_have} | USUAL
    assert required <= headers.keys() <= known, (where, sorted(headers))
    if not reply.content:
        assert not body_of(result), where
        return
    assert kind in reply.content, f"{where} is {kind}"
    models = reply.content[kind]
    if isinstance(models, Raw):
        assert models is Raw.BYTES or body_of(result).decode() is not None
    elif models:
        _adapter(models).validate_json(body_of(result))


def _check_problem(route: str, status: int, headers: Mapping[str, str], body: bytes) -> None:
    allowed = UNMATCHED if route == "$default" else refusals(OPERATIONS[route])
    found = Problem.model_validate_json(body)
    assert status in allowed, f"{route} {status} {found.code} is not in the contract"
    assert (found.status, found.code in codes_of(status)) == (status, True), found
    assert headers.keys() <= USUAL | OF_PROBLEMS, (route, sorted(headers))
    assert ("retry-after" in headers) == (status in (429, 503)), (route, found)


def body_of(result: Result) -> bytes:
    """Return the bytes of a body as a client has them."""
    body = str(result["body"])
    data = base64.b64decode(body) if result["isBase64Encoded"] else body.encode()
    return gzip.decompress(data) if "content-encoding" in result["headers"] else data


@lru_cache
def _adapter(models: tuple[type[BaseModel], ...]) -> TypeAdapter[Any]:
    union: Any = reduce(or_, models)
    return TypeAdapter(union)
