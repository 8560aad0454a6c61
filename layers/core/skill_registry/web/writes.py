"""What every write takes from a request: its skill, its precondition, its key; and its answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skill_registry.catalog.log import Precondition
from skill_registry.catalog.uploading import publish_record
from skill_registry.errors import RequestInvalid, SkillInvalid, SkillNotFound
from skill_registry.spec.model import has_errors
from skill_registry.spec.names import check_skill_name, is_directory_name
from skill_registry.store.keys import SkillId
from skill_registry.web.http import Request, Response, json_response

if TYPE_CHECKING:
    from skill_registry.catalog.principal import Principal
    from skill_registry.catalog.publishing import Published

LONGEST_KEY = 200

_VERSION_TAG = re.compile(r'"([0-9]{1,9})(?:-[0-9a-f]+(?:-gzip)?)?"')


def new_skill(request: Request, principal: Principal, name: str) -> SkillId:
    """Return the skill to publish: its name has to be one by the format.

    Raises:
        SkillInvalid: It is none.
        ScopeRequired, RequestInvalid, Forbidden: As ``Principal.write_scope``.
    """
    return skill_to_publish(principal, request.value("scope"), name)


def skill_to_publish(principal: Principal, asked: str | None, name: str) -> SkillId:
    """Return the skill to publish in the scope that is asked for.

    Raises:
        SkillInvalid, ScopeRequired, RequestInvalid, Forbidden: As ``new_skill``.
    """
    scope = principal.write_scope(asked)
    problems = check_skill_name(name)
    if has_errors(problems):
        raise SkillInvalid(f"`{name[:64]}` is no name of a skill.", problems)
    return SkillId(scope, name)


def known_skill(request: Request, principal: Principal) -> SkillId:
    """Return the skill to change, which may be a directory of a name that no publish takes.

    Raises:
        SkillNotFound: No skill can have that name.
        ScopeRequired, RequestInvalid, Forbidden: As ``Principal.write_scope``.
    """
    scope = principal.write_scope(request.value("scope"))
    return SkillId(scope, _possible_name(request))


def own_skill(request: Request, principal: Principal) -> SkillId | None:
    """Return the name in the caller's own scope, None where that is not the scope it asks for.

    Raises:
        SkillNotFound: No skill can have that name.
    """
    own, asked = principal.own_scope, request.value("scope")
    if own is None or asked not in (None, own):
        return None
    return SkillId(own, _possible_name(request))


def _possible_name(request: Request) -> str:
    name = request.path_parameter("name")
    if not is_directory_name(name):
        raise SkillNotFound(f"There is no skill `{name[:64]}`.")
    return name


def precondition(request: Request) -> Precondition:
    """Read ``If-Match`` and ``If-None-Match`` as they are meant for a skill's version.

    Raises:
        RequestInvalid: ``precondition_invalid``.
    """
    create_only = _create_only(request.headers.get("if-none-match"))
    given = request.headers.get("if-match")
    if given is None:
        return Precondition(create_only=create_only)
    given = given.strip()
    if given == "*":
        return Precondition(create_only=create_only, must_exist=True)
    match = _VERSION_TAG.fullmatch(given)
    if match is None:
        raise RequestInvalid(
            'If-Match is a version in quotes, like `"6"`, or the ETag of a view.',
            code="precondition_invalid",
        )
    return Precondition(version=int(match[1]), create_only=create_only)


def without_precondition(request: Request) -> None:
    """Refuse a precondition where none is looked at: ignoring it would be a lie.

    Raises:
        RequestInvalid: ``precondition_invalid``.
    """
    if {"if-match", "if-none-match"} & set(request.headers):
        raise RequestInvalid(
            "This call makes no version, so it takes no If-Match and no If-None-Match.",
            code="precondition_invalid",
        )


def _create_only(given: str | None) -> bool:
    if given is None:
        return False
    if given.strip() != "*":
        raise RequestInvalid(
            "If-None-Match is `*` on a write: create, never replace.", code="precondition_invalid"
        )
    return True


def idempotency_key(request: Request) -> str | None:
    """Return the Idempotency-Key, None where there is none.

    Raises:
        RequestInvalid: ``idempotency_key_invalid``.
    """
    key = request.headers.get("idempotency-key", "").strip()
    if len(key) > LONGEST_KEY:
        raise RequestInvalid(
            f"An Idempotency-Key has at most {LONGEST_KEY} characters.",
            code="idempotency_key_invalid",
        )
    return key or None


def published_response(published: Published, status: int = 200) -> Response:
    """Answer with the version that a write made."""
    document = {"state": "published", **publish_record(published)}
    headers = {"etag": f'"{published.info.number}"', "cache-control": "no-store"}
    return json_response(document, status, headers)
