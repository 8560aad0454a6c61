"""Commands that only read."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skill_registry_cli.options import AsJson, Name, ReadScope
from skill_registry_cli.session import Session

if TYPE_CHECKING:
    from skill_registry.agent.answers import Listing, Version, View


def list_skills(
    context: typer.Context,
    scope: Annotated[
        list[str] | None,
        typer.Option(help="Only this scope; repeat it for several, the first one wins."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the skills that you may load."""
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        pages = list(client.list_pages(scope or (), limit=500))
    if as_json:
        terminal.document(_whole_listing(pages))
        return
    skills = [skill for page in pages for skill in page.skills]
    if not skills:
        terminal.notice("There is no skill that you may load.")
    terminal.table(
        ("name", "version", "scope", "description"),
        [(each.name, _tag(each.version), each.scope, each.description) for each in skills],
    )
    for page in pages:
        terminal.diagnostics(page.diagnostics)


def view(
    context: typer.Context,
    name: Name,
    path: Annotated[
        str | None,
        typer.Argument(metavar="[PATH]", help="A file in it; without one, the skill's body."),
    ] = None,
    version: Annotated[
        str | None, typer.Option(metavar="N", help="A version's number, or @ and a label.")
    ] = None,
    scope: ReadScope = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="The stored bytes: SKILL.md with its frontmatter.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print a skill's body, or one of its files, byte for byte.

    The content goes to stdout; which version it is of goes to stderr.
    """
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        seen = client.view_skill(name, path, version, scope, raw)
    if as_json:
        terminal.document(seen.answer or _document(seen))
        return
    terminal.notice(f"{seen.name} v:{_tag(seen.version)} in {seen.scope}, {seen.path}")
    terminal.data(seen.data)


def _whole_listing(pages: list[Listing]) -> dict[str, Any]:
    """Return the pages as one answer."""
    found = [each.to_dict() for page in pages for each in page.diagnostics]
    return {
        **{key: value for key, value in pages[0].answer.items() if key != "next"},
        "skills": [dict(skill.answer) for page in pages for skill in page.skills],
        "catalog_version": {k: v for page in pages for k, v in page.catalog_version.items()},
        **(
            {"diagnostics": [d for i, d in enumerate(found) if d not in found[:i]]} if found else {}
        ),
    }


def _document(seen: View) -> dict[str, Any]:
    """Return stored bytes as the registry answers with them in JSON."""
    document: dict[str, Any] = {
        "name": seen.name,
        "scope": seen.scope,
        "version": seen.version,
        "path": seen.path,
    }
    try:
        document["content"] = seen.data.decode()
    except UnicodeDecodeError:
        document["content"] = base64.b64encode(seen.data).decode()
        document["encoding"] = "base64"
    document["sha256"] = hashlib.sha256(seen.data).hexdigest()
    return document


def _tag(version: Version) -> str:
    return "-" if version is None else str(version)
