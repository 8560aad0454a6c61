"""``skillctl push``: the skills that are meant, each as its next version, and what came of each."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skill_registry.spec.names import shown_path
from skill_registry_cli.changed import is_everything, select
from skill_registry_cli.options import AsJson, DryRun, IfVersion, precondition
from skill_registry_cli.parallel import AT_ONCE, Jobs, side_by_side
from skill_registry_cli.push_report import Report
from skill_registry_cli.pushing import Pusher, State, Terms
from skill_registry_cli.session import Session
from skill_registry_cli.skill_paths import duplicates, find

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from skill_registry.agent.client import RegistryClient
    from skill_registry.spec.model import Diagnostic
    from skill_registry_cli.changed import Gone
    from skill_registry_cli.skill_paths import Item
    from skill_registry_cli.terminal import Terminal


def _path(text: str) -> Path:
    # A variable of a script that is not set, which must not mean all that is below here.
    if not text:
        raise typer.BadParameter("an empty path names nothing.")
    return Path(text)


Paths = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="PATH",
        parser=_path,
        help="Skills' directories, such directories as zip files, or folders of skills.",
    ),
]
Scope = Annotated[
    str | None, typer.Option(help="Where to publish; without it, your own default scope.")
]
ChangedSince = Annotated[
    str | None,
    typer.Option(
        "--changed-since",
        metavar="REV",
        help="Only skills in which a file differs from this revision of git; without a PATH,"
        " those in skills/.",
    ),
]
Wait = Annotated[
    bool,
    typer.Option(
        "--wait/--no-wait",
        help="Wait until it is published, or only send it; the registry then publishes it.",
    ),
]
_SKILLS = Path("skills")


def push(
    context: typer.Context,
    paths: Paths = None,
    scope: Scope = None,
    message: Annotated[str | None, typer.Option("--message", "-m", help="What changed.")] = None,
    if_version: IfVersion = None,
    changed_since: ChangedSince = None,
    wait: Wait = True,
    jobs: Jobs = AT_ONCE,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Publish skills, each as its next version.

    A folder stands for every skill below it. Each skill is published whole or not at all, and one
    that is refused is in no other's way. With `--dry-run` the registry says what a publish would.

    A skill goes by the name in its SKILL.md. What .gitignore and .ignore leave out stays here, as
    do .git, node_modules, `__pycache__`, .DS_Store and links.

    Examples: `skillctl push notes -m "Shorter"`, `skillctl push skills --dry-run`, and for what a
    merge changed `skillctl push --changed-since origin/main~1 skills`
    """
    typed = paths or ([_SKILLS] if changed_since is not None else [])
    if not typed:
        raise typer.BadParameter("name the skills to push: a PATH, or several.")
    if dry_run and not wait:
        raise typer.BadParameter("--dry-run and --no-wait do not go together.")
    terms = Terms(scope, message, precondition(if_version), dry_run, wait)
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        chosen = _choose(typed, changed_since)
        if if_version is not None and len(chosen.items) > 1:
            several = f"{len(chosen.items)} are meant"
            raise typer.BadParameter(f"--if-version goes with one skill, and {several}.")
        code = _push(_Means(client, terminal, terms, jobs), chosen)
    raise typer.Exit(code)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What is to be pushed, and what is to be said besides."""

    items: tuple[Item, ...]
    alone: bool
    diagnostics: tuple[Diagnostic, ...]
    since: str | None
    gone: tuple[Gone, ...] = ()


@dataclass(frozen=True, slots=True)
class _Means:
    """What pushes."""

    client: RegistryClient
    terminal: Terminal
    terms: Terms
    jobs: int


def _choose(typed: Sequence[Path], since: str | None) -> _Chosen:
    """Return what the paths mean, less what has not changed.

    Raises:
        typer.BadParameter: A path is not there.
        RequestInvalid: git does not say what changed.
    """
    missing = [path for path in typed if not path.exists()]
    meant = find([path for path in typed if path not in missing])
    gone: tuple[Gone, ...] = ()
    items = meant.items
    if since is not None:
        items = tuple(item for item in items if not item.empty)
        if not is_everything(since):
            selected = select(items, typed, since)
            items, gone = selected.items, selected.gone
    if missing and not gone:
        named = ", ".join(shown_path(str(path)) for path in missing)
        raise typer.BadParameter(f"there is no {named} here.")
    alone = meant.alone and since is None
    return _Chosen(items, alone, () if alone else meant.diagnostics, since, gone)


def _push(means: _Means, chosen: _Chosen) -> int:
    """Push what was chosen, tell what comes of it, and return the exit code."""
    terminal, items, terms = means.terminal, chosen.items, means.terms
    several = len(items) > 1
    success = State.VALIDATED if terms.dry_run else State.PUBLISHED if terms.wait else State.SENT
    report = Report(terminal, items, success, alone=chosen.alone)
    refused = duplicates(items) if several else {}
    # One bar at a time: of the bytes of one skill, or of the skills.
    sending = _without_bar if several else terminal.progress
    pusher = Pusher(means.client, terms, refused, sending)

    def work(numbered: tuple[int, Item]) -> None:
        report.keep(numbered[0], pusher.push(numbered[1]))

    bar = terminal.counting("Pushing", len(items)) if several else nullcontext(_nothing)
    stopped = uncertain = False
    try:
        with bar as advance:

            def told() -> None:
                advance()
                report.tell()

            stopped = side_by_side(work, list(enumerate(items)), means.jobs, told).stopped
    except KeyboardInterrupt:
        stopped = uncertain = True
    more = _tell_changes(terminal, chosen, terms.scope)
    return report.close(
        stopped=stopped, uncertain=uncertain, diagnostics=chosen.diagnostics, more=more
    )


def _tell_changes(terminal: Terminal, chosen: _Chosen, scope: str | None) -> dict[str, Any]:
    """Say what changed besides, or return it for the JSON document."""
    if terminal.as_json:
        gone = [{"name": each.name, "path": each.path} for each in chosen.gone]
        return {"gone": gone} if gone else {}
    if chosen.since is not None and chosen.items and is_everything(chosen.since):
        terminal.notice("No revision to compare with was given: every skill was taken.")
    if chosen.since is not None and not chosen.items:
        nothing = is_everything(chosen.since)
        told = "There is no skill." if nothing else f"No skill changed since {chosen.since}."
        terminal.notice(told)
    where = f" --scope {scope}" if scope else ""
    for each in chosen.gone:
        command = f"`skillctl delete {each.name}{where}`"
        terminal.notice(
            f"{each.name} is gone since {chosen.since}; {command} takes it out of the registry."
        )
    return {}


def _without_bar(name: str, size: int) -> AbstractContextManager[None]:
    return nullcontext()


def _nothing() -> None:
    """Move no bar."""
