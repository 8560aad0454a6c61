"""Commands that keep where a registry is and who calls it: login, logout and profile."""

from __future__ import annotations

import getpass
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from skill_registry.agent.client import RegistryClient
from skill_registry.agent.requests import registry_url
from skill_registry.errors import RegistryError, RequestInvalid
from skill_registry_cli import config_file, credentials, profiles
from skill_registry_cli.failures import exit_code
from skill_registry_cli.options import AsJson, DryRun
from skill_registry_cli.profiles import Auth, Config, Profile
from skill_registry_cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from skill_registry_cli.terminal import Terminal

profile = typer.Typer(help="List and choose the registries that login keeps.")

# Bytes. Servers take no header of such a length.
_MOST_TOKEN_BYTES = 64 * 1024
_HERE = ("127.0.0.1", "localhost", "::1")

ProfileName = Annotated[str, typer.Argument(metavar="NAME", help="The profile.")]
AnyProfile = Annotated[
    str | None, typer.Argument(metavar="NAME", help="The profile; else the one in use.")
]
NewName = Annotated[
    str | None,
    typer.Option("--profile", metavar="NAME", help="What to call it; else by its host."),
]
ByIam = Annotated[
    bool, typer.Option("--iam", help="Sign requests with the AWS credentials of this machine.")
]
AwsProfile = Annotated[
    str | None,
    typer.Option("--aws-profile", metavar="PROFILE", help="Sign with this AWS profile (--iam)."),
]
Region = Annotated[
    str | None,
    typer.Option(
        "--region",
        metavar="REGION",
        help="The registry's AWS region, where its address does not tell it (--iam).",
    ),
]
TokenStdin = Annotated[
    bool, typer.Option("--token-stdin", help="Read a bearer token from stdin and keep it.")
]
TokenCommandLine = Annotated[
    str | None,
    typer.Option(
        "--token-command",
        metavar="COMMAND",
        help="Keep a command line that prints a bearer token. It is run, without a shell,"
        " whenever one is needed.",
    ),
]
NoCheck = Annotated[bool, typer.Option("--no-check", help="Keep it without asking the registry.")]


def login(
    context: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="The registry's address.")],
    name: NewName = None,
    iam: ByIam = False,
    aws_profile: AwsProfile = None,
    region: Region = None,
    token_stdin: TokenStdin = False,
    token_command: TokenCommandLine = None,
    no_check: NoCheck = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Keep a registry's address and how to prove who you are, and use it from now on.

    On a terminal it asks for a bearer token, and does not show it; without one there is no
    authentication. The registry is asked for one skill first: nothing is kept of what it refuses.
    The file is yours alone to read, and credentials go to this address only.

    Example: skillctl login https://registry.example.com --iam --aws-profile payments
    """
    session = Session.of(context)
    with _telling(session, as_json=as_json) as terminal:
        # First, so that nobody types a token for a file that cannot be used.
        config = config_file.load(session.config_path)
        address = registry_url(url)
        chosen = _named(config, session.profile if name is None else name, address)
        proof = _proof(iam or (aws_profile, region) != (None, None), token_stdin, token_command)
        made = Profile(chosen, address, proof[0], aws_profile, region, *proof[1:])
        auth = credentials.of_profile(made)
        if not no_check:
            with RegistryClient(address, auth=auth, claims=session.claims) as client:
                client.list_skills(limit=1)
        _change(session, lambda config: config.including(made), dry_run=dry_run)
        document = {"profile": made.shown(), "default": True, "checked": not no_check}
        terminal.done(
            {**document, **_marks(session, dry_run)},
            f"{'Would keep' if dry_run else 'Kept'} profile {chosen}: {address},"
            f" {_described(made)}. It is the one in use.",
        )
        _warn(session, terminal, made)


def logout(
    context: typer.Context,
    name: AnyProfile = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Forget a registry and its credentials on this machine.

    The registry is not told. A token that others may have seen has to be revoked where it is from.
    """
    session = Session.of(context)
    with _telling(session, as_json=as_json) as terminal:
        config = config_file.load(session.config_path)
        gone = _asked_for(session, config, name)
        now = _change(session, lambda config: config.without(gone.name), dry_run=dry_run)
        left = "" if now.default or not now.profiles else " No profile is in use: profile use NAME."
        terminal.done(
            {"profile": gone.shown(), "default": now.default, **_marks(session, dry_run)},
            f"{'Would forget' if dry_run else 'Forgot'} profile {gone.name} ({gone.url}).{left}",
        )


@profile.command("list")
def list_profiles(context: typer.Context, as_json: AsJson = False) -> None:
    """List the profiles: name, address, authentication, and which one is the default."""
    session = Session.of(context)
    with _telling(session, as_json=as_json) as terminal:
        config = config_file.load(session.config_path)
        found = config.profiles.values()
        if as_json:
            shown = [{**each.shown(), "default": each.name == config.default} for each in found]
            terminal.document({"file": str(session.config_path), "profiles": shown})
            return
        if not found:
            terminal.notice("There is no profile yet: skillctl login URL.")
        terminal.table(
            ("profile", "address", "authentication", ""),
            [
                (each.name, each.url, _described(each), "default" * (each.name == config.default))
                for each in found
            ],
        )


