"""Routes of the upload function: everything that writes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from skill_registry.catalog.log import Precondition
from skill_registry.catalog.uploading import publish_record
from skill_registry.catalog.uploads import check_message
from skill_registry.errors import RequestInvalid, SkillInvalid, TooLarge
from skill_registry.spec.archive import read_archive
from skill_registry.spec.layout import arrange
from skill_registry.spec.model import SkillFile, has_errors
from skill_registry.spec.names import check_skill_name
from skill_registry.store.keys import SkillId
from skill_registry.web.http import JSON, Request, Response, json_response
from skill_registry.web.schemas import InlineFiles, NewUpload, read_body

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skill_registry.catalog.principal import Principal
    from skill_registry.catalog.publishing import Published, Publisher
    from skill_registry.catalog.uploading import Uploader
    from skill_registry.spec.layout import ArchiveContents
    from skill_registry.spec.model import Diagnostic, Limits
    from skill_registry.web.api import Routes

ZIPS = ("application/zip", "application/x-zip-compressed", "application/octet-stream")

# An event of Lambda holds 6 MB, and a binary body travels in base64 (AWS Lambda quotas).
LARGEST_INLINE = 4 * 1024 * 1024
LONGEST_KEY = 200

_VERSION_TAG = re.compile(r'"(\d{1,9})(?:-[0-9a-f]+)?"')


class UploadRoutes:
    """The routes, over the upload and publish use cases."""

    def __init__(self, uploader: Uploader, publisher: Publisher, limits: Limits) -> None:
        self._uploader = uploader
        self._publisher = publisher
        self._limits = limits

    def routes(self) -> Routes:
        """Return the routes by their key."""
        return {
            "POST /uploads": self.announce,
            "POST /uploads/{id}/complete": self.complete,
            "GET /uploads/{id}": self.outcome,
            "PUT /skills/{name}": self.publish,
            "DELETE /skills/{name}": self.delete,
            "POST /validate": self.validate,
        }

    def announce(self, request: Request, principal: Principal) -> Response:
        """Issue a ticket."""
        body = read_body(NewUpload, request.json())
        announced = self._uploader.announce(
            principal,
            _skill(request, principal, body.name),
            precondition=_precondition(request),
            message=check_message(body.message),
            size=body.size,
            sha256=body.sha256,
        )
        target = announced.target
        document: dict[str, Any] = {
            "upload_id": announced.upload.id,
            "method": target.method,
            "url": target.url,
            "expires": announced.expires,
            "base": announced.base,
            "max_size": announced.max_size,
        }
        sent = {"headers": dict(target.headers)} if target.method == "PUT" else {}
        sent |= {"fields": dict(target.fields)} if target.method == "POST" else {}
        return json_response(document | sent, 201, {"cache-control": "no-store"})

    def complete(self, request: Request, principal: Principal) -> Response:
        """Publish what was uploaded."""
        published = self._uploader.complete(principal, request.path_parameter("id"))
        return _published(published, 200)

    def outcome(self, request: Request, principal: Principal) -> Response:
        """Tell what became of an upload."""
        record = self._uploader.outcome(principal, request.path_parameter("id"))
        return json_response(record, headers={"cache-control": "no-store"})

    def publish(self, request: Request, principal: Principal) -> Response:
        """Publish a small skill that came with the request."""
        skill = _skill(request, principal, request.path_parameter("name"))
        contents, message = self._contents(request)
        published = self._publisher.publish_inline(
            principal,
            skill,
            contents,
            precondition=_precondition(request),
            message=check_message(message),
            idempotency_key=_idempotency_key(request),
        )
        return _published(published, 201 if published.info.number == 1 else 200)

    def delete(self, request: Request, principal: Principal) -> Response:
        """Delete a skill; its number stays taken."""
        published = self._publisher.delete(
            principal,
            _skill(request, principal, request.path_parameter("name")),
            precondition=_precondition(request),
            idempotency_key=_idempotency_key(request),
        )
        return json_response(
            {
                "name": published.skill.name,
                "scope": published.skill.scope,
                "version": published.info.number,
                "state": "deleted",
            }
        )

    def validate(self, request: Request, _principal: Principal) -> Response:
        """Give the diagnostics of a publish, and store nothing."""
        contents, _ = self._contents(request)
        name = request.value("name") or None
        try:
            diagnostics: Sequence[Diagnostic] = self._publisher.check(name, contents)
            valid = True
        except SkillInvalid as error:
            diagnostics, valid = error.diagnostics, False
        document = {
            "valid": valid,
            "name": name,
            "diagnostics": [d.to_dict() for d in diagnostics],
        }
        return json_response(document)

    def _contents(self, request: Request) -> tuple[ArchiveContents, str | None]:
        """Read an inline body: the files in it, and the message."""
        if len(request.body) > LARGEST_INLINE:
            raise TooLarge(
                f"An inline skill has at most {LARGEST_INLINE} bytes. Use `POST /uploads`.",
                code="use_upload",
            )
        kind = request.content_type()
        if kind == JSON:
            body = read_body(InlineFiles, request.json())
            sent = [SkillFile(path, text.encode()) for path, text in body.files.items()]
            return arrange(sent), body.message
        if kind in ZIPS:
            return read_archive(request.body, limits=self._limits), request.value("message")
        raise RequestInvalid(
            "Send a zip as `application/zip`, or files as `application/json`.",
            code="content_type_invalid",
        )


def _skill(request: Request, principal: Principal, name: str) -> SkillId:
    scope = principal.write_scope(request.value("scope"))
    problems = check_skill_name(name)
    if has_errors(problems):
        raise SkillInvalid(f"`{name[:64]}` is no name of a skill.", problems)
    return SkillId(scope, name)


def _precondition(request: Request) -> Precondition:
    """Read ``If-Match`` and ``If-None-Match`` as they are meant for a skill's version."""
    create_only = _create_only(request.headers.get("if-none-match"))
    given = request.headers.get("if-match", "").strip()
    if not given:
        return Precondition(create_only=create_only)
    if given == "*":
        return Precondition(create_only=create_only, must_exist=True)
    match = _VERSION_TAG.fullmatch(given)
    if match is None:
        raise RequestInvalid(
            'If-Match is a version in quotes, like `"6"`, or the ETag of a view.',
            code="precondition_invalid",
        )
    return Precondition(version=int(match[1]), create_only=create_only)


def _create_only(given: str | None) -> bool:
    if given is None or not given.strip():
        return False
    if given.strip() != "*":
        raise RequestInvalid(
            "If-None-Match is `*` on a write: create, never replace.", code="precondition_invalid"
        )
    return True


def _idempotency_key(request: Request) -> str | None:
    key = request.headers.get("idempotency-key", "").strip()
    if len(key) > LONGEST_KEY:
        raise RequestInvalid(
            f"An Idempotency-Key has at most {LONGEST_KEY} characters.",
            code="idempotency_key_invalid",
        )
    return key or None


def _published(published: Published, status: int) -> Response:
    document = {"state": "published", **publish_record(published)}
    headers = {"etag": f'"{published.info.number}"', "cache-control": "no-store"}
    return json_response(document, status, headers)
