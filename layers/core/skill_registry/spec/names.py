"""What a skill and its files may be called. Every broken rule is a diagnostic of its own.

Sources: Agent Skills specification, field ``name``; seed 1 for the paths.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from skill_registry.errors import FileNotFound, PathInvalid
from skill_registry.spec.diagnostics import NOWHERE, Place, error, warning
from skill_registry.spec.model import DEFAULT_LIMITS, SKILL_MD, VERSION_SIDECAR
from skill_registry.spec.text import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skill_registry.spec.model import Diagnostic, Limits

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9-]")
_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_DEEPEST = 64
_RESERVED_ELSEWHERE = ("anthropic", "claude")


def is_skill_name(text: str) -> bool:
    """Tell whether the text is a legal skill name: 1 to 64 of ``a-z0-9``, single inner hyphens."""
    return len(text) <= DEFAULT_LIMITS.name and _NAME.fullmatch(text) is not None


def is_directory_name(text: str) -> bool:
    """Tell whether a directory of this name can hold a skill, legal by the format or not."""
    printable = 0 < len(text) <= 2 * DEFAULT_LIMITS.name and text.isprintable()
    return printable and text not in (".", "..") and not set(text) & set("/\\")


def suggest_name(text: str, *, limits: Limits = DEFAULT_LIMITS) -> str | None:
    """Propose a legal name near to the text; None where nothing of it is left."""
    plain = unicodedata.normalize("NFKD", text[:1000]).encode("ascii", "ignore").decode()
    words = re.findall(r"[a-z0-9]+", plain.lower())
    return "-".join(words)[: limits.name].strip("-") or None


def check_skill_name(
    name: str,
    *,
    limits: Limits = DEFAULT_LIMITS,
    field: str = "name",
    place: Place = NOWHERE,
) -> list[Diagnostic]:
    """Name every rule that a skill name breaks; lengths are code points.

    Names that other platforms reserve are legal here and get a warning.
    """
    if not name.strip():
        return [error("name_missing", "The skill has no name.", place=place, field=field)]
    reserved = any(word in name for word in _RESERVED_ELSEWHERE)
    if len(name) <= limits.name and _NAME.fullmatch(name) and not reserved:
        return []
    suggestion = suggest_name(name, limits=limits)
    hint = f"Use {suggestion}." if suggestion and suggestion != name else None
    broken: list[tuple[str, str]] = []
    if odd := sorted(set(_NOT_IN_NAMES.findall(name))):
        listed = ", ".join(shown(character) for character in odd[:8])
        message = f"The name {shown(name)} has {listed}: only a-z, 0-9 and hyphens are allowed."
        broken.append(("name_characters", message))
    if name.startswith("-") or name.endswith("-"):
        broken.append(("name_hyphens", f"The name {shown(name)} starts or ends with a hyphen."))
    if "--" in name:
        broken.append(("name_hyphens", f"The name {shown(name)} has two hyphens in a row."))
    found = [error(code, text, place=place, field=field, hint=hint) for code, text in broken]
    if (length := len(name)) > limits.name:
        text = f"The name has {length} characters; at most {limits.name} are allowed."
        long = error("name_too_long", text, place=place, field=field, hint=hint)
        found.append(replace(long, limit=limits.name, actual=length))
    if any(word in _RESERVED_ELSEWHERE for word in name.split("-")):
        text = (
            f"Platforms that reserve a word of the name {shown(name)} refuse it; this one does not."
        )
        found.append(warning("name_reserved", text, place=place, field=field))
    return found


def check_path(path: str, limits: Limits = DEFAULT_LIMITS) -> list[Diagnostic]:
    """Name every rule that a file's path inside its skill breaks.

    Length is UTF-8 bytes, depth counts segments, the file's own included.
    """
    found = check_path_shape(path)
    size = len(path.encode("utf-8", "surrogatepass"))
    place = Place(file=shown_path(path))
    if size > limits.path_bytes:
        text = f"The path has {size} bytes; at most {limits.path_bytes} are allowed."
        found.append(
            error("path_too_long", text, place=place, limit=limits.path_bytes, actual=size)
        )
    depth = path.count("/") + 1
    if depth > limits.path_depth:
        text = f"The path has {depth} segments; at most {limits.path_depth} are allowed."
        found.append(
            error("path_too_deep", text, place=place, limit=limits.path_depth, actual=depth)
        )
    return found


def check_path_shape(path: str) -> list[Diagnostic]:
    """Name the rules that a path breaks whatever the limits are: what leaves the skill, or may."""
    if not path:
        return [error("path_empty", "A file has an empty path.")]
    segments = path.split("/")
    broken: list[tuple[str, str, str | None]] = []
    if path.startswith("/") or _DRIVE.match(path):
        broken.append(("path_absolute", "is absolute", "Use a path relative to the skill."))
    if ".." in segments:
        broken.append(("path_traversal", "has a `..` segment", "Keep every file inside the skill."))
    if "." in segments or "" in segments[1 if path.startswith("/") else 0 :]:
        broken.append(("path_segment", "has a `.` or an empty segment", None))
    if "\\" in path:
        broken.append(("path_backslash", "has a backslash", "Separate folders with `/`."))
    if _CONTROL.search(path):
        broken.append(("path_control", "has a control character or a line break", None))
    if _SURROGATE.search(path):
        broken.append(("path_not_utf8", "cannot be written in UTF-8", "Rename the file."))
    if not unicodedata.is_normalized("NFC", path):
        hint = f"Rename it to {shown(unicodedata.normalize('NFC', path), 255)} (composed letters)."
        broken.append(("path_not_nfc", "is not in Unicode form NFC", hint))
    place = Place(file=shown_path(path))
    return [
        error(code, f"The path {shown(path)} {text}.", place=place, hint=hint)
        for code, text, hint in broken
    ]


def shown_path(path: str) -> str:
    """Return the path as a diagnostic's ``file`` holds it: whole, unless it is absurdly long."""
    visible = shown(path, 300)[1:-1]
    return path if visible == path else visible


