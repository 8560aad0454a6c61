"""Commands for administrators: which IAM roles may call, and what each may do."""

from __future__ import annotations

from typing import Annotated

import typer

from skill_registry_cli.options import AsJson, Reason
from skill_registry_cli.session import Session

access = typer.Typer(help="Say which IAM roles may call.")

RoleArn = Annotated[
    str, typer.Argument(metavar="ROLE_ARN", help="The ARN of an IAM role, not of a session.")
]


@access.command("list")
def list_grants(context: typer.Context, as_json: AsJson = False) -> None:
    """List the IAM roles that were granted something: role, roles, scopes, agent and tier."""
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
            "--role", help="reader, author, maintainer or admin; repeat it for several of them."
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
    as_json: AsJson = False,
) -> None:
    """Let an IAM role call. What it was granted before is replaced."""
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        now = client.grant(
            role_arn, roles=roles, scopes=scopes or (), agent=agent, tier=tier, reason=reason
        )
    terminal.done(now.answer, f"{role_arn} is {' and '.join(roles)} now.")


@access.command()
def revoke(
    context: typer.Context, role_arn: RoleArn, reason: Reason = None, as_json: AsJson = False
) -> None:
    """Take away what an IAM role was granted."""
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        now = client.revoke(role_arn, reason=reason)
    terminal.done(now.answer, f"{role_arn} has no grant now.")
