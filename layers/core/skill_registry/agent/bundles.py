"""A downloaded bundle: its digest, and the files in it. Pure."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from skill_registry.agent.answers import View, ViewedFile
from skill_registry.agent.problems import AnswerInvalid, TransferFailed
from skill_registry.agent.source import SkillCopy
from skill_registry.spec.archive import read_revision
from skill_registry.spec.fences import body_of
from skill_registry.spec.model import MOST_BYTES, MOST_FILES, SKILL_MD

if TYPE_CHECKING:
    from skill_registry.agent.answers import Bundle


def check_digest(bundle: Bundle, data: bytes) -> bytes:
    """Return the bundle's bytes.

    Raises:
        TransferFailed: They are not those that the registry announced.
    """
    if hashlib.sha256(data).hexdigest() != bundle.sha256:
        raise TransferFailed(
            f"The bundle of {bundle.name} arrived with another digest than the registry announced;"
            " nothing of it was used."
        )
    return data


def view_of(bundle: Bundle, data: bytes, path: str, *, raw: bool) -> View:
    """Return the view of one file in a bundle, as the registry would have answered it.

    Raises:
        AnswerInvalid: The bundle is no archive, or has no such file.
    """
    try:
        files = {
            file.path: file
            for file in read_revision(data, most_files=MOST_FILES, most_bytes=MOST_BYTES)
        }
        file = files[path]
    except (ValueError, KeyError) as error:
        raise AnswerInvalid(f"The bundle of {bundle.name} does not hold {path}.") from error
    listed = tuple(
        ViewedFile(each.path, len(each.data), each.sha256, each.mode) for each in files.values()
    )
    body = body_of(file.data).encode() if path == SKILL_MD and not raw else file.data
    return View(bundle.name, bundle.scope, bundle.version, path, body, () if raw else listed)


def tag_of(bundle: Bundle) -> str:
    """Return what two bundles have alike only where they are one version of one skill."""
    return f"{bundle.scope}:{bundle.version!r}:{bundle.sha256}"


def copy_of(bundle: Bundle, data: bytes) -> SkillCopy:
    """Return all files of a bundle.

    Raises:
        AnswerInvalid: It is no archive, or holds more than any registry takes.
    """
    try:
        files = read_revision(data, most_files=MOST_FILES, most_bytes=MOST_BYTES)
    except ValueError as error:
        raise AnswerInvalid(f"The bundle of {bundle.name} is no archive of a skill.") from error
    return SkillCopy(bundle.name, bundle.scope, bundle.version, files, tag_of(bundle))
