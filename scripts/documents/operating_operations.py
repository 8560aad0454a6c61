"""What the document says of the calls that only administrators make."""

from __future__ import annotations

from typing import TYPE_CHECKING

from documents.operations import JSON, NOT_MODIFIED, VALIDATORS, Body, Operation, Reply
from skill_registry.web import schemas
from skill_registry.web.operating_responses import Access, Examined, Rebuilt, Reconciled

if TYPE_CHECKING:
    from collections.abc import Mapping

FRESH = ("Cache-Control",)

OPERATING: Mapping[str, Operation] = {
    "GET /access": Operation(
        "readAccess",
        "Read who may do what",
        "Of the IAM roles. For administrators.",
        takes=("if_none_match",),
        gives={200: Reply("Every grant.", {JSON: (Access,)}, VALIDATORS), 304: NOT_MODIFIED},
        refuses=(),
    ),
    "PATCH /access": Operation(
        "changeAccess",
        "Grant an IAM role, or take its grant away",
        "For administrators. It counts everywhere within a minute, or as the deployment says.",
        takes=(),
        body=Body({JSON: (schemas.PatchAccess,)}),
        gives={200: Reply("Every grant now.", {JSON: (Access,)}, FRESH)},
        refuses=(),
    ),
    "POST /maintenance/{task}": Operation(
        "maintain",
        "Repair, rebuild or examine the bucket",
        "For administrators. Works for about 20 seconds; `next` goes on as `cursor`.",
        takes=(),
        body=Body({JSON: (schemas.Doctor, schemas.Rebuild, schemas.Reconcile)}, required=False),
        gives={
            200: Reply("What was done.", {JSON: (Reconciled, Rebuilt, Examined)}, FRESH),
        },
        refuses=(404, 409),
    ),
}
