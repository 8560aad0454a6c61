"""Commands about the versions of a skill: show them, compare them, go back, delete."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skill_registry.agent.source import EVERYTHING
from skill_registry.spec.names import shown_path
from skill_registry_cli.local_copies import compare_with, would_push
from skill_registry_cli.options import (
    AsJson,
    IfVersion,
    Name,
    ReadScope,
    WriteScope,
    precondition,
    version_of,
)
from skill_registry_cli.session import Session
from skill_registry_cli.terminal import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skill_registry.agent.versions import VersionInfo
    from skill_registry_cli.terminal import Terminal


def versions(
    context: typer.Context,
    name: Name,
    before: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Only versions with lower numbers.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=50, help="At most so many (50).")
    ] = None,
    scope: ReadScope = None,
    as_json: AsJson = False,
) -> None:
    """List a skill's versions, newest first: number, state, time, author, labels and message."""
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        page = client.versions(name, scope, before=before, limit=limit)
    if as_json:
        terminal.document(page.answer)
        return
    if page.current is None:
        terminal.notice(f"{page.name} in {page.scope} was never published, so it has no versions.")
    terminal.table(
        ("version", "state", "created", "author", "labels", "message"),
        [_row(each) for each in page.versions],
    )
    if page.next is not None:
        terminal.notice(f"There are older ones: --before {page.next}")


def diff(
    context: typer.Context,
    name: Name,
    directory: Annotated[
        Path | None,
        typer.Argument(
            metavar="DIRECTORY",
            exists=True,
            file_okay=False,
            help="A directory of this machine, compared instead of a second version.",
        ),
    ] = None,
    old: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="N",
            help="A version; without it, the one before --to, or the current for a DIRECTORY.",
        ),
    ] = None,
    new: Annotated[
        str | None, typer.Option("--to", metavar="N", help="A version; without it, the current.")
    ] = None,
    scope: ReadScope = None,
    as_json: AsJson = False,
) -> None:
    """Print what changed between two versions, each a number or @ and a label.

    With a DIRECTORY: what changed from the version to what a push of that directory would publish.

    The unified diff goes to stdout; which versions it is of goes to stderr.
    """
    if directory is not None and new is not None:
        raise typer.BadParameter("give a DIRECTORY or --to, not both.")
    pins = [None if text is None else version_of(text) for text in (old, new)]
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        if directory is None:
            found = client.diff(name, pins[0], pins[1], scope)
            answer, to = found.answer, f"v:{found.new}"
        else:
            here = would_push(directory)
            copy = client.load_skill(name, pins[0], query=EVERYTHING.within(scope))
            assert copy is not None  # None answers a `known`, and there is none.
            answer = compare_with(copy, here, to := shown_path(str(directory)))
    _tell_diff(terminal, answer, to)


def _tell_diff(terminal: Terminal, answer: Mapping[str, Any], to: str) -> None:
    if terminal.as_json:
        terminal.document(answer)
        return
    changed = f"{counted(len(answer['files']), 'file')} changed"
    was = "-" if answer["from"] is None else answer["from"]
    terminal.notice(f"{answer['name']} v:{was} -> {to} in {answer['scope']}, {changed}")
    terminal.data(answer["diff"].encode())
    if answer.get("truncated"):
        terminal.notice("The text is cut here; there are more differences.")


def rollback(
    context: typer.Context,
    name: Name,
    version: Annotated[str, typer.Argument(metavar="VERSION", help="A number, or @ and a label.")],
    message: Annotated[str | None, typer.Option("--message", "-m", help="Why.")] = None,
    if_version: IfVersion = None,
    scope: WriteScope = None,
    as_json: AsJson = False,
) -> None:
    """Publish the files of an earlier version again, as the next version.

    Nothing is lost by it, and a deleted skill comes back.
    """
    wanted = version_of(version)
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        done = client.rollback(
            name, wanted, message=message, scope=scope, precondition=precondition(if_version)
        )
    back = f"the files of v:{done.restores}"
    sentence = f"Published {done.name} v:{done.version} in {done.scope} with {back}."
    terminal.done(done.answer, sentence)


def delete(
    context: typer.Context,
    name: Name,
    if_version: IfVersion = None,
    scope: WriteScope = None,
    as_json: AsJson = False,
) -> None:
    """Delete a skill. Its versions stay, so that a rollback brings it back."""
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        done = client.delete(name, scope=scope, precondition=precondition(if_version))
    sentence = f"Deleted {done.name} in {done.scope}; that is v:{done.version}."
    terminal.done(done.answer, sentence)


def _row(version: VersionInfo) -> tuple[str, ...]:
    said = version.message or ""
    if version.restores is not None:
        said = f"{said} (files of v:{version.restores})".strip()
    return (
        str(version.version),
        version.state,
        version.created,
        version.author,
        ", ".join(version.labels),
        said,
    )
