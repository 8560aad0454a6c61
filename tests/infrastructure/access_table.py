"""Who may do what to the bucket: a golden table of requests, allowed and refused.

Allowed is what the product and its operators do. Refused rows say by what: Sids of the bucket
policy, and ``NO_GRANT`` where the caller's own role allows nothing of the kind.
"""

from __future__ import annotations

from dataclasses import dataclass

from infrastructure.iam import ACCOUNT

from skill_registry.store import keys
from skill_registry.store.keys import SkillId, UploadId

GET, PUT, DELETE = "s3:GetObject", "s3:PutObject", "s3:DeleteObject"
LIST, LIST_VERSIONS = "s3:ListBucket", "s3:ListBucketVersions"
DELETE_VERSION = "s3:DeleteObjectVersion"
REPLICATE, REPLICATE_DELETE = "s3:ReplicateObject", "s3:ReplicateDelete"

TLS, WRITERS = "TlsOnly", "OnlyTheRegistryWritesRecords"
CONDITIONAL, UNDELETABLE = "RecordsAreWrittenConditionally", "RecordsAreNeverDeleted"
PURGE, FORWARD = "OnlyPurgeRemovesObjectVersions", "VersionsNeverGoBack"
NO_GRANT = "no grant"

SKILL = SkillId("team-a", "pdf")
_UPLOAD = UploadId("0" * 32, "an-upload")

BUCKET = ""
UPLOAD = keys.upload(_UPLOAD)
OUTCOME = keys.outcome(_UPLOAD)
REVISION = keys.revision(SKILL, 6)
SIDECAR = keys.sidecar(SKILL)
SETTINGS = keys.settings(SKILL)
SNAPSHOT = keys.snapshot(SKILL, "f" * 64)
CATALOG = keys.catalog(SKILL.scope)
ACCESS = keys.access()
TREE = keys.tree_file(SKILL, "references/notes.md")
DEEP_SIDECAR = keys.tree_file(SKILL, f"references/{keys.SIDECAR}")

# Functions have the grants of their roles; whoever else is named may, by IAM, do anything.
LIST_SKILLS, VIEW, UPLOADER, REFRESH = (
    "ListSkillsRole",
    "ViewSkillRole",
    "UploadSkillRole",
    "RefreshMetadataRole",
)
FUNCTIONS = (LIST_SKILLS, VIEW, UPLOADER, REFRESH)
OPERATOR = f"arn:aws:iam::{ACCOUNT}:role/operator"
USER = f"arn:aws:iam::{ACCOUNT}:user/someone"
LOOK_ALIKE = f"arn:aws:iam::{ACCOUNT}:role/registry-UploadSkillRole-1a2b3c-2"
STRANGER = "arn:aws:iam::444455556666:role/registry-UploadSkillRole-1a2b3c"
SERVICE = None


ABSENT, MATCH, NONE = "If-None-Match", "If-Match", "no condition"


@dataclass(frozen=True, slots=True)
class Row:
    """One request and what it is for.

    Attributes:
        who: A function's role, the ARN of another principal, or None for who has no ARN.
        condition: The conditional header that the request has.
        creates: False for the calls of a multipart upload before its completion.
        emulated: The principal is told by its session, as emulators do.
        by: Everything that refuses it; empty where it is allowed.
    """

    purpose: str
    who: str | None
    action: str
    key: str
    condition: str = NONE
    tls: bool = True
    creates: bool = True
    emulated: bool = False
    by: tuple[str, ...] = ()


_READS = (
    Row("reads a catalog", LIST_SKILLS, GET, CATALOG),
    Row("reads who may call", LIST_SKILLS, GET, ACCESS),
    Row("is told that a catalog is absent", LIST_SKILLS, LIST, BUCKET),
    *(
        Row("reads what a view needs", role, GET, key)
        for role in (VIEW, UPLOADER, REFRESH)
        for key in (SIDECAR, SETTINGS, REVISION, SNAPSHOT, TREE, CATALOG, ACCESS)
    ),
    *(
        Row("lists a tree and a log", role, LIST, BUCKET, emulated=emulated)
        for role in (VIEW, UPLOADER, REFRESH)
        for emulated in (False, True)
    ),
    *(
        Row("reads an upload and its outcome", role, GET, key)
        for role in (UPLOADER, REFRESH)
        for key in (UPLOAD, OUTCOME)
    ),
)

