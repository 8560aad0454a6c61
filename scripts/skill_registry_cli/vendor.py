"""``skillctl vendor``: other people's skills, pinned to commits; ``vendoring/`` does the work."""

from __future__ import annotations

import os
import re
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from skill_registry.agent.problems import RegistryProblem
from skill_registry.agent.source import SkillQuery
from skill_registry.errors import RegistryError, RequestInvalid
from skill_registry_cli.failures import DONE, INTERRUPTED, REFUSED, exit_code
from skill_registry_cli.options import AsJson, DryRun, ReadScope
from skill_registry_cli.parallel import AT_ONCE, side_by_side
from skill_registry_cli.session import Session
from skill_registry_cli.terminal import counted
from skill_registry_cli.vendoring.checking import check as check_tree
from skill_registry_cli.vendoring.github import GitHub, Token, token_variables
from skill_registry_cli.vendoring.hosts import LocalRepositories
from skill_registry_cli.vendoring.problems import SyncInterrupted, VendoringRefused
from skill_registry_cli.vendoring.repositories import AllowedHosts
from skill_registry_cli.vendoring.status import status as compare
from skill_registry_cli.vendoring.syncing import Outcome, SyncOptions, sync

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from skill_registry.agent.answers import View
    from skill_registry.spec.model import Diagnostic
    from skill_registry_cli.terminal import Terminal
    from skill_registry_cli.vendoring.hosts import CodeHost
    from skill_registry_cli.vendoring.manifest import Source
    from skill_registry_cli.vendoring.status import SkillStatus
    from skill_registry_cli.vendoring.syncing import Synced, Watching

vendor = typer.Typer(
    help="Keep other people's skills, pinned to commits, beside your own.",
    epilog="skills/manifest.yaml names sources and skills; README.md shows one.",
)

Tree = Annotated[
    Path,
    typer.Option(
        "--dir",
        metavar="DIR",
        exists=True,
        file_okay=False,
        help="The folder of skills, with manifest.yaml in it.",
    ),
]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        "--allow",
        metavar="HOST",
        envvar="SKILL_REGISTRY_VENDOR_HOSTS",
        help="Take sources from this host too, a GitHub Enterprise Server; repeat it, or separate"
        ' several with commas. The word "file" allows repositories of this machine.',
    ),
]
_SKILLS = Path("skills")
_PLAIN = re.compile(r"[!-~]+")
# As syncing.py names places: by the key of the source.
_UPSTREAM = re.compile(r"[^/]*: ")


