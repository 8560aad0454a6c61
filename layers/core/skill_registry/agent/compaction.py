"""What stays of a loaded skill when a context is compacted, and what a user's client shows.

Both take an answer in any form that it may have by then: the value, its JSON object, or the text
that the model was given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, overload

from skill_registry.agent.tool_answers import SkillAnswer
from skill_registry.spec.model import SKILL_MD

MARKER = "[instructions dropped]"
NOTE = "Load it again to follow it."
ACTIVATED = "Skill activated."

_BODY = (None, "", SKILL_MD)
_DOCUMENT = re.compile(
    r"# Skill: (\S+)(?: \(v:([^\n]*)\))?\n.*\n_\(Skill (?:loaded\.|source: [^\n]*)\)_\Z", re.DOTALL
)


@overload
def compact(result: str) -> str: ...


@overload
def compact(result: SkillAnswer | Mapping[str, Any]) -> Mapping[str, Any]: ...


def compact(result: SkillAnswer | Mapping[str, Any] | str) -> Mapping[str, Any] | str:
    """Reduce a body load to which skill it was at which version; return all else as it is.

    Version and name stay, so that the model can tell from the listing that a skill has changed
    since (seed 1). Files that were read by a path, refusals and foreign results are not touched.

    Returns:
        ``{skillName, path, version, content, note}``; as JSON text where a text was given.
    """
    loaded = _loaded(result)
    if loaded is None:
        return result.to_dict() if isinstance(result, SkillAnswer) else result
    name, version = loaded
    kept = {
        "skillName": name,
        "path": None,
        "version": version,
        "content": MARKER,
        "note": NOTE,
    }
    return json.dumps(kept, ensure_ascii=False) if isinstance(result, str) else kept


def client_output(result: SkillAnswer | Mapping[str, Any] | str) -> dict[str, Any]:
    """Return what a user's client shows of a load: no body, no version (seed 1).

    Of a refusal it shows why, of anything else the text as it is.
    """
    document = _document(result)
    if document is None:
        found = _DOCUMENT.match(result) if isinstance(result, str) else None
        document = {"skillName": found[1]} if found else {}
    error, name = document.get("error"), document.get("skillName")
    content: object = ACTIVATED
    if isinstance(error, Mapping):
        content = error.get("message")
    elif name is None:
        content = result.text if isinstance(result, SkillAnswer) else result
    return {"skillName": name, "path": document.get("path"), "content": content}


def _loaded(result: SkillAnswer | Mapping[str, Any] | str) -> tuple[str, Any] | None:
    """Return name and version where a body was loaded."""
    document = _document(result)
    if document is None:
        found = _DOCUMENT.match(result) if isinstance(result, str) else None
        return (found[1], _version(found[2])) if found else None
    name = document.get("skillName")
    if not isinstance(name, str) or "error" in document or "content" not in document:
        return None
    return (name, document.get("version")) if document.get("path") in _BODY else None


def _document(result: SkillAnswer | Mapping[str, Any] | str) -> Mapping[str, Any] | None:
    if isinstance(result, SkillAnswer):
        return result.to_dict()
    if isinstance(result, Mapping):
        return result
    try:
        document = json.loads(result)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _version(text: str | None) -> int | str | None:
    return int(text) if text is not None and text.isdecimal() else text
