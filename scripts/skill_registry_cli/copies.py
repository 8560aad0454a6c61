"""Commands for copies of skills on this machine: bring them here, and compare them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skill_registry.agent.walking import walk
from skill_registry.spec.model import has_errors
from skill_registry.spec.names import shown_path
from skill_registry_cli.checking import Checked, Checker
from skill_registry_cli.failures import DONE, REFUSED, exit_code
from skill_registry_cli.local_copies import State
from skill_registry_cli.options import AsJson, DryRun, ReadScope, version_of
from skill_registry_cli.parallel import AT_ONCE, Jobs, side_by_side
from skill_registry_cli.pulling import Puller, Wanted
from skill_registry_cli.session import Session
from skill_registry_cli.terminal import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skill_registry.agent.client import RegistryClient
    from skill_registry.spec.model import Diagnostic
    from skill_registry_cli.parallel import Ran
    from skill_registry_cli.pulling import Pulled
    from skill_registry_cli.terminal import Terminal

_MOST_NAMED = 10


def pull(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="The skills to bring.")
    ] = None,
    to: Annotated[
        Path,
        typer.Option(
            "--to",
            metavar="DIR",
            file_okay=False,
            help="Where their directories are to lie; it is made where it is missing.",
        ),
    ] = Path(),
    version: Annotated[
        str | None, typer.Option(metavar="N", help="A version's number, or @ and a label.")
    ] = None,
    scope: ReadScope = None,
    whole: Annotated[bool, typer.Option("--all", help="Every skill that `list` shows.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a directory even where edits are lost.")
    ] = False,
    jobs: Jobs = AT_ONCE,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Bring skills here: the registry's files, byte for byte, as the directory DIR/NAME.

    Each directory is written whole or not at all. A file `.version` in it keeps the number.

    One that is there already is replaced only where nothing is lost: its files, also those that
    are ignored, have to be exactly those of the version that its `.version` names, or of the one
    that is wanted. Otherwise it stays, and the paths that differ are named.

    Examples: `skillctl pull notes`, `skillctl pull notes --version @stable --to .agents/skills`
    """
    if bool(names) == whole:
        raise typer.BadParameter("name the skills to pull, or give --all.")
    if version is not None and (whole or len(set(names or ())) > 1):
        raise typer.BadParameter("--version goes with one NAME.")
    pin = version_of(version) if version is not None else None
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        wanted = [Wanted(name, pin, scope) for name in dict.fromkeys(names or ())]
        if whole:
            wanted = _all(client, scope)
        puller = Puller(client, to, force=force, dry_run=dry_run)
        with terminal.counting("Pulling", len(wanted)) as advance:
            ran = side_by_side(puller.pull, wanted, jobs, advance)
    _tell_pulled(terminal, ran, len(wanted), dry_run=dry_run)


def check(
    context: typer.Context,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH",
            exists=True,
            file_okay=False,
            help="Skills' directories, or folders of them; without any, the working directory.",
        ),
    ] = None,
    scope: ReadScope = None,
    jobs: Jobs = AT_ONCE,
    as_json: AsJson = False,
) -> None:
    """Compare the skills in directories of this machine with the registry. Nothing is changed.

    Of each it prints name, version here (by `.version`), version in the registry, and state. What
    was edited is named on stderr. Files count as for a push, without what is ignored.

    * current: the registry's files.
    * edited: the registry's version, and edited here since.
    * stale: an older version, as it was published.
    * stale and edited: both.
    * differs: other files than the registry's, and no version says which they were.
    * unknown: the registry has no such skill for you.
    * invalid: a push would refuse to pack it.

    Exits with 0 when all are current, else with 1.
    """
    found, said = _find(paths or [Path()])
    if not found:
        where = ", ".join(shown_path(str(path)) for path in paths or [Path()])
        raise typer.BadParameter(f"there is no skill in {where}.")
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        checker = Checker(client, scope)
        with terminal.counting("Comparing", len(found)) as advance:
            ran = side_by_side(checker.check, found, jobs, advance)
    if ran.stopped:
        raise KeyboardInterrupt
    _tell_checked(terminal, ran.results, said)
    current = all(each.state is State.CURRENT for each in ran.results)
    raise typer.Exit(DONE if current and not has_errors(said) else REFUSED)


def _all(client: RegistryClient, scope: str | None) -> list[Wanted]:
    pages = client.list_pages((scope,) if scope else (), limit=500)
    return [Wanted(each.name, None, each.scope) for page in pages for each in page.skills]


def _tell_pulled(terminal: Terminal, ran: Ran[Pulled], asked: int, *, dry_run: bool) -> None:
    """Print what came of each, and end the run with the gravest exit code among them."""
    if terminal.as_json:
        document: dict[str, Any] = {"skills": [each.to_dict() for each in ran.results]}
        marks = {"dry_run": dry_run, "stopped": ran.stopped}
        terminal.document({**document, **{name: True for name, is_so in marks.items() if is_so}})
    else:
        for each in ran.results:
            _tell_one(terminal, each, dry_run=dry_run)
        if not asked:
            terminal.notice("There is no skill that you may load.")
        if ran.stopped:
            left = counted(asked - len(ran.results), "skill")
            terminal.notice(f"Stopped: {left} of {asked} had not been begun.")
    codes = [exit_code(each.error) for each in ran.results if each.error is not None]
    if ran.stopped:
        raise KeyboardInterrupt
    if codes:
        raise typer.Exit(max(codes))


def _tell_one(terminal: Terminal, done: Pulled, *, dry_run: bool) -> None:
    if done.error is not None:
        terminal.refusal(done.error)
        return
    named = f"{done.name} v:{_tag(done.version)}"
    if done.state == "current":
        terminal.say(f"{named} is here already.")
        return
    before = f" (v:{done.replaced} before)" if done.replaced not in (None, done.version) else ""
    terminal.say(f"{'Would pull' if dry_run else 'Pulled'} {named} to {done.path}{before}.")


def _find(paths: Sequence[Path]) -> tuple[list[Path], list[Diagnostic]]:
    """Return the directories of skills, each once, and what cannot be read."""
    walked = [walk(path) for path in paths]
    files = {each.real: each.path for one in walked for each in one.files if each.meant}
    return [path.parent for path in files.values()], [d for one in walked for d in one.diagnostics]


def _tell_checked(
    terminal: Terminal, checked: Sequence[Checked], said: Sequence[Diagnostic]
) -> None:
    if terminal.as_json:
        document: dict[str, Any] = {"skills": [each.to_dict() for each in checked]}
        if said:
            document["diagnostics"] = [each.to_dict() for each in said]
        terminal.document(document)
        return
    terminal.table(
        ("name", "here", "registry", "state"),
        [(each.name, _tag(each.here), _tag(each.registry), each.state) for each in checked],
    )
    for each in checked:
        _tell_edits(terminal, each)
    terminal.diagnostics(said)


def _tell_edits(terminal: Terminal, checked: Checked) -> None:
    terminal.diagnostics(checked.diagnostics, f"{checked.path}{os.sep}")
    for each in checked.verdict.differences[:_MOST_NAMED]:
        terminal.notice(f"{checked.path}{os.sep}{each.path}: {each.change}")
    if (more := len(checked.verdict.differences) - _MOST_NAMED) > 0:
        terminal.notice(f"{checked.path}: and {more} more")


def _tag(version: int | str | None) -> str:
    return "-" if version is None else str(version)