@profile.command()
def use(
    context: typer.Context, name: ProfileName, dry_run: DryRun = False, as_json: AsJson = False
) -> None:
    """Make a profile the default one, which is used where nothing else is asked for."""
    session = Session.of(context)
    with _telling(session, as_json=as_json) as terminal:
        now = _change(session, lambda config: config.using(name), dry_run=dry_run)
        made = now.profile(name)
        terminal.done(
            {"profile": made.shown(), "default": True, **_marks(session, dry_run)},
            f"{'Would use' if dry_run else 'Using'} profile {name} ({made.url}) from now on.",
        )
        _warn(session, terminal, made)


@profile.command()
def show(context: typer.Context, name: AnyProfile = None, as_json: AsJson = False) -> None:
    """Show a profile and where the file is that holds it. A token is never shown."""
    session = Session.of(context)
    with _telling(session, as_json=as_json) as terminal:
        config = config_file.load(session.config_path)
        found = config.profile(name) if name is not None else session.profile_in_use(config)
        if as_json:
            shown = found.shown() if found is not None else None
            where = {"file": str(session.config_path), "default": config.default}
            terminal.document({**where, "profile": shown})
            return
        rows = [("file", str(session.config_path))]
        if found is None:
            terminal.notice("No profile is in use: skillctl login URL, or profile use NAME.")
        else:
            rows += [("profile", found.name), ("address", found.url)]
            rows += [("authentication", _described(found))]
        terminal.table(("", ""), rows)
        if session.url is not None:
            terminal.notice(f"Used now is {session.url}, by --url or SKILL_REGISTRY_URL.")


@contextmanager
def _telling(session: Session, *, as_json: bool) -> Iterator[Terminal]:
    """Give this process's output; a refusal is printed and ends the run."""
    terminal = session.terminal(as_json=as_json)
    try:
        yield terminal
    except RegistryError as error:
        terminal.refusal(error)
        raise typer.Exit(exit_code(error)) from error


def _proof(
    iam: bool, token_stdin: bool, token_command: str | None
) -> tuple[Auth, str | None, str | None]:
    """Return the authentication that is asked for, the token and the command that prints one."""
    if iam + token_stdin + (token_command is not None) > 1:
        raise typer.BadParameter(
            "choose one of --iam (with --aws-profile and --region), --token-stdin, --token-command."
        )
    if iam:
        return Auth.IAM, None, None
    if token_command is not None:
        return Auth.TOKEN, None, token_command
    if token_stdin:
        # Another coding than a header's is told as such, not as a fault of this program.
        data = sys.stdin.buffer.read(_MOST_TOKEN_BYTES)
        return Auth.TOKEN, data.decode("ascii", "replace").strip(), None
    token = _typed() if sys.stdin.isatty() else ""
    return (Auth.TOKEN, token, None) if token else (Auth.NONE, None, None)


def _typed() -> str:
    try:
        return getpass.getpass("Bearer token (empty: no authentication): ", sys.stderr).strip()
    except (EOFError, KeyboardInterrupt) as error:
        raise typer.Abort from error


def _named(config: Config, name: str | None, url: str) -> str:
    """Return what to call a registry. By its host, another one of that host is not replaced."""
    if name is not None:
        return profiles.named(name)
    chosen = profiles.named(urlsplit(url).netloc.strip("[]").replace("]:", ":") or "default")
    if chosen in config.profiles and config.profiles[chosen].url != url:
        raise RequestInvalid(
            f"Profile {chosen} is of another address ({config.profiles[chosen].url}): name this"
            " one with --profile.",
            code="profile_exists",
        )
    return chosen


def _asked_for(session: Session, config: Config, name: str | None) -> Profile:
    found = config.profile(name) if name is not None else session.profile_in_use(config)
    if found is None:
        raise RequestInvalid("No profile is in use: name one.", code="profile_unknown")
    return found


def _change(session: Session, edit: Callable[[Config], Config], *, dry_run: bool) -> Config:
    if dry_run:
        return edit(config_file.load(session.config_path))
    return config_file.change(session.config_path, edit)


def _marks(session: Session, dry_run: bool) -> dict[str, object]:
    return {"file": str(session.config_path), "dry_run": dry_run}


def _described(profile: Profile) -> str:
    if profile.auth is Auth.NONE:
        return "no authentication"
    if profile.auth is Auth.TOKEN:
        by = "" if profile.token_command is None else f" printed by {profile.program()}"
        return f"bearer token{by}"
    parts = (("AWS profile", profile.aws_profile), ("region", profile.region))
    return ", ".join(["IAM", *(f"{what} {value}" for what, value in parts if value)])


def _warn(session: Session, terminal: Terminal, profile: Profile) -> None:
    """Say what a user would else wonder about later."""
    split = urlsplit(profile.url)
    if profile.auth is Auth.TOKEN and split.scheme == "http" and split.hostname not in _HERE:
        terminal.notice("Over http anybody on the way can read the token: use https.")
    if session.url is not None:
        terminal.notice("--url or SKILL_REGISTRY_URL comes before this profile while it is set.")
    elif os.environ.get("SKILL_REGISTRY_PROFILE") not in (None, "", profile.name):
        terminal.notice("SKILL_REGISTRY_PROFILE comes before this profile while it is set.")
