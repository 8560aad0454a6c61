"""Arguments and options that several commands take, and how a version is written."""

from __future__ import annotations

from typing import Annotated

import typer

from skill_registry.agent.requests import NO_PRECONDITION, Precondition
from skill_registry_cli.completing import skill_names
from skill_registry_cli.session import Session

Name = Annotated[str, typer.Argument(metavar="NAME", help="The skill.", autocompletion=skill_names)]


def _or_of_the_program(context: typer.Context, value: bool) -> bool:
    # Typed before the command or behind it: both mean the same.
    session: Session = context.find_root().obj
    return value or session.as_json


AsJson = Annotated[
    bool, typer.Option("--json", callback=_or_of_the_program, help="Print one JSON document.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be done, and change nothing.")
]
ReadScope = Annotated[str | None, typer.Option(help="Only the skill of this scope.")]
WriteScope = Annotated[
    str | None, typer.Option(help="The skill's scope; without it, your own default scope.")
]
Reason = Annotated[str | None, typer.Option("--reason", help="Why; kept with the change.")]
IfVersion = Annotated[
    int | None,
    typer.Option(
        "--if-version", metavar="N", min=1, help="Only where this is the current version."
    ),
]


def precondition(version: int | None) -> Precondition:
    """Return what ``--if-version`` asks for."""
    return NO_PRECONDITION if version is None else Precondition(version=version)


def version_of(text: str) -> int | str:
    """Read a version as it is typed: a number, or ``@`` and a label.

    Raises:
        typer.BadParameter: It is neither.
    """
    if text.startswith("@") and len(text) > 1:
        return text
    if text.isascii() and text.isdecimal() and int(text) and len(text) < 10:
        return int(text)
    raise typer.BadParameter("a version is a number, or @ and a label.")
