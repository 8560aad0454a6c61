"""How a response of the registry becomes a value. Pure.

Every reader raises ``RegistryProblem`` for a refusal and ``AnswerInvalid`` for an answer that is
not of the promised shape.
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING

from skill_registry.agent.answers import (
    Bundle,
    CheckedSkill,
    CopiedFrom,
    ListedSkill,
    Listing,
    Published,
    TooLong,
    UploadState,
    UploadTicket,
    Validation,
    View,
    ViewedFile,
)
from skill_registry.agent.fields import Fields
from skill_registry.agent.problems import (
    AnswerInvalid,
    RegistryProblem,
    read_diagnostics,
    read_object,
    read_problem,
)
from skill_registry.agent.retries import read_retry_after
from skill_registry.spec.model import SKILL_MD

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import httpx

# Python reads no number of any length; none of a registry has more digits.
_DIGITS = re.compile(r"[0-9]{1,18}")


def read_listing(response: httpx.Response) -> Listing:
    """Read a page of the listing."""
    answer = read_fields(response)
    versions = answer.mapping("catalog_version")
    return Listing(
        skills=tuple(_listed(item) for item in answer.items("skills")),
        catalog_version={k: v for k, v in versions.items() if isinstance(v, int)},
        next=answer.maybe_text("next"),
        diagnostics=read_diagnostics(answer.values.get("diagnostics")),
        answer=answer.values,
    )


def read_view(response: httpx.Response) -> View | TooLong:
    """Read a skill's body or file."""
    answer = read_fields(response)
    if answer.values.get("content") is None:
        link = Fields({**answer.values, **answer.mapping("bundle")})
        return TooLong(answer.text("path"), _bundle(link))
    return View(
        name=answer.text("name"),
        scope=answer.text("scope"),
        version=answer.version("version"),
        path=answer.text("path"),
        data=_content(answer),
        files=tuple(
            ViewedFile(
                item.text("path"), item.whole("size"), item.text("sha256"), item.text("mode")
            )
            for item in answer.items("files", required=False)
        ),
        metadata=answer.mapping("metadata"),
        answer=answer.values,
    )


def read_raw_view(response: httpx.Response, name: str, path: str | None) -> View | None:
    """Read stored bytes, whose version and scope stand in headers; None for too many bytes."""
    if response.status_code == 413:
        return None
    raise_for_refusal(response)
    told = response.headers.get("x-skill-version")
    if told is None:
        raise _strange(response)
    # A vendored skill's tag may look like a number; only a managed one's is in the ETag.
    managed = response.headers.get("etag", "").removeprefix("W/").startswith(f'"{told}-')
    return View(
        name=name,
        scope=response.headers.get("x-skill-scope", ""),
        version=int(told) if managed and _DIGITS.fullmatch(told) else told or None,
        path=path or SKILL_MD,
        data=response.content,
    )


def read_checked(response: httpx.Response, names: Collection[str]) -> Mapping[str, CheckedSkill]:
    """Read what became of each of these skills."""
    skills = Fields(read_fields(response).mapping("skills"))
    items = {name: Fields(skills.mapping(name)) for name in names}
    return {
        name: CheckedSkill(item.text("state"), item.version("version"), item.maybe_text("scope"))
        for name, item in items.items()
    }


def read_bundle(response: httpx.Response) -> Bundle:
    """Read where a bundle lies."""
    return _bundle(read_fields(response))


def read_ticket(response: httpx.Response) -> UploadTicket:
    """Read leave to upload."""
    answer = read_fields(response)
    method = answer.text("method")
    if method not in {"PUT", "POST"}:
        raise AnswerInvalid(f"The registry asks for an upload by {method!r}, not by PUT or POST.")
    return UploadTicket(
        upload_id=answer.text("upload_id"),
        method=method,
        url=answer.text("url"),
        headers=answer.texts("headers"),
        fields=answer.texts("fields"),
        expires=answer.maybe_whole("expires"),
        base=answer.maybe_whole("base"),
        max_size=answer.maybe_whole("max_size"),
    )


def read_published(response: httpx.Response) -> Published:
    """Read an acknowledged publish."""
    answer = read_fields(response)
    return Published(
        name=answer.text("name"),
        scope=answer.text("scope"),
        version=answer.whole("version"),
        sha256=answer.maybe_text("sha256"),
        unchanged=answer.values.get("unchanged") is True,
        restores=answer.maybe_whole("restores"),
        copied_from=read_source(answer),
        upload_id=answer.maybe_text("upload_id"),
        diagnostics=read_diagnostics(answer.values.get("diagnostics")),
        answer=answer.values,
    )


def read_source(answer: Fields) -> CopiedFrom | None:
    """Read what a version was copied from, None where it is no copy."""
    source = answer.maybe_object("copied_from")
    return CopiedFrom(source.text("scope"), source.version("version")) if source else None


def read_upload_state(response: httpx.Response) -> UploadState:
    """Read what became of an upload."""
    answer = read_fields(response)
    return UploadState(
        upload_id=answer.text("upload_id"),
        state=answer.text("state"),
        version=answer.maybe_whole("version"),
        code=answer.maybe_text("code"),
        detail=answer.maybe_text("detail"),
        diagnostics=read_diagnostics(answer.values.get("diagnostics")),
        answer=answer.values,
    )


def read_validation(response: httpx.Response) -> Validation:
    """Read the diagnostics of a dry run."""
    answer = read_fields(response)
    return Validation(
        valid=answer.values.get("valid") is True,
        name=answer.maybe_text("name"),
        diagnostics=read_diagnostics(answer.values.get("diagnostics")),
        answer=answer.values,
    )


def raise_for_refusal(response: httpx.Response) -> None:
    """Raise what a response refuses with; return for an answer."""
    if response.status_code == 202:
        # Asked again as often as patience lasts; what was begun goes on without this client.
        raise RegistryProblem(
            202,
            "time_is_up",
            "The registry has not finished yet, and goes on. Look at the upload's state later.",
            retry_after=read_retry_after(response.headers),
        )
    if response.is_success:
        return
    if response.has_redirect_location:
        place = response.headers["location"].split("?")[0]
        raise AnswerInvalid(
            f"{response.url.host} redirects to {place}, and redirects are not followed: give the"
            " registry's own address."
        )
    if response.is_redirect:
        raise _strange(response)
    raise read_problem(response)


def read_fields(response: httpx.Response) -> Fields:
    """Read an answer's JSON object."""
    raise_for_refusal(response)
    values = read_object(response.content)
    if values is None:
        raise _strange(response)
    return Fields(values)


def _strange(response: httpx.Response) -> AnswerInvalid:
    return AnswerInvalid(
        f"{response.url.host} answered {response.status_code} with something else than a"
        " registry's answer. Is this the address of a registry?"
    )


def _bundle(answer: Fields) -> Bundle:
    return Bundle(
        name=answer.text("name"),
        scope=answer.text("scope"),
        version=answer.version("version"),
        url=answer.text("url"),
        sha256=answer.text("sha256").lower(),
        size=answer.maybe_whole("size"),
        expires=answer.maybe_whole("expires"),
    )


def _listed(item: Fields) -> ListedSkill:
    return ListedSkill(
        name=item.text("name"),
        scope=item.text("scope"),
        version=item.version("version"),
        description=item.maybe_text("description") or "",
        answer=item.values,
    )


def _content(answer: Fields) -> bytes:
    content = answer.text("content")
    try:
        if answer.maybe_text("encoding") == "base64":
            return base64.b64decode(content, validate=True)
        return content.encode()
    except ValueError as error:
        raise AnswerInvalid("The answer's content cannot be decoded.") from error
