"""Commands for operators: labels, the switch, purge, and maintenance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from skill_registry_cli.failures import REFUSED
from skill_registry_cli.options import AsJson, Name, Reason, WriteScope
from skill_registry_cli.session import Session
from skill_registry_cli.terminal import counted

if TYPE_CHECKING:
    from skill_registry.agent.maintenance import Examined, Finding, Reconciled
    from skill_registry_cli.terminal import Terminal

catalog = typer.Typer(help="Look after catalogs.")


def label(
    context: typer.Context,
    name: Name,
    label: Annotated[str, typer.Argument(metavar="LABEL", help="Like `stable`.")],
    version: Annotated[
        int | None, typer.Argument(metavar="[VERSION]", min=1, help="The number it is to name.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take the label away.")] = False,
    reason: Reason = None,
    scope: WriteScope = None,
    as_json: AsJson = False,
) -> None:
    """Give a version a label, or move it there. A labelled version is never pruned."""
    if remove == (version is not None):
        raise typer.BadParameter("give a version, or --remove.")
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        now = client.configure(name, labels={label: version}, reason=reason, scope=scope)
    named = f"{label} names v:{version}" if version else f"{label} is no label"
    terminal.done(now.answer, f"{named} of {now.name} in {now.scope}.")


def enable(
    context: typer.Context,
    name: Name,
    reason: Reason = None,
    scope: WriteScope = None,
    as_json: AsJson = False,
) -> None:
    """Show a skill again that was disabled."""
    _switch(context, name, on=True, reason=reason, scope=scope, as_json=as_json)


def disable(
    context: typer.Context,
    name: Name,
    reason: Reason = None,
    scope: WriteScope = None,
    as_json: AsJson = False,
) -> None:
    """Hide a skill at once: it is not listed, and answers as if it were not there."""
    _switch(context, name, on=False, reason=reason, scope=scope, as_json=as_json)


def _switch(
    context: typer.Context,
    name: str,
    *,
    on: bool,
    reason: str | None,
    scope: str | None,
    as_json: bool,
) -> None:
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        now = client.configure(name, enabled=on, reason=reason, scope=scope)
    state = "enabled" if now.enabled else "disabled"
    terminal.done(now.answer, f"{now.name} in {now.scope} is {state}.")


def hide(
    context: typer.Context,
    name: Name,
    undo: Annotated[bool, typer.Option("--undo", help="Show it to you again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Leave a skill out of your own listings and views, whatever scope it comes from."""
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        now = client.configure(name, hidden=not undo)
    state = "hidden from" if now.hidden else "shown to"
    terminal.done(now.answer, f"{now.name} is {state} you.")


def seal(
    context: typer.Context,
    name: Name,
    undo: Annotated[bool, typer.Option("--undo", help="Let other scopes shadow it again.")] = False,
    reason: Reason = None,
    as_json: AsJson = False,
) -> None:
    """Let a name come from `system` or from nowhere, so that no other scope can shadow it."""
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        now = client.configure(name, sealed=not undo, reason=reason, scope="system")
    state = "sealed" if now.sealed else "not sealed"
    terminal.done(now.answer, f"{now.name} is {state} in {now.scope}.")


def purge(
    context: typer.Context,
    name: Name,
    version: Annotated[int, typer.Argument(metavar="VERSION", min=1, help="Its number.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; kept with the skill.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    scope: WriteScope = None,
    as_json: AsJson = False,
) -> None:
    """Remove the bytes of one version for good, wherever the bucket keeps them.

    For a secret that leaked. The number stays taken. The current version cannot be purged: publish
    another one first.
    """
    if not yes:
        # On stderr: stdout is for the answer.
        typer.confirm(f"Remove the bytes of {name} v:{version} for good?", abort=True, err=True)
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        done = client.purge(name, version, reason=reason, scope=scope)
    if as_json:
        terminal.document(done.answer)
        return
    terminal.say(
        f"Purged {done.name} v:{done.version} in {done.scope}; removed {done.removed} objects."
    )
    for number, paths in sorted(done.also_in.items()):
        terminal.notice(f"v:{number} still has {', '.join(paths)}")


def reconcile(context: typer.Context, as_json: AsJson = False) -> None:
    """Compare everything in the bucket and repair what differs, as the schedule does.

    Exits with 1 when something could not be repaired.
    """
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        runs = list(client.reconcile())
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
    as_json: AsJson = False,
) -> None:
    """Make the catalog of a scope anew from the skills themselves."""
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
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
    as_json: AsJson = False,
) -> None:
    """Print every disagreement between log, .version, plain tree, settings and catalog.

    One line each: code, skill, key, detail. Exits with 1 when something is left to mend.
    """
    runs: list[Examined] = []
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        for run in client.doctor(scope=scope, name=name, fix=fix):
            runs.append(run)
            if not as_json:
                # As they come: a large bucket takes a while.
                _print_findings(terminal, run)
    left = [finding for run in runs for finding in run.findings]
    if as_json:
        terminal.document(_examined(runs))
    else:
        mended = sum(len(run.repaired) for run in runs)
        examined = counted(sum(run.examined for run in runs), "skill")
        terminal.notice(f"Examined {examined}: {len(left)} to mend, {mended} repaired.")
    if left:
        raise typer.Exit(REFUSED)


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
