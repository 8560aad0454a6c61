"""The entry point: global options, the commands, and how a run ends.

Exit codes: 0 done, 1 refused, 2 wrong usage or no registry that answers.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from skill_registry import __version__
from skill_registry_cli import (
    access,
    copies,
    history,
    login,
    operating,
    publishing,
    reading,
    validating,
    vendor,
)
from skill_registry_cli.failures import DONE, REFUSED, UNUSABLE
from skill_registry_cli.session import Session, chosen, read_claims
from skill_registry_cli.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

app = typer.Typer(
    name="skillctl",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(publishing.push)
app.command()(copies.pull)
app.command()(validating.validate)
app.command("list")(reading.list_skills)
app.command()(reading.view)
app.command()(copies.check)
app.command()(history.versions)
app.command()(history.diff)
app.command()(history.rollback)
app.command()(history.delete)
app.command()(operating.label)
app.command()(operating.enable)
app.command()(operating.disable)
app.command()(operating.hide)
app.command()(operating.seal)
app.command()(operating.purge)
app.command()(operating.reconcile)
app.command()(operating.doctor)
app.add_typer(operating.catalog, name="catalog")
app.add_typer(access.access, name="access")
app.add_typer(vendor.vendor, name="vendor")
app.command()(login.login)
app.command()(login.logout)
app.add_typer(login.profile, name="profile")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"skillctl {__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    url: Annotated[
        str | None,
        typer.Option(
            envvar="SKILL_REGISTRY_URL",
            help="The registry's address; else that of the profile, else http://127.0.0.1:8080.",
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            envvar="SKILL_REGISTRY_PROFILE",
            metavar="NAME",
            help="A registry that login keeps, with its credentials; else the default one.",
        ),
    ] = None,
    claims: Annotated[
        str | None,
        typer.Option(
            metavar="JSON",
            help="Who to be, as JWT claims. For the local server only; a deployed registry does"
            " not look at it.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document, as behind a command.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Publish, check, list and view Agent Skills, and look after a registry of them.

    Exit codes: 0 done, 1 refused, 2 wrong usage or no registry that answers.
    """
    # Options that come before the command are its, so they are looked at together.
    url, profile = chosen(context)
    context.obj = Session(url, read_claims(claims), as_json, profile)


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; nothing is raised but by a fault in here."""
    # Looked for before the parser does, because what it refuses is a document too.
    terminal = Terminal(sys.stdout, sys.stderr, as_json="--json" in arguments)
    try:
        result = app(
            args=list(arguments) or ["--help"], prog_name="skillctl", standalone_mode=False
        )
    except typer.TyperException as error:
        terminal.failure("usage", error.format_message())
        if not terminal.as_json:
            terminal.notice("Try `skillctl --help`.")
        return UNUSABLE
    except typer.Abort:
        terminal.failure("aborted", "Nothing was done.")
        return REFUSED
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        terminal.failure("file_unreadable", f"{where}{error.strerror or error}.")
        return UNUSABLE
    return result if isinstance(result, int) else DONE


def run() -> None:
    """Run the command line of this process and end it with the command's exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows its number, and the run goes on.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(main(sys.argv[1:]))