_WRITES = (
    Row("keeps the bundle of a vendored skill", VIEW, PUT, SNAPSHOT, ABSENT),
    Row("keeps it on an emulator", VIEW, PUT, SNAPSHOT, ABSENT, emulated=True),
    Row("is a presigned PUT", UPLOADER, PUT, UPLOAD, ABSENT),
    Row("is a presigned form", UPLOADER, PUT, UPLOAD),
    Row("announces an idempotent call", UPLOADER, PUT, OUTCOME, ABSENT),
    *(
        Row(purpose, role, PUT, key, condition, emulated=emulated)
        for role in (UPLOADER, REFRESH)
        for emulated in (False, True)
        for purpose, key, condition in (
            ("creates a revision", REVISION, ABSENT),
            ("writes the first version", SIDECAR, ABSENT),
            ("moves the version on", SIDECAR, MATCH),
            ("prunes or purges a revision to a stub", REVISION, MATCH),
            ("makes a catalog", CATALOG, ABSENT),
            ("updates a catalog", CATALOG, MATCH),
            ("makes settings", SETTINGS, ABSENT),
            ("updates settings", SETTINGS, MATCH),
            ("writes a new file of a tree", TREE, ABSENT),
            ("writes a changed file of a tree", TREE, MATCH),
            ("writes down a first refusal", OUTCOME, ABSENT),
            ("writes down another refusal", OUTCOME, MATCH),
            ("writes down a publish", OUTCOME, NONE),
        )
    ),
    *(
        Row(purpose, UPLOADER, PUT, ACCESS, condition, emulated=emulated)
        for emulated in (False, True)
        for purpose, condition in (("makes the first grant", ABSENT), ("grants more", MATCH))
    ),
    Row("opens and fills a multipart upload", UPLOADER, PUT, REVISION, creates=False),
    Row("completes a multipart upload", UPLOADER, PUT, REVISION, ABSENT),
)

_REMOVALS = (
    Row("removes a file that the head lacks", UPLOADER, DELETE, TREE, MATCH),
    Row("removes a file that the head lacks", REFRESH, DELETE, TREE, MATCH),
    Row("finds what a purge has to remove", UPLOADER, LIST_VERSIONS, BUCKET),
    *(
        Row("purges a leaked version", UPLOADER, DELETE_VERSION, key, emulated=emulated)
        for key in (REVISION, SNAPSHOT, TREE, UPLOAD)
        for emulated in (False, True)
    ),
)

_OF_OPERATORS = (
    Row("looks into the bucket", OPERATOR, LIST, BUCKET),
    Row("looks into its history", OPERATOR, LIST_VERSIONS, BUCKET),
    Row("unpacks a revision by hand", OPERATOR, GET, REVISION),
    Row("syncs a vendored skill", OPERATOR, PUT, TREE),
    Row("syncs a large file", OPERATOR, PUT, TREE, creates=False),
    Row("syncs with --delete", OPERATOR, DELETE, TREE),
    Row("removes a leak from a vendored skill", OPERATOR, DELETE_VERSION, TREE),
    Row("keeps something else beside it", OPERATOR, PUT, "notes.txt"),
    Row("replicates trees into the bucket", OPERATOR, REPLICATE, TREE),
)

ALLOWED = _READS + _WRITES + _REMOVALS + _OF_OPERATORS

_UNENCRYPTED = (
    Row("lists", LIST_SKILLS, GET, CATALOG, tls=False, by=(TLS,)),
    Row("lists keys", VIEW, LIST, BUCKET, tls=False, by=(TLS,)),
    Row("views", VIEW, GET, REVISION, tls=False, by=(TLS,)),
    Row("commits", UPLOADER, PUT, REVISION, ABSENT, tls=False, by=(TLS,)),
    Row("is a presigned PUT", UPLOADER, PUT, UPLOAD, ABSENT, tls=False, by=(TLS,)),
    Row("is a presigned form", UPLOADER, PUT, UPLOAD, tls=False, by=(TLS,)),
    Row("projects", REFRESH, DELETE, TREE, MATCH, tls=False, by=(TLS,)),
    Row("purges", UPLOADER, DELETE_VERSION, REVISION, tls=False, by=(TLS,)),
    Row("reads", OPERATOR, GET, TREE, tls=False, by=(TLS,)),
    Row("syncs", OPERATOR, PUT, TREE, tls=False, by=(TLS,)),
    Row("reads the policy", OPERATOR, "s3:GetBucketPolicy", BUCKET, tls=False, by=(TLS,)),
)

_FORGED = (
    *(
        Row("writes a record", who, PUT, key, ABSENT, by=(WRITERS,))
        for who in (OPERATOR, USER, LOOK_ALIKE, STRANGER, SERVICE)
        for key in (UPLOAD, REVISION, SIDECAR)
    ),
    *(
        Row("overwrites a record", OPERATOR, PUT, key, MATCH, by=(WRITERS,))
        for key in (REVISION, SIDECAR, DEEP_SIDECAR, SETTINGS, CATALOG, SNAPSHOT, ACCESS)
    ),
    Row("tells an author of a publish", OPERATOR, PUT, OUTCOME, by=(WRITERS,)),
    Row("sends the parts of a record", OPERATOR, PUT, REVISION, creates=False, by=(WRITERS,)),
    Row("replicates a record into the bucket", OPERATOR, REPLICATE, REVISION, by=(WRITERS,)),
    Row("syncs a sidecar", OPERATOR, PUT, SIDECAR, by=(CONDITIONAL, WRITERS)),
    Row("restores by CopyObject", OPERATOR, PUT, REVISION, by=(CONDITIONAL, WRITERS)),
    Row("commits", LIST_SKILLS, PUT, REVISION, ABSENT, by=(WRITERS, NO_GRANT)),
    Row("grants", LIST_SKILLS, PUT, ACCESS, MATCH, by=(WRITERS, NO_GRANT)),
)