@vendor.command("sync")
def sync_skills(
    context: typer.Context,
    tree: Tree = _SKILLS,
    allow: Allow = None,
    pinned: Annotated[
        bool, typer.Option("--pinned", help="Stay at the pinned commits; only mend the tree.")
    ] = False,
    prune: Annotated[
        bool,
        typer.Option("--prune", help="Remove vendored skills that the manifest lists no more."),
    ] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Bring every vendored skill to the commit that its source's ref names now.

    It writes the commits into the manifest and the upstream's files byte for
    byte, adds agents, source and provenance to each SKILL.md, and checks the
    tree. All of it happens, or nothing.

    A token in GH_TOKEN or GITHUB_TOKEN, the first that is set, is shown to
    GitHub alone, one in GH_ENTERPRISE_TOKEN to the hosts of --allow.
    HTTPS_PROXY is honoured.

    Example: skillctl vendor sync --dry-run
    """
    terminal = Session.of(context).terminal(as_json=as_json)
    hosts, options = allowed(allow), SyncOptions(pinned, prune, dry_run)
    with (
        _refusing(terminal, tree),
        _interrupted(terminal),
        _code_hosts(terminal, hosts) as (host_of, watching),
    ):
        done = sync(tree, hosts, host_of, options, watching)
    done = replace(done, problems=_from_here(tree, done.problems))
    if terminal.as_json:
        terminal.document(_synced(done))
    else:
        _tell(terminal, done)
    if done.problems:
        raise typer.Exit(REFUSED)


@vendor.command()
def check(
    context: typer.Context, tree: Tree = _SKILLS, allow: Allow = None, as_json: AsJson = False
) -> None:
    """Check, without a network, that the skills are what the manifest says.

    One line a problem: edited, missing and additional files, other agents,
    other commits, directories that no entry has, links. Exits with 1 where
    there is one.

    Example: skillctl vendor check --dir third-party
    """
    terminal = Session.of(context).terminal(as_json=as_json)
    with _refusing(terminal, tree):
        found = _from_here(tree, check_tree(tree, allowed(allow)))
    if terminal.as_json:
        terminal.document({"ok": not found, "problems": [each.to_dict() for each in found]})
    else:
        terminal.diagnostics(found)
        terminal.say("vendor check: ok" if not found else _count(found))
    raise typer.Exit(REFUSED if found else DONE)


@vendor.command()
def status(
    context: typer.Context,
    tree: Tree = _SKILLS,
    allow: Allow = None,
    scope: ReadScope = None,
    as_json: AsJson = False,
) -> None:
    """Compare the manifest, the tree and the registry in one table.

    The tree is ok, edited, behind the pinned commit, or missing. The registry
    has the same files, differs, is behind the pinned commit, or the skill is
    missing there. Unlisted is a directory that the manifest does not have,
    and a skill of your sources that only the registry has. Exits with 1 where
    something is to be done.

    Example: skillctl vendor status --scope team-blue
    """
    terminal = Session.of(context).terminal(as_json=as_json)
    with _refusing(terminal, tree):
        found = compare(tree, allowed(allow))
    with Session.of(context).asking(as_json=as_json) as (client, _):
        query = SkillQuery(scopes=(scope,) if scope else ())
        pages = client.list_pages(limit=500, query=query)
        listing = [each for page in pages for each in page.skills]
        names = found.names

        def look(name: str) -> View | None:
            try:
                return client.view_skill(name, scope=scope)
            except RegistryProblem as problem:
                if problem.code != "skill_not_found":
                    raise
                return None

        with terminal.counting("Comparing", len(names)) as advance:
            ran = side_by_side(look, names, AT_ONCE, advance)
    if ran.stopped:
        raise typer.Exit(INTERRUPTED)
    rows = found.rows(dict(zip(names, ran.results, strict=True)), listing)
    if terminal.as_json:
        terminal.document({"skills": [asdict(row) for row in rows]})
    else:
        headings = ("skill", "source", "pinned", "tree", "registry", "version", "deployed")
        terminal.table(headings, [_cells(row) for row in rows])
    raise typer.Exit(DONE if all(row.in_step for row in rows) else REFUSED)


def _cells(row: SkillStatus) -> tuple[str, ...]:
    return (
        row.name,
        row.source or "-",
        (row.pinned or "-")[:12],
        row.tree.value,
        row.registry.value,
        "-" if row.version is None else str(row.version),
        (row.deployed or "-")[:12],
    )


def allowed(words: list[str] | None) -> AllowedHosts:
    """Read the hosts of ``--allow``.

    Raises:
        typer.BadParameter: One is none.
    """
    each = [part.strip() for word in words or () for part in word.split(",")]
    try:
        return AllowedHosts.named(tuple(filter(None, each)))
    except ValueError as odd:
        # It may be a password that stands before the @, for anybody to read in a log.
        what = "What has an @" if "@" in str(odd) else str(odd)
        raise typer.BadParameter(
            f"{what} is no host; write git.example.com, https://git.example.com or file."
        ) from None


def tokens(hosts: AllowedHosts, environment: Mapping[str, str]) -> dict[str, Token]:
    """Return the token for each host: GitHub's for GitHub alone, the other for all others.

    None goes over a connection that is not encrypted, unless it stays on this machine.

    Raises:
        RequestInvalid: ``token_invalid``: no header can hold one.
    """
    found = {}
    for origin in hosts.origins:
        held = {name: environment.get(name, "").strip() for name in token_variables(origin)}
        name, token = next(((name, each) for name, each in held.items() if each), ("", ""))
        if token and not _PLAIN.fullmatch(token):
            message = f"{name} holds no token: it has blanks or other letters than ASCII."
            raise RequestInvalid(message, code="token_invalid")
        host = urlsplit(origin).hostname
        if token and (origin.startswith("https://") or host in {"127.0.0.1", "localhost"}):
            found[origin] = Token(name, token)
    return found


@contextmanager
def _refusing(terminal: Terminal, tree: Path) -> Iterator[None]:
    """Print why nothing was done, and end the run."""
    try:
        yield
    except RegistryError as refused:
        if isinstance(refused, VendoringRefused):
            refused.diagnostics = _from_here(tree, refused.diagnostics)
        terminal.refusal(refused)
        raise typer.Exit(exit_code(refused)) from refused


@contextmanager
def _interrupted(terminal: Terminal) -> Iterator[None]:
    """Say what became of a sync that was interrupted."""
    try:
        yield
    except SyncInterrupted as ended:
        message = "Stopped. Nothing was written."
        if ended.written:
            message = "Stopped after everything was written; skillctl vendor check tells of it."
        terminal.failure("aborted", message)
        raise typer.Exit(INTERRUPTED) from ended


def _from_here(tree: Path, found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Name files of the tree from where the user stands; those of upstreams stay."""
    return tuple(
        replace(each, file=os.path.normpath(tree / each.file))
        if each.file and not _UPSTREAM.match(each.file)
        else each
        for each in found
    )


@contextmanager
def _code_hosts(
    terminal: Terminal, hosts: AllowedHosts
) -> Iterator[tuple[Callable[[Source], CodeHost], Watching]]:
    """Give what finds the host of a source, and what draws a download."""
    with ExitStack() as opened:
        github = opened.enter_context(GitHub(tokens(hosts, os.environ)))
        local = LocalRepositories()

        def host_of(source: Source) -> CodeHost:
            return github if source.repository.origin else local

        yield host_of, opened.enter_context(terminal.downloads())


def _tell(terminal: Terminal, done: Synced) -> None:
    for source in done.sources:
        was = "unchanged" if source.before == source.commit else "first pin"
        if source.before is not None and source.before != source.commit:
            was = f"was {source.before[:12]}"
        terminal.say(f"{source.key}: {source.ref} -> {source.commit[:12]} ({was})")
    for name, outcome in done.skills.items():
        note = " (written here, not synced)" if outcome is Outcome.LOCAL else ""
        terminal.say(f"{name}: {outcome.value}{note}")
    terminal.diagnostics(done.warnings)
    if done.dry_run:
        terminal.notice("Nothing was written: this was a dry run.")
        return
    terminal.diagnostics(done.problems)
    terminal.say("vendor check: ok" if not done.problems else _count(done.problems))


def _count(found: tuple[Diagnostic, ...] | list[Diagnostic]) -> str:
    return f"vendor check: {counted(len(found), 'problem')}"


def _synced(done: Synced) -> dict[str, object]:
    return {
        "dry_run": done.dry_run,
        "sources": [
            {"name": each.key, "ref": each.ref, "commit": each.commit, "before": each.before}
            for each in done.sources
        ],
        "skills": [{"name": name, "outcome": what.value} for name, what in done.skills.items()],
        "warnings": [each.to_dict() for each in done.warnings],
        "problems": [each.to_dict() for each in done.problems],
    }
