"""What the document says of the calls that write skills."""

from __future__ import annotations

from typing import TYPE_CHECKING

from documents.operations import JSON, OCTETS, ZIP, Body, Operation, Raw, Reply
from skill_registry.web import schemas
from skill_registry.web.writing_responses import (
    Configured,
    Deleted,
    PostTicket,
    Published,
    Purged,
    PutTicket,
    Received,
    Rejected,
    Validated,
    Validation,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

GUARDED = ("scope", "if_match", "create_only", "idempotency_key")
FILES = Body(
    {
        JSON: (schemas.InlineFiles,),
        ZIP: Raw.BYTES,
        "application/x-zip-compressed": Raw.BYTES,
        OCTETS: Raw.BYTES,
    }
)
FRESH = ("Cache-Control",)
VERSIONED = ("ETag", "Cache-Control")
TO_VIEW = {"viewSkill": ("path.name", "$response.body#/name")}
TO_UPLOAD = {
    "completeUpload": ("path.id", "$response.body#/upload_id"),
    "readUpload": ("path.id", "$response.body#/upload_id"),
}

WRITING: Mapping[str, Operation] = {
    "POST /uploads": Operation(
        "openUpload",
        "Get a ticket to send an archive straight to the store",
        "With `size` and `sha256` a PUT of exactly these bytes, without them a form. The"
        " preconditions are those of the publish.",
        takes=("scope", "if_match", "create_only"),
        body=Body({JSON: (schemas.NewUpload,)}),
        gives={201: Reply("The ticket.", {JSON: (PutTicket, PostTicket)}, FRESH, links=TO_UPLOAD)},
        refuses=(404, 412, 422),
    ),
    "POST /uploads/{id}/complete": Operation(
        "completeUpload",
        "Publish what was sent",
        "The same answer however often it is called.",
        takes=(),
        gives={
            200: Reply(
                "It is published; or, of a dry run, looked at.",
                {JSON: (Published, Validated)},
                FRESH,
                may_have=("ETag",),
            ),
            202: Reply(
                "It takes longer; look at `Location` after `Retry-After` seconds.",
                {JSON: (Received,)},
                ("Location", "Retry-After", "Cache-Control"),
            ),
        },
        refuses=(404, 409, 412, 422),
    ),
    "GET /uploads/{id}": Operation(
        "readUpload",
        "Tell what became of an upload",
        "Of one's own, for a day.",
        takes=(),
        gives={
            200: Reply("What is known.", {JSON: (Received, Published, Rejected, Validated)}, FRESH)
        },
        refuses=(404,),
    ),
    "PUT /skills/{name}": Operation(
        "publishSkill",
        "Publish a small skill that comes with the call",
        "At most 4 MiB; larger ones go by `POST /uploads`.",
        takes=(*GUARDED, "message"),
        body=FILES,
        gives={
            200: Reply("The next version.", {JSON: (Published,)}, VERSIONED, links=TO_VIEW),
            201: Reply("The first version.", {JSON: (Published,)}, VERSIONED, links=TO_VIEW),
        },
        refuses=(404, 409, 412, 422),
    ),
    "DELETE /skills/{name}": Operation(
        "deleteSkill",
        "Delete a skill",
        "The number stays taken, so that the next publish counts on.",
        takes=GUARDED,
        gives={200: Reply("It is deleted.", {JSON: (Deleted,)}, FRESH)},
        refuses=(404, 409, 412, 422),
    ),
    "POST /skills/{name}/rollback": Operation(
        "rollbackSkill",
        "Publish the files of an earlier version again",
        "They become the next version, also of a skill that was deleted.",
        takes=GUARDED,
        body=Body({JSON: (schemas.Rollback,)}),
        gives={200: Reply("The next version.", {JSON: (Published,)}, VERSIONED)},
        refuses=(404, 409, 410, 412, 422),
    ),
    "POST /skills/{name}/copy": Operation(
        "copySkill",
        "Publish a skill of one scope in another",
        "Preconditions and key are about the target. The source is looked for in `scope`.",
        takes=("scopes", *GUARDED[1:]),
        body=Body({JSON: (schemas.Copy,)}),
        gives={
            200: Reply("The next version there.", {JSON: (Published,)}, VERSIONED),
            201: Reply("The first version there.", {JSON: (Published,)}, VERSIONED),
        },
        refuses=(404, 409, 410, 412, 422),
    ),
    "PATCH /skills/{name}": Operation(
        "configureSkill",
        "Change what operators decide about a skill",
        "What is left out stays; null takes away. It makes no version.",
        takes=("scope",),
        body=Body({JSON: (schemas.Configure,)}),
        gives={200: Reply("What is decided now.", {JSON: (Configured,)}, FRESH)},
        refuses=(404, 409, 410),
    ),
    "POST /skills/{name}/purge": Operation(
        "purgeVersion",
        "Remove the bytes of a version for good",
        "The number stays taken, and answers 410.",
        takes=("scope",),
        body=Body({JSON: (schemas.Purge,)}),
        gives={200: Reply("They are gone.", {JSON: (Purged,)}, FRESH)},
        refuses=(404, 409),
    ),
    "POST /validate": Operation(
        "validateSkill",
        "Tell what a publish would say",
        "Nothing is stored.",
        takes=("expected_name",),
        body=FILES,
        gives={200: Reply("Every diagnostic.", {JSON: (Validation,)}, FRESH)},
        refuses=(),
    ),
}
