"""What the document says of the calls that read skills."""

from __future__ import annotations

from typing import TYPE_CHECKING

from documents.operations import (
    DIFF,
    JSON,
    MARKDOWN,
    NOT_MODIFIED,
    OCTETS,
    PLAIN,
    VALIDATORS,
    XML,
    Body,
    Operation,
    Raw,
    Reply,
)
from skill_registry.web import schemas
from skill_registry.web.reading_responses import (
    Bundle,
    Checked,
    Diff,
    LargeView,
    Listing,
    Versions,
    View,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

WHO = ("agent", "tier")
SEEN = "Unknown, deleted, disabled and hidden skills answer alike."

READING: Mapping[str, Operation] = {
    "GET /skills": Operation(
        "listSkills",
        "List the skills that the caller may load",
        "`Accept` decides between JSON, Markdown lines for a prompt, and an `<available_skills>`"
        " element. Only JSON has pages by itself.",
        takes=(
            "scopes",
            *WHO,
            "tools",
            "q",
            "lang",
            "limit",
            "cursor",
            "max_tokens",
            "min_catalog_version",
            "if_none_match",
        ),
        gives={
            200: Reply(
                "A page of skills, by name.",
                {JSON: (Listing,), MARKDOWN: Raw.TEXT, XML: Raw.TEXT},
                headers=VALIDATORS,
                may_have=(
                    "Link",
                    "X-Catalog-Stale",
                    "X-Agent-Verified",
                    "X-Skills-Shortened",
                    "X-Skills-Omitted",
                ),
            ),
            304: NOT_MODIFIED,
        },
        refuses=(),
    ),
    "POST /check": Operation(
        "checkSkills",
        "Tell which loaded skills changed",
        "Costs one request to the store per scope, whatever the number of skills.",
        takes=("scopes", *WHO),
        body=Body({JSON: (schemas.Check,)}),
        gives={
            200: Reply(
                "What became of each.",
                {JSON: (Checked,)},
                ("Cache-Control",),
                may_have=("X-Catalog-Stale",),
            )
        },
        refuses=(),
    ),
    "GET /openapi.json": Operation(
        "describe",
        "This document",
        "",
        takes=("if_none_match",),
        gives={200: Reply("OpenAPI 3.1.", {JSON: ()}, VALIDATORS), 304: NOT_MODIFIED},
        refuses=(),
    ),
    "GET /skills/{name}": Operation(
        "viewSkill",
        "Read a skill, or a file of it",
        f"Without `path` the text below the frontmatter of SKILL.md. {SEEN}",
        takes=("scopes", *WHO, "path", "version", "raw", "if_none_match"),
        gives={
            200: Reply(
                "The file; with `raw=1` its bytes as stored, else JSON.",
                {JSON: (View, LargeView), PLAIN: Raw.TEXT, OCTETS: Raw.BYTES},
                headers=VALIDATORS,
                may_have=("X-Skill-Version", "X-Skill-Scope", "X-File-Mode"),
            ),
            304: NOT_MODIFIED,
        },
        refuses=(404, 410),
    ),
    "GET /skills/{name}/bundle": Operation(
        "bundleSkill",
        "Get a URL of the whole skill as a zip archive",
        f"For `Accept: application/zip` a redirect to it. {SEEN}",
        takes=("scopes", *WHO, "version"),
        gives={
            200: Reply("Where it is.", {JSON: (Bundle,)}, ("Cache-Control", "Vary")),
            303: Reply("Where it is.", {}, ("Location", "Cache-Control", "Vary")),
        },
        refuses=(404, 410),
    ),
    "GET /skills/{name}/versions": Operation(
        "listVersions",
        "Read the history of a skill",
        "Of a skill that is deleted or disabled, those who may write to its scope get it too.",
        takes=("scopes", *WHO, "before", "versions_limit", "if_none_match"),
        gives={
            200: Reply("A page of versions, newest first.", {JSON: (Versions,)}, VALIDATORS),
            304: NOT_MODIFIED,
        },
        refuses=(404,),
    ),
    "GET /skills/{name}/diff": Operation(
        "diffVersions",
        "Compare two versions of a skill",
        "`Accept` decides between JSON and the unified diff alone, of at most 1 MiB.",
        takes=("scopes", *WHO, "from", "to", "if_none_match"),
        gives={
            200: Reply(
                "What changed.",
                {JSON: (Diff,), PLAIN: Raw.TEXT, DIFF: Raw.TEXT},
                headers=VALIDATORS,
                may_have=("X-Diff-Truncated",),
            ),
            304: NOT_MODIFIED,
        },
        refuses=(404, 410),
    ),
}
