"""``skillctl validate``: what a publish would say, on this machine alone."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skill_registry.agent.packing import pack, pack_skill_md
from skill_registry.errors import SkillInvalid
from skill_registry.spec.archive import read_archive
from skill_registry.spec.model import SKILL_MD
from skill_registry.spec.validation import check_contents
from skill_registry_cli.failures import REFUSED
from skill_registry_cli.options import AsJson
from skill_registry_cli.session import Session

if TYPE_CHECKING:
    from skill_registry.spec.model import Diagnostic


@dataclass(frozen=True, slots=True)
class Validation:
    """What was found.

    Attributes:
        name: The skill that a publish would be of; None where it would not come that far.
        refusal: Why a publish would refuse it, in one sentence; None where it would not.
    """

    name: str | None
    diagnostics: tuple[Diagnostic, ...]
    refusal: str | None = None

    @property
    def valid(self) -> bool:
        """Whether a publish would take it."""
        return self.refusal is None

    def document(self) -> dict[str, Any]:
        """Return the form in which ``POST /validate`` answers."""
        found = [each.to_dict() for each in self.diagnostics]
        return {"valid": self.valid, "name": self.name, "diagnostics": found}


def check(path: Path, name: str | None = None) -> Validation:
    """Check what a push of the path would send, by the rules of a publish and its default limits.

    Args:
        path: A directory, a zip file or a SKILL.md, which is then a skill of one file.
        name: What the skill is to be published as; None takes what a push would.

    Raises:
        OSError: It cannot be read.
    """
    try:
        packed = pack_skill_md(path) if _is_skill_md(path) else pack(path)
    except SkillInvalid as refused:
        return Validation(name, refused.diagnostics, refused.message)
    target = name if name is not None else packed.name
    report = check_contents(read_archive(packed.archive), name=target)
    found = (*packed.diagnostics, *report.diagnostics)
    return Validation(target, found, None if report.ok else f"`{target}` breaks rules.")


def validate(
    context: typer.Context,
    path: Annotated[
        Path,
        typer.Argument(
            exists=True,
            metavar="PATH",
            help="The skill's directory, that directory as a zip file, or a SKILL.md alone.",
        ),
    ],
    name: Annotated[
        str | None,
        typer.Option(help="What it is to be published as; without it, what SKILL.md says."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a skill as a publish does, without a registry.

    The rules and their messages are those of a publish; the limits are a registry's defaults.
    """
    terminal = Session.of(context).terminal(as_json=as_json)
    checked = check(path, name)
    if as_json:
        terminal.document(checked.document())
    elif checked.refusal is None:
        terminal.diagnostics(checked.diagnostics, _prefix(path))
        terminal.say(f"{checked.name} is valid.")
    else:
        terminal.refusal(SkillInvalid(checked.refusal, checked.diagnostics), _prefix(path))
    if not checked.valid:
        raise typer.Exit(REFUSED)


def _is_skill_md(path: Path) -> bool:
    return path.is_file() and path.name.lower() == SKILL_MD.lower()


def _prefix(path: Path) -> str:
    """Return what leads from where the user stands to the files that diagnostics name."""
    folder = path if path.is_dir() else path.parent if _is_skill_md(path) else None
    return f"{os.path.normpath(folder)}/" if folder is not None else ""
