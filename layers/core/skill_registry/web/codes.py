"""The one list of problem codes, what a client may switch on. Codes are only ever added.

The README prints this table; a test holds it against the code that raises, both ways.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PROBLEMS: Mapping[str, str] = {
    # 400
    "request_invalid": "The request is malformed.",
    "query_invalid": "The query string cannot be read, or a key that counts once is given twice.",
    "body_not_json": "The body is not a JSON object.",
    "body_invalid": "The body cannot be decoded, or its members are not those of the call.",
    "content_type_invalid": "The body is neither a zip nor JSON, by its content type.",
    "precondition_invalid": "If-Match or If-None-Match is not of the form that a write takes.",
    "idempotency_key_invalid": "The Idempotency-Key is too long.",
    "message_invalid": "The publish message is too long, or not printable.",
    "limit_invalid": "The page size is not a number within the limits.",
    "max_tokens_invalid": "The token budget is not a whole number from 1 on.",
    "filter_invalid": "A filter of the listing is too long, or not of its form.",
    "cursor_invalid": "The cursor belongs to another query, or to none.",
    "version_invalid": "The version is neither a number nor a label.",
    "scope_invalid": "The scope is not of the form of one.",
    "scope_required": "The write names no scope, and the caller has no default one.",
    "skill_path_invalid": "The path leaves the skill, or is not a plain relative path.",
    "label_invalid": "A label is not of the form of one, or there are too many.",
    "change_invalid": "The change changes nothing, or not what it may change there.",
    "access_invalid": "The grant names no role ARN, or a role, scope or agent not of its form.",
    "key_invalid": "A name or path is longer than the store can hold.",
    "metadata_invalid": "A text cannot be stored beside the upload.",
    "metadata_too_large": "The texts stored beside the upload are too long.",
    "sha256_invalid": "The digest is not 64 lower-case hex digits.",
    "upload_size_mismatch": "The upload has another size than was announced.",
    "upload_digest_mismatch": "The upload has other bytes than were announced.",
    # 401, 403
    "unauthenticated": "The request carries no identity that the registry knows.",
    "forbidden": "The caller may not do this.",
    # 404, 405, 410
    "route_not_found": "The registry has nothing at this path.",
    "method_not_allowed": "The path is known, the method is not; `Allow` names those that are.",
    "not_found": "There is no such thing.",
    "skill_not_found": "No such skill that the caller may load; `available` names some.",
    "file_not_found": "The skill has no such file; `available` names the nearest.",
    "version_not_found": "The skill has no such version or label.",
    "upload_not_found": "No such upload of this caller, or it expired after a day.",
    "version_pruned": "The version existed, and its bytes were pruned.",
    # 409, 412
    "conflict": "The call lost against another one.",
    "upload_already_used": "The upload or Idempotency-Key was used for other bytes.",
    "ticket_stale": "Over 100 versions came since the call began; look whether it is one of them.",
    "version_conflict": "The precondition does not hold; `current` is the version now.",
    "version_in_use": "The version is the current one or has a label, so it cannot be purged.",
    "settings_unreadable": "The skill's settings.json cannot be read, so it is not replaced.",
    # 413, 422
    "too_large": "The archive, or a file in one answer, is over its limit.",
    "use_upload": "The skill is too large to travel in the call; use `POST /uploads`.",
    "scope_full": "The scope holds as many skills or bytes as it may; delete some first.",
    "skill_invalid": "The skill breaks rules; `diagnostics` names each.",
    # 429
    "too_many_uploads": "Too many uploads wait to be published; publish or drop some first.",
    # 500, 503
    "internal_error": "The registry failed; its log has the reason.",
    "revision_damaged": "The bytes of this version are damaged; publish the skill again.",
    "access_unreadable": "Nobody can tell who may call: `access.json` is broken. Ask an operator.",
    "time_is_up": "The call came to its time limit; repeat it after `Retry-After` seconds.",
    "store_unavailable": "The store does not answer; repeat after `Retry-After` seconds.",
}
