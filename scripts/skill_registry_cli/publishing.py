"""Commands that change the registry."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skill_registry.agent.packing import pack
from skill_registry.errors import RegistryError
from skill_registry_cli.failures import exit_code
from skill_registry_cli.options import AsJson, IfVersion, precondition
from skill_registry_cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skill_registry.agent.answers import Published
    from skill_registry.agent.packing import Packed
    from skill_registry.spec.model import Diagnostic
    from skill_registry_cli.terminal import Terminal


def push(
    context: typer.Context,
    path: Annotated[
        Path,
        typer.Argument(
            exists=True,
            metavar="PATH",
            help="The skill's directory, or that directory as a zip file.",
        ),
    ],
    scope: Annotated[
        str | None, typer.Option(help="Where to publish; without it, your own default scope.")
    ] = None,
    message: Annotated[str | None, typer.Option("--message", "-m", help="What changed.")] = None,
    if_version: IfVersion = None,
    as_json: AsJson = False,
) -> None:
    """Publish a skill as its next version.

    The skill is the one that SKILL.md names. What .gitignore and .ignore leave out stays here, as
    do .git, node_modules, __pycache__, .DS_Store and links.
    """
    session = Session.of(context)
    terminal = session.terminal(as_json=as_json)
    # Editors jump to a place that is told from where the user stands.
    prefix = f"{os.path.normpath(path)}/" if path.is_dir() else ""
    packed: Packed | None = None
    try:
        packed = pack(path)
        with (
            session.client() as client,
            terminal.progress(packed.name, len(packed.archive)) as progress,
        ):
            published = client.publish(
                packed.name,
                packed.archive,
                message=message,
                scope=scope,
                precondition=precondition(if_version),
                progress=progress,
            )
    except RegistryError as error:
        terminal.refusal(error, prefix, packed.diagnostics if packed else ())
        raise typer.Exit(exit_code(error)) from error
    _tell(terminal, published, (*packed.diagnostics, *published.diagnostics), prefix)


def _tell(
    terminal: Terminal, published: Published, diagnostics: Sequence[Diagnostic], prefix: str
) -> None:
    if terminal.as_json:
        found = [each.to_dict() for each in diagnostics]
        terminal.document({**published.answer, "diagnostics": found})
        return
    terminal.diagnostics(diagnostics, prefix)
    same = " (the same files as the version before)" if published.unchanged else ""
    terminal.say(f"Published {published.name} v:{published.version} in {published.scope}{same}.")
