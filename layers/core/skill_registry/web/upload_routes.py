"""Routes of the upload function: everything that writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skill_registry.catalog.publishing import Published
from skill_registry.catalog.uploading import Validated, received_record, validation_record
from skill_registry.catalog.uploads import check_message
from skill_registry.errors import RequestInvalid, SkillInvalid, TooLarge
from skill_registry.spec.archive import read_archive
from skill_registry.spec.layout import arrange
from skill_registry.spec.model import SkillFile
from skill_registry.store.deadline import RETRY_AFTER
from skill_registry.web.http import JSON, Request, Response, json_response
from skill_registry.web.schemas import InlineFiles, NewUpload, read_body
from skill_registry.web.writes import (
    idempotency_key,
    known_skill,
    new_skill,
    precondition,
    published_response,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skill_registry.catalog.principal import Principal
    from skill_registry.catalog.publishing import Publisher
    from skill_registry.catalog.uploading import Uploader
    from skill_registry.spec.layout import ArchiveContents
    from skill_registry.spec.model import Diagnostic, Limits
    from skill_registry.web.api import Routes

ZIPS = ("application/zip", "application/x-zip-compressed", "application/octet-stream")

# An event of Lambda holds 6 MB, and a binary body travels in base64 (AWS Lambda quotas).
LARGEST_INLINE = 4 * 1024 * 1024


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
            new_skill(request, principal, body.name),
            precondition=precondition(request),
            message=check_message(body.message),
            size=body.size,
            sha256=body.sha256,
            dry_run=body.dry_run,
            correlation=request.correlation_id,
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
        """Publish what was uploaded, or say what a dry run found, or where to look later."""
        done = self._uploader.complete(principal, request.path_parameter("id"))
        if isinstance(done, Published):
            return published_response(done)
        fresh = {"cache-control": "no-store"}
        if isinstance(done, Validated):
            document = {"state": "validated", **validation_record(done)}
            return json_response(document, headers=fresh)
        later = {"retry-after": str(RETRY_AFTER), "location": f"/uploads/{done.upload.id}"}
        document = {"state": "received", **received_record(done)}
        return json_response(document, 202, {**fresh, **later})

    def outcome(self, request: Request, principal: Principal) -> Response:
        """Tell what became of an upload."""
        record = self._uploader.outcome(principal, request.path_parameter("id"))
        return json_response(record, headers={"cache-control": "no-store"})

    def publish(self, request: Request, principal: Principal) -> Response:
        """Publish a small skill that came with the request."""
        skill = new_skill(request, principal, request.path_parameter("name"))
        contents, message = self._contents(request)
        published = self._publisher.publish_inline(
            principal,
            skill,
            contents,
            precondition=precondition(request),
            message=check_message(message),
            idempotency_key=idempotency_key(request),
        )
        return published_response(published, 201 if published.info.number == 1 else 200)

    def delete(self, request: Request, principal: Principal) -> Response:
        """Delete a skill; its number stays taken."""
        published = self._publisher.delete(
            principal,
            known_skill(request, principal),
            precondition=precondition(request),
            idempotency_key=idempotency_key(request),
        )
        document = {
            "name": published.skill.name,
            "scope": published.skill.scope,
            "version": published.info.number,
            "state": "deleted",
        }
        return json_response(document, headers={"cache-control": "no-store"})

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
        return json_response(document, headers={"cache-control": "no-store"})

    def _contents(self, request: Request) -> tuple[ArchiveContents, str | None]:
        """Read an inline body: the files in it, and the message."""
        if len(request.body) > LARGEST_INLINE:
            raise TooLarge(
                f"An inline skill has at most {LARGEST_INLINE} bytes. Use `POST /uploads`, for a"
                " dry run with `dry_run`.",
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
