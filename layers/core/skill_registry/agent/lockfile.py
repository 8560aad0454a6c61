"""Pins and the lock file: which versions a run is given, so that it can be repeated.

A lock holds all that a model is shown and can load: names, versions, descriptions, and a digest of
every skill's files. A run under one sees the same prompt and the same bytes, or is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from skill_registry.agent.answers import ListedSkill
from skill_registry.agent.fields import Fields
from skill_registry.agent.problems import AnswerInvalid, DigestMismatch
from skill_registry.errors import RequestInvalid
from skill_registry.spec.names import is_directory_name

if TYPE_CHECKING:
    import os

    from skill_registry.agent.answers import Version

_SCHEMA = 1
_SHA256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class LockedSkill:
    """A skill as a run was given it. ``sha256`` is ``spec.archive``'s ``content_digest``, hex."""

    name: str
    scope: str
    version: Version
    description: str
    sha256: str

    def listed(self) -> ListedSkill:
        """Return it as a listing does."""
        return ListedSkill(self.name, self.scope, self.version, self.description, {})

    def check(self, sha256: str) -> None:
        """Return where the digest is the locked one.

        Raises:
            DigestMismatch: It is another.
        """
        if sha256 != self.sha256:
            raise DigestMismatch(
                f"The files of `{self.name}` are not those of the lock file: {sha256[:12]} and not"
                f" {self.sha256[:12]}. It cannot be loaded in this run."
            )


@dataclass(frozen=True, slots=True)
class Lock:
    """The skills of a run, in the order of its listing."""

    skills: tuple[LockedSkill, ...] = ()

    def get(self, name: str) -> LockedSkill | None:
        """Return what is locked under a name."""
        return next((skill for skill in self.skills if skill.name == name), None)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the lock file. Equal locks give equal bytes. Raises OSError."""
        document = {"schema": _SCHEMA, "skills": [asdict(skill) for skill in self.skills]}
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        Path(path).write_text(text, encoding="utf-8")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Lock:
        """Read a lock file.

        Raises:
            RequestInvalid: ``lock_invalid``: it is none, or one of a newer toolkit.
            OSError: There is none, or it cannot be read.
        """
        try:
            document = json.loads(Path(path).read_bytes())
            if not isinstance(document, dict) or document.get("schema") != _SCHEMA:
                raise ValueError(f"the schema is not {_SCHEMA}")
            skills = tuple(_locked(item) for item in Fields(document).items("skills"))
            if len({skill.name for skill in skills}) < len(skills):
                raise ValueError("a name comes twice")
            return cls(skills)
        except (ValueError, RecursionError, AnswerInvalid) as error:
            why = error.message if isinstance(error, AnswerInvalid) else str(error)
            raise RequestInvalid(
                f"{Path(path).name} is no lock file of skills that this version reads: {why}.",
                code="lock_invalid",
            ) from error


def read_pins(pins: object) -> dict[str, int | str]:
    """Check what somebody pins: a version number, or a label with ``@`` before it.

    Raises:
        RequestInvalid: ``pin_invalid``: one is neither.
    """
    if not isinstance(pins, Mapping) or not all(isinstance(name, str) for name in pins):
        raise RequestInvalid("Pins are versions by the names of skills.", code="pin_invalid")
    for name, version in pins.items():
        number = isinstance(version, int) and not isinstance(version, bool) and version > 0
        if not number and not (isinstance(version, str) and version[:1] == "@" and version[1:]):
            raise RequestInvalid(
                f"Pin `{name}` to a version number or to a label such as @stable, not to"
                f" {version!r}.",
                code="pin_invalid",
            )
    return dict(pins)


def _locked(item: Fields) -> LockedSkill:
    name, version, sha256 = item.text("name"), item.version("version"), item.text("sha256")
    if not is_directory_name(name):
        raise ValueError("a name is none of a skill")
    if not _SHA256.fullmatch(sha256):
        raise ValueError(f"the digest of {name} is none")
    if str(version)[:1] in ("@", "-", "0"):
        raise ValueError(f"the version of {name} is none")
    return LockedSkill(
        name=name,
        scope=item.text("scope"),
        version=version,
        description=item.text("description"),
        sha256=sha256,
    )
