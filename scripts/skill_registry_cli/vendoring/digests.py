"""What is held against what: the files of a vendored skill, and the two digests of them.

``bodySha256`` is that of seed 2: over the body of SKILL.md without margins, so that a line end more
or less is no drift. ``filesSha256`` is over all files, by path, mode and digest; there SKILL.md
counts as its upstream's frontmatter, which what a sync writes is no part of, and the body's digest.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skill_registry.spec.archive import digest_of
from skill_registry.spec.fences import body_of, split
from skill_registry.spec.model import SKILL_MD

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from skill_registry.spec.model import SkillFile

# Keys of the frontmatter that are ours in a vendored skill.
OURS = ("agents", "source", "upstream")
# What the last of them has.
UPSTREAM = ("repo", "commit", "path", "bodySha256", "filesSha256")
# What JavaScript's trim takes away, in which seed 2 is written; Python's strip takes others.
_MARGIN = (
    "\t\n\v\f\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_OUR_KEY = re.compile(rb"(['\"]?)(?:" + "|".join(OURS).encode() + rb")\1[ \t]*:(?:\s|\Z)")
# Goes on with the value of the key above: indented, or a list that is not indented further.
_CONTINUED = re.compile(rb"[ \t]+\S|-(?:\s|\Z)")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A file as it is compared: ``mode`` is ``0644`` or ``0755``, ``sha256`` hex."""

    mode: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Digests:
    """The fingerprint of each file, and the digest of the body, hex."""

    files: Mapping[str, Fingerprint]
    body: str


def digest_of_files(files: Mapping[str, Fingerprint]) -> str:
    """Return the digest over a whole file set."""
    return digest_of((path, one.mode, one.sha256) for path, one in files.items())


def digests(files: Iterable[SkillFile]) -> Digests:
    """Return the digests of a skill's files; upstream's and the tree's have the same.

    A skill without SKILL.md has the digest of an empty body.
    """
    found: dict[str, Fingerprint] = {}
    body = _hex(b"")
    for file in files:
        counted = file.data
        if file.path == SKILL_MD:
            body = _hex(body_of(file.data).strip(_MARGIN).encode())
            counted = _with_body(file.data, body)
        found[file.path] = Fingerprint(file.mode, _hex(counted))
    return Digests(found, body)


def has_frontmatter_of(skill_md: bytes, upstream: Fingerprint, body: str) -> bool:
    """Tell whether the frontmatter is the upstream's, whatever became of the body.

    Args:
        skill_md: The bytes of a file.
        upstream: What its upstream's fingerprint is.
        body: The digest of its upstream's body.
    """
    return _hex(_with_body(skill_md, body)) == upstream.sha256


def _with_body(skill_md: bytes, body: str) -> bytes:
    """Return what is digested of a SKILL.md; by parts, so that one can be told from the other."""
    return upstream_block(skill_md) + b"---\n" + body.encode()


def upstream_block(skill_md: bytes) -> bytes:
    """Return the lines between the fences without the keys that are ours, byte for byte."""
    cut = split(skill_md)
    kept: list[bytes] = []
    held: list[bytes] = []
    dropping = False
    for line in _LINE.findall(skill_md[cut.start : cut.end]) if cut.fault is None else ():
        if dropping and not line.strip():
            # Whose blank lines these are, the next line says.
            held.append(line)
        elif dropping and _CONTINUED.match(line):
            held.clear()
        else:
            dropping = _OUR_KEY.match(line) is not None
            kept += held if not dropping else []
            held.clear()
            kept += [] if dropping else [line]
    return b"".join(kept + held)


def _hex(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