def clean_path(path: str | None) -> str:
    """Read the ``path`` of a request, decoded once by the caller, as a path inside a skill.

    None, the empty text and ``SKILL.md`` all mean SKILL.md. One ``./`` in front says nothing more:
    the texts of skills write paths like that.

    Raises:
        PathInvalid: it leaves the skill or is no plain relative path, also after one more
            round of percent-decoding, so that no later reader can be tricked into one.
        FileNotFound: it names the version sidecar, which is no file of the skill.
    """
    if path is not None and len(path) > len("./"):
        path = path.removeprefix("./")
    if path is None or path in {"", SKILL_MD}:
        return SKILL_MD
    for candidate in (path, unquote(path)):
        if broken := check_path_shape(candidate):
            raise PathInvalid(f"{broken[0].message} Ask for one of the skill's listed files.")
    if is_sidecar(path):
        raise FileNotFound(f"The skill has no file {path}.")
    return path


def is_sidecar(path: str) -> bool:
    """Tell whether a path is of a version sidecar, at any depth.

    Policies of S3 protect ``.version`` by a pattern that cannot tell a skill's root from what lies
    below it, so that a skill has no file of that name anywhere.
    """
    return path.rsplit("/", 1)[-1] == VERSION_SIDECAR


def find_collisions(paths: Iterable[str]) -> list[Diagnostic]:
    """Name every pair of paths that some file system cannot hold side by side.

    Compared without letter case and in one Unicode form: file against file, and file against
    the folders of other files.
    """
    found: list[Diagnostic] = []
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    for path in paths:
        key = _folded(path)
        if (other := files.get(key)) is not None:
            same = other == path
            code, how = (
                ("path_duplicate", "are the same path")
                if same
                else ("path_collision", "differ in letter case or Unicode form only")
            )
            found.append(_clash(code, path, other, how))
        files.setdefault(key, path)
        parts = key.split("/")
        # A path deeper than this is refused elsewhere; its prefixes would be quadratic in memory.
        for end in range(1, min(len(parts), _DEEPEST)):
            folders.setdefault("/".join(parts[:end]), path)
    for key in files.keys() & folders.keys():
        how = "make one name a file and a folder"
        found.append(_clash("path_file_and_directory", files[key], folders[key], how))
    return sorted(found, key=lambda diagnostic: (diagnostic.file or "", diagnostic.code))


def _folded(path: str) -> str:
    folded = unicodedata.normalize("NFC", path).casefold()
    return unicodedata.normalize("NFC", folded)


def _clash(code: str, path: str, other: str, how: str) -> Diagnostic:
    message = f"{shown(path)} and {shown(other)} {how}."
    return error(code, message, place=Place(file=shown_path(path)), hint="Rename one of them.")
