"""The entry point: global options, the commands, and how a run ends.

Exit codes: 0 done, 1 refused, 2 wrong usage or no registry that answers, 130 Ctrl-C.
"""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from skill_registry import __version__
from skill_registry_cli import (
    access,
    copies,
    history,
    login,
    maintaining,
    operating,
    publishing,
    reading,
    skeleton,
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
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
# Panels of the help, in the order in which a newcomer needs them.
_PUBLISH = "Publish"
_READ = "Read"
_HISTORY = "History"
_OPERATE = "Operate"
_VENDOR = "Other people's skills"
_SET_UP = "Set up"

app.command(rich_help_panel=_PUBLISH)(skeleton.new)
app.command(rich_help_panel=_PUBLISH)(validating.validate)
app.command(rich_help_panel=_PUBLISH)(publishing.push)
app.command(rich_help_panel=_PUBLISH)(history.copy)
app.command(rich_help_panel=_PUBLISH)(history.delete)
app.command("list", rich_help_panel=_READ)(reading.list_skills)
app.command(rich_help_panel=_READ)(reading.view)
app.command(rich_help_panel=_READ)(copies.pull)
app.command(rich_help_panel=_READ)(copies.check)
app.command(rich_help_panel=_READ)(operating.hide)
app.command(rich_help_panel=_HISTORY)(history.versions)
app.command(rich_help_panel=_HISTORY)(history.diff)
app.command(rich_help_panel=_HISTORY)(history.rollback)
app.command(rich_help_panel=_HISTORY)(operating.label)
app.command(rich_help_panel=_OPERATE)(operating.enable)
app.command(rich_help_panel=_OPERATE)(operating.disable)
app.command(rich_help_panel=_OPERATE)(operating.seal)
app.command(rich_help_panel=_OPERATE)(operating.purge)
app.add_typer(access.access, name="access", rich_help_panel=_OPERATE)
app.command(rich_help_panel=_OPERATE)(maintaining.reconcile)
app.command(rich_help_panel=_OPERATE)(maintaining.doctor)
app.add_typer(maintaining.catalog, name="catalog", rich_help_panel=_OPERATE)
app.add_typer(vendor.vendor, name="vendor", rich_help_panel=_VENDOR)
app.command(rich_help_panel=_SET_UP)(login.login)
app.command(rich_help_panel=_SET_UP)(login.logout)
app.add_typer(login.profile, name="profile", rich_help_panel=_SET_UP)


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
    """Publish, read and look after Agent Skills in a registry. Start with: skillctl list

    Each command has a help of its own: skillctl push --help

    Exit codes: 0 done, 1 refused, 2 wrong usage or no registry that answers, 130 Ctrl-C.
    """
    # Options that come before the command are its, so they are looked at together.
    url, profile = chosen(context)
    context.obj = Session(url, read_claims(claims), as_json, profile)


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; nothing is raised but by a fault in here."""
    # Looked for before the parser does, because what it refuses is a document too.
    terminal = Terminal(sys.stdout, sys.stderr, as_json="--json" in arguments)
    if not arguments or {"-h", "--help"} & set(arguments):
        _colour_help()
    try:
        result = app(
            args=list(arguments) or ["--help"], prog_name="skillctl", standalone_mode=False
        )
    except typer.TyperException as error:
        terminal.failure("usage", error.format_message())
        if not terminal.as_json:
            at = getattr(error, "ctx", None)
            terminal.notice(f"Try `{at.command_path if at else 'skillctl'} --help`.")
        return UNUSABLE
    except typer.Abort:
        terminal.failure("aborted", "Stopped. Nothing is done but what was reported before.")
        return REFUSED
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        terminal.failure("file_unreadable", f"{where}{error.strerror or error}.")
        return UNUSABLE
    except SystemExit as ended:
        # So typer ends a run that a shell makes to complete a line.
        return ended.code if isinstance(ended.code, int) else DONE
    return result if isinstance(result, int) else DONE


def _colour_help() -> None:
    """Let typer colour a help on terminals alone; it would also where some CI's variable is set."""
    # Only here, because nothing else needs what this imports.
    from typer import rich_utils

    rich_utils.FORCE_TERMINAL = sys.stdout.isatty()


def run() -> None:
    """Run the command line of this process and end it with the command's exit code."""
    # A shell may have closed them; what is written then is for nobody.
    sys.stdout = sys.stdout or io.StringIO()
    sys.stderr = sys.stderr or io.StringIO()
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows its number, and the run goes on.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(main(sys.argv[1:]))