_BLIND = (
    *(
        Row("writes blindly", role, PUT, key, by=(CONDITIONAL,))
        for role in (UPLOADER, REFRESH)
        for key in (REVISION, SIDECAR, SETTINGS, CATALOG)
    ),
    Row("grants blindly", UPLOADER, PUT, ACCESS, by=(CONDITIONAL,)),
    Row("keeps a bundle blindly", VIEW, PUT, SNAPSHOT, by=(CONDITIONAL,)),
    Row("writes below a tree's sidecar", UPLOADER, PUT, DEEP_SIDECAR, by=(CONDITIONAL,)),
)

_DELETED = (
    *(
        Row("deletes a record", OPERATOR, DELETE, key, by=(UNDELETABLE,))
        for key in (REVISION, SETTINGS, CATALOG, SNAPSHOT, ACCESS, UPLOAD, OUTCOME)
    ),
    *(
        Row("deletes a sidecar", who, DELETE, key, by=(UNDELETABLE,))
        for who in (OPERATOR, USER)
        for key in (SIDECAR, DEEP_SIDECAR)
    ),
    *(
        Row("deletes a sidecar", role, DELETE, SIDECAR, condition, by=(UNDELETABLE,))
        for role in (UPLOADER, REFRESH)
        for condition in (NONE, MATCH)
    ),
    *(
        Row("deletes a revision", role, DELETE, REVISION, MATCH, by=(UNDELETABLE, NO_GRANT))
        for role in FUNCTIONS
    ),
    Row("deletes a record", SERVICE, DELETE, REVISION, by=(UNDELETABLE,)),
    Row("replicates a deletion", OPERATOR, REPLICATE_DELETE, REVISION, by=(UNDELETABLE,)),
)

_UNDONE = (
    *(
        Row("removes an object version", who, DELETE_VERSION, key, by=(PURGE,))
        for who in (OPERATOR, USER, LOOK_ALIKE, STRANGER, SERVICE)
        for key in (REVISION, UPLOAD)
    ),
    *(
        Row("removes an object version", OPERATOR, DELETE_VERSION, key, by=(PURGE,))
        for key in (SETTINGS, CATALOG, SNAPSHOT, ACCESS, OUTCOME)
    ),
    *(
        Row("removes an object version", role, DELETE_VERSION, key, by=(PURGE, NO_GRANT))
        for role in (LIST_SKILLS, VIEW, REFRESH)
        for key in (REVISION, UPLOAD)
    ),
    *(
        Row("takes a version back", who, DELETE_VERSION, key, by=(FORWARD,))
        for who in (OPERATOR, UPLOADER)
        for key in (SIDECAR, DEEP_SIDECAR)
    ),
)

_NOT_GRANTED = (
    Row("reads a skill", LIST_SKILLS, GET, REVISION, by=(NO_GRANT,)),
    Row("reads an upload", VIEW, GET, UPLOAD, by=(NO_GRANT,)),
    Row("commits", VIEW, PUT, REVISION, ABSENT, by=(NO_GRANT,)),
    Row("writes to a tree", VIEW, PUT, TREE, ABSENT, by=(NO_GRANT,)),
    *(
        Row("makes somebody an administrator", role, PUT, ACCESS, MATCH, by=(NO_GRANT,))
        for role in (VIEW, REFRESH)
    ),
    Row("forgets who was granted what", UPLOADER, DELETE_VERSION, ACCESS, by=(NO_GRANT,)),
    Row("rewrites the past of settings", UPLOADER, DELETE_VERSION, SETTINGS, by=(NO_GRANT,)),
    Row("signs an upload", REFRESH, PUT, UPLOAD, ABSENT, by=(NO_GRANT,)),
    Row("looks into history", REFRESH, LIST_VERSIONS, BUCKET, by=(NO_GRANT,)),
    Row("removes a version of a tree", REFRESH, DELETE_VERSION, TREE, by=(NO_GRANT,)),
    Row("opens the bucket", UPLOADER, "s3:PutBucketPolicy", BUCKET, by=(NO_GRANT,)),
)

REFUSED = _UNENCRYPTED + _FORGED + _BLIND + _DELETED + _UNDONE + _NOT_GRANTED
