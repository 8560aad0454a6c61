"""Commands for operators: labels, the switch, hiding, sealing, and purge."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from skill_registry.errors import RegistryError
from skill_registry_cli import dry_runs
from skill_registry_cli.options import AsJson, DryRun, Name, Reason, WriteScope
from skill_registry_cli.session import Session

if TYPE_CHECKING:
    from skill_registry.agent.client import RegistryClient
    from skill_registry.agent.versions import VersionsPage
    from skill_registry_cli.terminal import Terminal

_SYSTEM = "system"


def label(
    context: typer.Context,
    name: Name,
    label: Annotated[str, typer.Argument(metavar="LABEL", help="Like `stable`.")],
    version: Annotated[
        int | None, typer.Argument(metavar="VERSION", min=1, help="The number it is to name.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take the label away.")] = False,
    reason: Reason = None,
    scope: WriteScope = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Give a version a label, or move the label there.

    Whoever asks for @LABEL gets the version that has it. A labelled version is never pruned.

    Example: skillctl label release-notes stable 4
    """
    if remove == (version is not None):
        raise typer.BadParameter("give a version, or --remove.")
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        if dry_run:
            _would_label(client, terminal, name, label, version, scope)
            return
        now = client.configure(name, labels={label: version}, reason=reason, scope=scope)
    named = f"{label} names v:{version}" if version else f"{label} is no label"
    terminal.done(now.answer, f"{named} of {now.name} in {now.scope}.")


def _would_label(
    client: RegistryClient,
    terminal: Terminal,
    name: str,
    label: str,
    version: int | None,
    scope: str | None,
) -> None:
    page = dry_runs.place(client, terminal, name, scope)
    if version is not None:
        dry_runs.version_with_files(client, page, version)
    before = dry_runs.labelled(client, page, label)
    was = before.version if before else None
    does = f"give {label} to v:{version}" if version else f"take {label} away"
    terminal.done(
        {**_would(page), "labels": {label: version}, "before": {label: was}},
        f"Would {does} of {name} in {page.scope}; now {'v:' + str(was) if was else 'none'} has it.",
    )


def enable(
    context: typer.Context,
    name: Name,
    reason: Reason = None,
    scope: WriteScope = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Show a skill again that was disabled.

    Example: skillctl enable release-notes
    """
    _switch(context, name, on=True, reason=reason, scope=scope, dry_run=dry_run, as_json=as_json)


def disable(
    context: typer.Context,
    name: Name,
    reason: Reason = None,
    scope: WriteScope = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Take a skill out of sight at once: it answers as if it were not there.

    Nothing of it is removed. It stays so through publishes, until `skillctl enable`.

    Example: skillctl disable release-notes --reason "Names a host"
    """
    _switch(context, name, on=False, reason=reason, scope=scope, dry_run=dry_run, as_json=as_json)


def _switch(
    context: typer.Context,
    name: str,
    *,
    on: bool,
    reason: str | None,
    scope: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        if dry_run:
            page = dry_runs.place(client, terminal, name, scope)
            does = "enable" if on else "disable"
            terminal.done({**_would(page), "enabled": on}, f"Would {does} {name} in {page.scope}.")
            return
        now = client.configure(name, enabled=on, reason=reason, scope=scope)
    state = "enabled" if now.enabled else "disabled"
    terminal.done(now.answer, f"{now.name} in {now.scope} is {state}.")


def hide(
    context: typer.Context,
    name: Name,
    undo: Annotated[bool, typer.Option("--undo", help="Show it to you again.")] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Leave a skill out of your own listings and views, whatever scope it comes from.

    Others go on seeing it. Who has no scope of its own, as an administrator of the deployment, can
    hide nothing from itself.

    Example: skillctl hide release-notes
    """
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        if dry_run:
            if dry_runs.no_own_scope(client):
                raise RegistryError(
                    "Skills are hidden in one's own scope, and you have none: disable it instead.",
                    code="change_invalid",
                )
            if not undo and dry_runs.found_in(client, name, None) is None:
                terminal.notice(f"There is no skill {name} for you now.")
            does = f"show {name} to you again" if undo else f"hide {name} from you"
            document = {"dry_run": True, "name": name, "hidden": not undo}
            terminal.done(document, f"Would {does}.")
            return
        now = client.configure(name, hidden=not undo)
    state = "hidden from" if now.hidden else "shown to"
    terminal.done(now.answer, f"{now.name} is {state} you.")


def seal(
    context: typer.Context,
    name: Name,
    undo: Annotated[bool, typer.Option("--undo", help="Let other scopes shadow it again.")] = False,
    reason: Reason = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Let a name come from `system` or from nowhere, so that no other scope can shadow it.

    For administrators, and for skills that must be the same for everybody.

    Example: skillctl seal security-review --reason "The one way"
    """
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        if dry_run:
            if dry_runs.found_in(client, name, _SYSTEM) is None:
                terminal.notice(f"There is no skill {name} in {_SYSTEM} now.")
            does = f"let other scopes shadow {name} again" if undo else f"seal {name} in {_SYSTEM}"
            document = {"dry_run": True, "name": name, "scope": _SYSTEM, "sealed": not undo}
            terminal.done(document, f"Would {does}.")
            return
        now = client.configure(name, sealed=not undo, reason=reason, scope=_SYSTEM)
    state = "sealed" if now.sealed else "not sealed"
    terminal.done(now.answer, f"{now.name} is {state} in {now.scope}.")


def purge(
    context: typer.Context,
    name: Name,
    version: Annotated[int, typer.Argument(metavar="VERSION", min=1, help="Its number.")],
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why; kept with the skill.")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    scope: WriteScope = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Remove the bytes of one version for good, wherever the bucket keeps them.

    For a secret that leaked: change the secret first. The number stays taken. The current version
    cannot be purged: publish another one, or delete the skill, before.

    Example: skillctl purge release-notes 3 --reason "A key in references/api.md"
    """
    if not (yes or dry_run):
        if sys.stdin is None:
            raise typer.BadParameter("nobody can be asked here; --yes answers before.")
        # On stderr: stdout is for the answer.
        typer.confirm(f"Remove the bytes of {name} v:{version} for good?", abort=True, err=True)
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        if dry_run:
            page = dry_runs.place(client, terminal, name, scope)
            dry_runs.check_purge(page, dry_runs.version(client, page, version))
            sentence = f"Would purge {name} v:{version} in {page.scope}."
            terminal.done({**_would(page), "version": version}, sentence)
            return
        done = client.purge(name, version, reason=reason, scope=scope)
    if as_json:
        terminal.document(done.answer)
        return
    terminal.say(
        f"Purged {done.name} v:{done.version} in {done.scope}; removed {done.removed} objects."
    )
    for number, paths in sorted(done.also_in.items()):
        terminal.notice(f"v:{number} still has {', '.join(paths)}")


def _would(page: VersionsPage) -> dict[str, object]:
    return {"dry_run": True, "name": page.name, "scope": page.scope}
