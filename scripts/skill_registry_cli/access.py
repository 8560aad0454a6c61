"""Commands for administrators: which IAM roles may call, and what each may do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from skill_registry.agent.access import Grant
from skill_registry_cli import dry_runs
from skill_registry_cli.options import AsJson, DryRun, Reason
from skill_registry_cli.session import Session

if TYPE_CHECKING:
    from skill_registry.agent.client import RegistryClient
    from skill_registry_cli.terminal import Terminal

access = typer.Typer(help="Say which IAM roles may call, and what each may do.")

RoleArn = Annotated[
    str, typer.Argument(metavar="ROLE_ARN", help="The ARN of an IAM role, not of a session.")
]


@access.command("list")
def list_grants(context: typer.Context, as_json: AsJson = False) -> None:
    """List the IAM roles that were granted something: role, roles, scopes, agent and tier.

    The administrators that the deployment itself names are not among them.
    """
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        found = client.access()
    if as_json:
        terminal.document(found.answer)
        return
    if not found.grants:
        terminal.notice("Nothing is granted: only administrators of the deployment may call.")
    terminal.table(
        ("role", "may", "scopes", "agent", "tier"),
        [
            (
                each.role,
                ", ".join(each.roles),
                ", ".join(each.scopes) or "-",
                each.agent or "-",
                each.tier or "-",
            )
            for each in found.grants
        ],
    )


@access.command()
def grant(
    context: typer.Context,
    role_arn: RoleArn,
    roles: Annotated[
        list[str],
        typer.Option(
            "--role",
            metavar="ROLE",
            help="reader, author, maintainer or admin; repeat it for several of them.",
        ),
    ],
    scopes: Annotated[
        list[str] | None,
        typer.Option(
            "--scope",
            help="A scope that it reads, and as a maintainer writes; repeat it for several, the"
            " first one wins.",
        ),
    ] = None,
    agent: Annotated[str | None, typer.Option(help="The agent that calls with it.")] = None,
    tier: Annotated[str | None, typer.Option(help="The tier of its model: lite or ultra.")] = None,
    reason: Reason = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Let an IAM role call, and replace what it was granted before.

    A reader loads skills; an author publishes in a scope of its own; a maintainer in the scopes of
    --scope too; an admin everywhere. It counts within a minute.

    Example: skillctl access grant arn:aws:iam::123456789012:role/review-bot --role reader
    """
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        if dry_run:
            dry_runs.check_grant(role_arn, tuple(roles), tier)
            wanted = Grant(role_arn, tuple(roles), tuple(scopes or ()), agent, tier)
            _would_change(client, terminal, role_arn, wanted)
            return
        now = client.grant(
            role_arn, roles=roles, scopes=scopes or (), agent=agent, tier=tier, reason=reason
        )
    terminal.done(now.answer, f"{role_arn} is {' and '.join(roles)} now.")


@access.command()
def revoke(
    context: typer.Context,
    role_arn: RoleArn,
    reason: Reason = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Take away what an IAM role was granted.

    It counts within a minute. What the role published stays.

    Example: skillctl access revoke arn:aws:iam::123456789012:role/review-bot
    """
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        if dry_run:
            _would_change(client, terminal, role_arn, None)
            return
        now = client.revoke(role_arn, reason=reason)
    terminal.done(now.answer, f"{role_arn} has no grant now.")


def _would_change(
    client: RegistryClient, terminal: Terminal, role_arn: str, wanted: Grant | None
) -> None:
    before = dry_runs.grant_of(client, role_arn)
    forms = {"before": dry_runs.as_document(before), "after": dry_runs.as_document(wanted)}
    terminal.done(
        {"dry_run": True, "role": role_arn, **forms},
        f"Would change {role_arn}: {dry_runs.granted(before)} -> {dry_runs.granted(wanted)}.",
    )
