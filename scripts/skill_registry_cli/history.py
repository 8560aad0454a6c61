"""Commands about the versions of a skill: show them, compare them, go back, copy, delete."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skill_registry.agent.source import EVERYTHING
from skill_registry.errors import RegistryError, SkillNotFound
from skill_registry.spec.names import shown_path
from skill_registry_cli import dry_runs
from skill_registry_cli.local_copies import compare_with, would_push
from skill_registry_cli.options import (
    AsJson,
    DryRun,
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
    from collections.abc import Mapping, Sequence

    from skill_registry.agent.answers import Version
    from skill_registry.agent.client import RegistryClient
    from skill_registry.agent.versions import VersionInfo, VersionsPage
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
    """List a skill's versions, newest first: number, state, time, author, labels and message.

    The state is `content`; `deleted` for a deletion, which takes a number too; or `pruned`, where
    the number stays and the files are gone.

    Example: skillctl versions release-notes --limit 5
    """
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
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Publish the files of an earlier version again, as the next version.

    Nothing is lost by it: the versions between stay, and a deleted skill comes back.

    Example: skillctl rollback release-notes @stable --message "The new rule was wrong"
    """
    wanted = version_of(version)
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        if dry_run:
            page = dry_runs.place(client, terminal, name, scope)
            found = dry_runs.version_with_files(client, page, wanted)
            dry_runs.expect(if_version, page.current)
            now = dry_runs.next_number(page)
            terminal.done(
                {**_would(page, now), "restores": found.version},
                f"Would publish {name} v:{now} in {page.scope} with the files of"
                f" v:{found.version}.",
            )
            return
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
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Delete a skill, so that nobody is shown it any more.

    Its versions stay: a rollback brings it back. To remove what a version holds for good, see
    `skillctl purge --help`.

    Example: skillctl delete release-notes --if-version 6
    """
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        if dry_run:
            page = dry_runs.place(client, terminal, name, scope)
            if dry_runs.is_deleted(page):
                raise SkillNotFound(f"`{name}` in {page.scope} is deleted already.")
            dry_runs.expect(if_version, page.current)
            now = dry_runs.next_number(page)
            ending = dry_runs.that_is(now)
            terminal.done(_would(page, now), f"Would delete {name} in {page.scope}{ending}")
            return
        done = client.delete(name, scope=scope, precondition=precondition(if_version))
    sentence = f"Deleted {done.name} in {done.scope}; that is v:{done.version}."
    terminal.done(done.answer, sentence)


CopiedVersion = Annotated[
    str | None,
    typer.Option(
        metavar="N", help="A version's number, or @ and a label; without it, the current one."
    ),
]
FromScopes = Annotated[
    list[str] | None,
    typer.Option(
        "--scope",
        metavar="FROM",
        help="The scope to copy from; repeat it for several, the first that has the skill counts."
        " Without it, all that you read.",
    ),
]
IfVersionThere = Annotated[
    int | None,
    typer.Option(
        "--if-version", metavar="N", min=1, help="Only where this is the current one in TO_SCOPE."
    ),
]


def copy(
    context: typer.Context,
    name: Name,
    to: Annotated[
        str, typer.Argument(metavar="TO_SCOPE", help="Where to publish it, like `team-payments`.")
    ],
    version: CopiedVersion = None,
    scopes: FromScopes = None,
    message: Annotated[str | None, typer.Option("--message", "-m", help="Why.")] = None,
    if_version: IfVersionThere = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Publish a skill of one scope in another, as the next version there.

    The files are the same, byte for byte, and never pass through this machine. What TO_SCOPE has
    under that name stays as an earlier version. The history there says what was copied.

    Example: skillctl copy release-notes team-payments --version @stable
    """
    pin = version_of(version) if version is not None else None
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        if dry_run:
            _would_copy(client, terminal, name, to, pin, scopes or (), if_version)
            return
        done = client.copy(
            name,
            to,
            version=pin,
            scopes=scopes or (),
            message=message,
            precondition=precondition(if_version),
        )
    source = done.copied_from
    of = f" from {source.scope} v:{_tag(source.version)}" if source else ""
    terminal.done(done.answer, f"Copied {done.name}{of} to {done.scope}: v:{done.version}.")


def _would_copy(
    client: RegistryClient,
    terminal: Terminal,
    name: str,
    to: str,
    pin: int | str | None,
    scopes: Sequence[str],
    if_version: int | None,
) -> None:
    source = client.view_skill(name, version=pin, query=EVERYTHING.within(scopes))
    if source.scope == to:
        raise RegistryError(
            f"`{name}` would be copied onto itself. Name another scope with --scope, or roll back.",
            code="request_invalid",
        )
    there = dry_runs.found_in(client, name, to)
    dry_runs.expect(if_version, there.current if there else None)
    now = dry_runs.next_number(there)
    terminal.done(
        {
            "dry_run": True,
            "name": name,
            "scope": to,
            "version": now,
            "copied_from": {"scope": source.scope, "version": source.version},
        },
        f"Would copy {name} v:{_tag(source.version)} from {source.scope} to"
        f" {to}{dry_runs.that_is(now)}",
    )


def _would(page: VersionsPage, version: int | None) -> dict[str, object]:
    return {"dry_run": True, "name": page.name, "scope": page.scope, "version": version}


def _tag(version: Version) -> str:
    return "-" if version is None else str(version)


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
