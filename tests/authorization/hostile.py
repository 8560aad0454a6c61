"""Requests that nobody sends by accident, each with the one answer that it has to get."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Answer = tuple[int, str | None]
LIST, VIEW = "GET /skills", "GET /skills/{name}"
PUT, DELETE, PATCH = "PUT /skills/{name}", "DELETE /skills/{name}", "PATCH /skills/{name}"
VERSIONS, DIFF, BUNDLE = VIEW + "/versions", VIEW + "/diff", VIEW + "/bundle"
ROLLBACK, COPY = "POST /skills/{name}/rollback", "POST /skills/{name}/copy"
PURGE, UPLOADS = "POST /skills/{name}/purge", "POST /uploads"
CHECK, VALIDATE, ACCESS = "POST /check", "POST /validate", "PATCH /access"
COMPLETE, OUTCOME = "POST /uploads/{id}/complete", "GET /uploads/{id}"
MAINTAIN = "POST /maintenance/{task}"
NAMED = (VIEW, BUNDLE, VERSIONS, DIFF, PUT, DELETE, ROLLBACK, PATCH, PURGE, COPY)
SKILL = "notes"
TEXT = f"---\nname: {SKILL}\ndescription: Does it. Use when asked.\n---\nDo it.\n"

# A body that each call takes, so that nothing but what a case changes is wrong.
BODIES: Mapping[str, Mapping[str, Any]] = {
    PUT: {"files": {"SKILL.md": TEXT}},
    ROLLBACK: {"version": 1},
    PATCH: {"enabled": True},
    PURGE: {"version": 1},
    COPY: {"to": "team-azure"},
    UPLOADS: {"name": SKILL},
    CHECK: {"skills": {SKILL: 2}},
    VALIDATE: {"files": {"SKILL.md": TEXT}},
    ACCESS: {"role": "arn:aws:iam::123456789012:role/x", "grant": None},
    MAINTAIN: {"scope": "system"},
}
PATHS: Mapping[str, Mapping[str, str]] = {
    **{route: {"name": SKILL} for route in NAMED},
    **{route: {"id": "0" * 32} for route in (COMPLETE, OUTCOME)},
    MAINTAIN: {"task": "rebuild"},
}
# Stands for a body that says it is in base64 and is not.
BROKEN_BASE64 = "\0broken base64"
JSON = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True)
class Case:
    """One request.

    Attributes:
        body: None sends the body that the call takes.
        answer: Status and problem code; None for no code, an answer of its own.
    """

    route: str
    answer: Answer
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | str | None = None
    path: Mapping[str, str] = field(default_factory=dict)

    @property
    def sent_path(self) -> Mapping[str, str]:
        """The values of the variables in the path."""
        return {**PATHS.get(self.route, {}), **self.path}

    @property
    def sent_body(self) -> bytes | str | None:
        """The body as it travels."""
        usual = BODIES.get(self.route)
        if self.body is None and usual is not None:
            return json.dumps(usual)
        return self.body

    @property
    def sent_headers(self) -> Mapping[str, str]:
        """The headers, lower case."""
        return {**(JSON if self.route in BODIES else {}), **self.headers}

    def __str__(self) -> str:
        what = {"query": self.query, "headers": self.headers, "body": self.body, **self.path}
        said = ", ".join(f"{key}={value!r}"[:60] for key, value in what.items() if value)
        return f"{self.route}: {said}"


def refused(code: str, status: int = 400) -> Answer:
    return status, code


NUMBERS = (
    *("-1", "0", "1.5", "1e3", "+5", "0x10", "%205", "5%20", "1_0", "NaN", "null", "true", "-0"),
    *("%EF%BC%95", "%D9%A3", "%C2%B2", "999999999999", "1" * 5000, "", "5%00", "5,5", "[5]"),
)


def numbers() -> Iterator[Case]:
    """Numbers that are none, or none of ours."""
    for text in NUMBERS:
        for route, key, code in (
            (LIST, "limit", "limit_invalid"),
            (VERSIONS, "limit", "limit_invalid"),
            (LIST, "max_tokens", "max_tokens_invalid"),
            (VERSIONS, "before", "version_invalid"),
            *((route, "version", "version_invalid") for route in (VIEW, BUNDLE) if text),
            *((DIFF, key, "version_invalid") for key in ("from", "to") if text),
        ):
            if not (key == "before" and text == "999999999999"[:9]):
                yield Case(route, refused(code), f"{key}={text}")
    yield Case(LIST, refused("limit_invalid"), "limit=501")
    yield Case(VERSIONS, refused("limit_invalid"), "limit=51")
    for text in ("@", "@%0a", "stable", "v1", "1-2", '"1"'):
        answer = refused("version_invalid") if text[1:2] == "" or text[0] != "@" else None
        yield Case(VIEW, answer or refused("version_not_found", 404), f"version={text}")
    yield Case(VIEW, refused("version_not_found", 404), "version=@" + "x" * 5000)
    for value in (1.5, True, None, [1], {"n": 1}):
        yield Case(ROLLBACK, refused("body_invalid"), body=json.dumps({"version": value}))
    for version in (-1, 0, 10**30, "", "@", "-1", "٣", "1.0"):
        yield Case(ROLLBACK, refused("version_invalid"), body=json.dumps({"version": version}))
    for number in (-1, 0, 10**9, 10**30, "1", "@x", 1.0, True):
        yield Case(PURGE, refused("body_invalid"), body=json.dumps({"version": number}))
        labels = json.dumps({"labels": {"good": number}})
        yield Case(PATCH, refused("body_invalid"), body=labels)
    for size in (-1, 0, 1.5, "9", True):
        sent = {"name": SKILL, "size": size, "sha256": "0" * 64}
        yield Case(UPLOADS, refused("body_invalid"), body=json.dumps(sent))
    sent = {"name": SKILL, "size": 10**30, "sha256": "0" * 64}
    yield Case(UPLOADS, refused("too_large", 413), body=json.dumps(sent))


def queries() -> Iterator[Case]:
    """Keys given twice, not known, too many; texts that are no UTF-8; filters that are none."""
    once = {
        LIST: ("limit", "cursor", "max_tokens", "agent", "tier", "q", "lang"),
        CHECK: ("agent", "tier"),
        VIEW: ("version", "path", "raw", "agent", "tier"),
        BUNDLE: ("version", "agent", "tier"),
        VERSIONS: ("before", "limit", "agent", "tier"),
        DIFF: ("from", "to", "agent", "tier"),
        PUT: ("scope",),
        DELETE: ("scope",),
        PATCH: ("scope",),
        ROLLBACK: ("scope",),
        PURGE: ("scope",),
        UPLOADS: ("scope",),
        VALIDATE: ("name",),
    }
    for route, known in once.items():
        for key in known:
            yield Case(route, refused("query_invalid"), f"{key}=1&{key}=1")
    for route in (LIST, VIEW, BUNDLE, VERSIONS, DIFF, CHECK):
        yield Case(route, (200, None), "nobody=knows&Scope=x&scope[]=y&version[0]=1&=&&a")
        yield Case(route, (200, None), "scope=system&scope=system")
        yield Case(route, refused("query_invalid"), "&".join(f"k{at}=v" for at in range(101)))
        for text in ("%c0%ae", "%ed%a0%80", "%ff", "%f4%90%80%80", "%e2%82"):
            yield Case(route, refused("query_invalid"), f"scope={text}")
        for text in ("", "..", "system/", "System", "team-", "user-1", "%00", "syst%65m%20", "*"):
            yield Case(route, refused("scope_invalid"), f"scope={text}")
        yield Case(route, refused("scope_invalid"), "scope=team-" + "a" * 5000)
        for filters in ("tier=max", "tier=", "agent=%00", "agent=a%0d%0ab", "agent=" + "a" * 65):
            yield Case(route, refused("filter_invalid"), filters)
    for filters in (
        *("q=" + "a" * 201, "q=" + "+".join(f"w{at}" for at in range(17)), "lang=", "lang=..%2f"),
        *("lang=" + "a" * 36, "tools=" + ",".join(f"t{at}" for at in range(201))),
        *(f"min_catalog_version={v}" for v in ("", "1", "system", "system:", "system:-1")),
        *(f"min_catalog_version=system:{v}" for v in ("1.5", "%D9%A3", "1" * 16)),
        *("min_catalog_version=..:1", "min_catalog_version=system:1&min_catalog_version=x"),
    ):
        yield Case(LIST, refused("filter_invalid"), filters)
    yield Case(LIST, (200, None), "q=%00%0d%0a&tools=&tools=%00&lang=de&tools=Read&tools=Write")
    yield Case(LIST, refused("scope_invalid"), "q=%25&scope=%2573ystem")


PLACES: Mapping[str, Answer] = {
    "references%2Fnotes.md": (200, None),
    "references/notes.md": (200, None),
    # The texts of skills write paths like this one.
    "./references/notes.md": (200, None),
    "": (200, None),
    # Decoded once, this is a name with a percent sign in it.
    "references%252Fnotes.md": refused("file_not_found", 404),
    "references%252F..md": refused("file_not_found", 404),
    "%": refused("file_not_found", 404),
    "%zz": refused("file_not_found", 404),
    ".version": refused("file_not_found", 404),
    ".VERSION": refused("file_not_found", 404),
    "skill.md": refused("file_not_found", 404),
    "SKILL.md%20": refused("file_not_found", 404),
    "a" * 5000: refused("file_not_found", 404),
    "a/" * 20 + "a": refused("file_not_found", 404),
    "~": refused("file_not_found", 404),
    "%e2%80%ae": refused("file_not_found", 404),
    **dict.fromkeys(
        (
            # No later reader can be tricked into decoding it once more.
            *("%252e%252e%252fsystem", "%252e%252e", "a%2500", "%255c"),
            *("..", "../SKILL.md", "%2e%2e", "%2e%2e%2fx", "references/../SKILL.md", "%2E%2E/x"),
            *(
                "/SKILL.md",
                "%2fetc%2fpasswd",
                "././SKILL.md",
                "references//notes.md",
                "references/",
            ),
            *("a%5cb", "..%5cSKILL.md", "C:%5cx", "%00", "SKILL.md%00.png", "a%0d%0ab", "a%0ab"),
            *("%7f", "e%CC%81"),
        ),
        refused("skill_path_invalid"),
    ),
    "%c0%ae%c0%ae/x": refused("query_invalid"),
    "%ed%a0%80": refused("query_invalid"),
}
# As API Gateway hands them on: decoded once.
SKILL_NAMES = (
    *("..", ".", "../notes", "notes/..", "%6eotes", "%2e%2e", "no tes", "NOTES", "notes\0", "é"),
    *(
        "notes\r\nx: y",
        "notes\u2028",
        "a" * 5000,
        ".version",
        "-notes",
        "no--tes",
        "notes/SKILL.md",
    ),
)
# What appends to the log of a skill wants a name that a skill can have.
APPENDING = (PUT, COPY)


def places() -> Iterator[Case]:
    """Paths and names that lead out, or look as if."""
    for text, answer in PLACES.items():
        yield Case(VIEW, answer, f"path={text}")
    for name in (*SKILL_NAMES, ""):
        for route in NAMED:
            new = refused("skill_invalid", 422) if route in APPENDING else None
            yield Case(route, new or refused("skill_not_found", 404), path={"name": name})
        announced = json.dumps({"name": name})
        yield Case(UPLOADS, refused("skill_invalid", 422), body=announced)
    for upload in ("..", "../" + "a" * 32, "A" * 32, "0" * 31, "0" * 33, "0" * 32, "\0" * 32, "é"):
        for route in (COMPLETE, OUTCOME):
            yield Case(route, refused("upload_not_found", 404), path={"id": upload})
    for task in ("..", "Reconcile", "rebuild\0", "a" * 5000, "%72ebuild"):
        yield Case(MAINTAIN, refused("route_not_found", 404), path={"task": task})


TAGS = (
    *(
        'W/"2"',
        '"1", "2"',
        '"2",',
        '""',
        "2",
        '"-1"',
        '"1.0"',
        '"٣"',
        '"2',
        "'2'",
        '"2-zz"',
        '"@x"',
    ),
    *('"1234567890"', '"' + "1" * 65_536 + '"', "*, *", '* "2"', '"\r\n2"', "\0", "**"),
)


def preconditions() -> Iterator[Case]:
    """Preconditions that are none. Ignoring one would overwrite what its sender wanted kept."""
    for route in (PUT, DELETE, ROLLBACK, COPY, UPLOADS):
        for tag in TAGS:
            yield Case(route, refused("precondition_invalid"), headers={"if-match": tag})
        for tag in ('"2"', 'W/"*"', "*, *", '"*"', "none", "2", "x" * 65_536):
            yield Case(route, refused("precondition_invalid"), headers={"if-none-match": tag})
    for route in (PATCH, PURGE, ACCESS):
        for name in ("if-match", "if-none-match"):
            for tag in ("*", '"2"', "", "x" * 65_536):
                yield Case(route, refused("precondition_invalid"), headers={name: tag})


def media() -> Iterator[Case]:
    """Content types that are none of ours, and names of ours in other clothes."""
    for kind in (
        *("text/plain", "application/xml", "multipart/form-data; boundary=x", "json", "*/*"),
        *("application/jsonp", "application/json5", "", "application/jso\0n", "x" * 65_536),
        *(";application/json", "application/json,application/zip", "zip/application"),
    ):
        for route in (PUT, VALIDATE):
            yield Case(route, refused("content_type_invalid"), headers={"content-type": kind})
    for kind in ("application/zip", "application/octet-stream; charset=utf-8"):
        for route in (PUT, VALIDATE):
            answer = (422, "skill_invalid") if route == PUT else (200, None)
            yield Case(route, answer, headers={"content-type": kind}, body=b"{}")
    for kind in ("Application/JSON", "application/json; charset=utf-16", "application/json;;;"):
        yield Case(VALIDATE, (200, None), headers={"content-type": kind})
    for key in ("k" * 201, "k" * 65_536):
        for route in (PUT, DELETE, ROLLBACK, COPY):
            sent = {"idempotency-key": key}
            yield Case(route, refused("idempotency_key_invalid"), headers=sent)
