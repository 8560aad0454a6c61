"""Commands that look after a whole registry: reconcile, catalog rebuild and doctor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from skill_registry_cli.failures import REFUSED
from skill_registry_cli.options import AsJson, DryRun
from skill_registry_cli.session import Session
from skill_registry_cli.terminal import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from skill_registry.agent.maintenance import Examined, Finding, Reconciled
    from skill_registry_cli.terminal import Terminal

RunT = TypeVar("RunT")

catalog = typer.Typer(help="Look after catalogs, from which listings are read.")


def reconcile(context: typer.Context, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Compare everything in the bucket and repair what differs, as the schedule does.

    Uploads that wait are published, and old versions pruned. --dry-run does not look for these two:
    it tells what `skillctl doctor --fix --dry-run` does.

    Exits with 1 when something could not be repaired.
    """
    if dry_run:
        _examine(context, fix=True, dry_run=True, as_json=as_json)
        return
    with (
        Session.of(context).asking(as_json=as_json) as (client, terminal),
        terminal.counting("Runs") as advance,
    ):
        runs = _counted(client.reconcile(), advance)
    if as_json:
        terminal.document(_reconciled(runs))
    else:
        _tell(terminal, runs)
    if any(run.failed for run in runs):
        raise typer.Exit(REFUSED)


def _tell(terminal: Terminal, runs: list[Reconciled]) -> None:
    lines = {
        "published": [each for run in runs for each in run.uploads],
        "repaired": [each for run in runs for each in run.repaired],
        "edited by hand": [each for run in runs for each in run.drift],
        "pruned": [f"{s} v:{n}" for run in runs for s, all_ in run.pruned.items() for n in all_],
    }
    for what, named in lines.items():
        for each in named:
            terminal.say(f"{what}: {each}")
    for each in (each for run in runs for each in run.failed):
        terminal.failure("repair_failed", each)
    if not any(lines.values()) and not any(run.failed for run in runs):
        terminal.say("Everything was in step.")


def _reconciled(runs: list[Reconciled]) -> dict[str, object]:
    """Return the runs as one answer."""
    pruned: dict[str, list[int]] = {}
    for run in runs:
        for skill, numbers in run.pruned.items():
            pruned.setdefault(skill, []).extend(numbers)
    return {
        "uploads": [each for run in runs for each in run.uploads],
        "repaired": [each for run in runs for each in run.repaired],
        "failed": [each for run in runs for each in run.failed],
        "drift": [each for run in runs for each in run.drift],
        "pruned": pruned,
    }


@catalog.command("rebuild")
def rebuild(
    context: typer.Context,
    scope: Annotated[str, typer.Argument(metavar="SCOPE", help="Like `system`.")],
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Make the catalog of a scope anew from the skills themselves.

    Listings are read from catalogs. For one that is damaged, or of a newer schema than the
    deployment knows: `skillctl doctor` says so.

    Example: skillctl catalog rebuild system
    """
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        if dry_run:
            with terminal.counting("Runs") as advance:
                runs = _counted(client.doctor(scope=scope), advance)
            examined = sum(run.examined for run in runs)
            terminal.done(
                {"dry_run": True, "scope": scope, "examined": examined},
                f"Would make the catalog of {scope} anew, from {counted(examined, 'skill')}.",
            )
            return
        done = client.rebuild(scope)
    at = f"its version is {done.catalog_version}"
    sentence = f"The catalog of {done.scope} lists {counted(done.skills, 'skill')}; {at}."
    terminal.done(done.answer, sentence)


def doctor(
    context: typer.Context,
    scope: Annotated[str | None, typer.Option(help="Only this scope.")] = None,
    name: Annotated[
        str | None, typer.Option(help="Only this skill, of --scope or your default scope.")
    ] = None,
    fix: Annotated[bool, typer.Option("--fix", help="Repair what can be.")] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Print every disagreement between log, .version, plain tree, settings and catalog.

    One line each: code, skill, key, detail. README.md says what each code means. Exits with 1 when
    something is left to mend, with --fix --dry-run when something would be.

    Example: skillctl doctor --scope system --fix
    """
    _examine(context, scope, name, fix=fix, dry_run=dry_run, as_json=as_json)


def _examine(
    context: typer.Context,
    scope: str | None = None,
    name: str | None = None,
    *,
    fix: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    runs: list[Examined] = []
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        for run in client.doctor(scope=scope, name=name, fix=fix and not dry_run):
            runs.append(run)
            if not as_json:
                # As they come: a large bucket takes a while.
                _print_findings(terminal, run)
    found = [finding for run in runs for finding in run.findings]
    left = [each for each in found if not (fix and dry_run and each.fixable)]
    if as_json:
        terminal.document({**_examined(runs), **({"dry_run": True} if dry_run else {})})
    else:
        mended = len(found) - len(left) if dry_run else sum(len(run.repaired) for run in runs)
        examined = counted(sum(run.examined for run in runs), "skill")
        does = "would be repaired" if dry_run else "repaired"
        terminal.notice(f"Examined {examined}: {len(left)} to mend, {mended} {does}.")
    if left:
        raise typer.Exit(REFUSED)


def _counted(runs: Iterator[RunT], advance: Callable[[], None]) -> list[RunT]:
    done = []
    for run in runs:
        done.append(run)
        advance()
    return done


def _print_findings(terminal: Terminal, run: Examined) -> None:
    for finding in run.repaired:
        terminal.notice(f"repaired {' '.join(_columns(finding))}")
    if run.findings:
        rows = [_columns(each) for each in run.findings]
        terminal.table(("code", "skill", "key", "detail"), rows)
    for finding in run.findings:
        if finding.hint:
            terminal.notice(f"    {finding.key}: {finding.hint}")


def _columns(finding: Finding) -> tuple[str, ...]:
    return finding.code, finding.skill or "-", finding.key, finding.detail


def _examined(runs: list[Examined]) -> dict[str, object]:
    """Return the runs as one answer."""
    return {
        "examined": sum(run.examined for run in runs),
        "findings": [each for run in runs for each in run.answer["findings"]],
        "repaired": [each for run in runs for each in run.answer.get("repaired", ())],
    }
