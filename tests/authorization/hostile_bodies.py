"""Bodies that nobody sends by accident, each with the one answer that it has to get."""

from __future__ import annotations

import json
from itertools import product
from typing import TYPE_CHECKING, Any

from authorization.hostile import (
    BODIES,
    BROKEN_BASE64,
    COPY,
    MAINTAIN,
    PATCH,
    PUT,
    ROLLBACK,
    UPLOADS,
    VALIDATE,
    Case,
    refused,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NOT_JSON: Mapping[str, bytes] = {
    "nothing": b"",
    "blanks": b" \n\t",
    "a text": b"hello",
    "null": b"null",
    "a list": b"[]",
    "a number": b"17",
    "a string": b'"x"',
    "cut": b'{"name": "no',
    "more behind it": b'{"name": "notes"} x',
    "two of them": b'{"name": "notes"}{"name": "notes"}',
    "single quotes": b"{'name': 'notes'}",
    "a comment": b'{"name": "notes"} // x',
    "a comma too many": b'{"name": "notes",}',
    "no UTF-8": b'{"name": "\xff"}',
    "half a pair": b'{"name": "\\ud800"}',
    "half a pair as bytes": b'{"name": "\xed\xa0\x80"}',
    "half a pair as a key": b'{"\\udc00": 1}',
    "a raw control character": b'{"name": "a\x00b"}',
    "NaN": b'{"name": NaN}',
    "Infinity": b'{"name": [-Infinity]}',
    "more than a float": b'{"name": 1e999}',
    "a member twice": b'{"name": "notes", "name": "other"}',
    "a member twice within": b'{"x": [{"a": 1, "a": 1}]}',
    "100,000 lists": b"[" * 100_000,
    "100,000 lists, closed": b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "100,000 objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "a number of 100,000 digits": b'{"name": ' + b"9" * 100_000 + b"}",
}

# No member of any call is one of these; a version is a number, and this one is too large.
WRONG: tuple[Any, ...] = ([[[[1]]]], 10**4000, {"a": {"b": {}}}, 0.1)


def texts() -> Iterator[Case]:
    """Bodies that are no JSON object."""
    for route in BODIES:
        for what, body in NOT_JSON.items():
            if not (route == MAINTAIN and what == "nothing"):
                yield Case(route, refused("body_not_json"), body=body)
        yield Case(route, refused("body_invalid"), body=BROKEN_BASE64)
    yield Case(MAINTAIN, refused("body_invalid"), body=b"")


def members() -> Iterator[Case]:
    """Objects with other members than those of the call."""
    yield Case(PATCH, refused("change_invalid"), body=b"{}")
    for route, usual in BODIES.items():
        odd = {"x" * 100_000: 1}, {f"member{at}": at for at in range(50_000)}, {"": ""}
        for more in odd:
            yield Case(route, refused("body_invalid"), body=json.dumps({**usual, **more}))
        if route != PATCH:
            yield Case(route, refused("body_invalid"), body=b"{}")
        for name, wrong in product(usual, WRONG):
            huge = route == ROLLBACK and isinstance(wrong, int)
            code = "version_invalid" if huge else "body_invalid"
            yield Case(route, refused(code), body=json.dumps({**usual, name: wrong}))


def bombs() -> Iterator[Case]:
    """Bodies that are small to send, or take long to read."""
    large = {PUT: (413, "use_upload"), VALIDATE: (413, "use_upload")}
    for route, usual in BODIES.items():
        # One reader reads them all, so that one of them shows what the most costs.
        most = 650_000 if route in large or route == UPLOADS else 50_000
        lists = b'{"x": [' + b"[],[[]]," * most + b"[]]}"
        yield Case(route, large.get(route, refused("body_invalid")), body=lists)
        deep = json.dumps({**usual, "deep": 1})[:-2] + "[" * 500 + "]" * 500 + "}"
        yield Case(route, refused("body_invalid"), body=deep)
    yield Case(UPLOADS, (422, "skill_invalid"), body=json.dumps({"name": "x" * 2_000_000}))
    yield Case(COPY, refused("scope_invalid"), body=json.dumps({"to": "x" * 2_000_000}))
