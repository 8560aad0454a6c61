"""Commands that only read."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from skill_registry.agent.source import SkillQuery
from skill_registry_cli.options import AsJson, Name, ReadScope
from skill_registry_cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skill_registry.agent.answers import Listing, Version, View

# The whole set of files says more than the body alone.
_DIGESTS = ("filesSha256", "bodySha256")


Agent = Annotated[
    str | None,
    typer.Option(metavar="AGENT", help="Only what is for this agent, as it would see it."),
]
Tier = Annotated[
    Literal["lite", "ultra"] | None,
    typer.Option(help="Only what is for models of this tier."),
]
Words = Annotated[
    str | None,
    typer.Option(
        "--query",
        "-q",
        metavar="WORDS",
        help="Only skills that have these words, or words that begin so; the best first.",
    ),
]
Tools = Annotated[
    list[str] | None,
    typer.Option(
        "--tool",
        metavar="TOOL",
        help="Only skills that need no other tools; repeat it for several.",
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        "--lang", metavar="LANG", help="Descriptions in this language, like de, where there are."
    ),
]


def list_skills(
    context: typer.Context,
    scope: Annotated[
        list[str] | None,
        typer.Option(help="Only this scope; repeat it for several, the first one wins."),
    ] = None,
    words: Words = None,
    agent: Agent = None,
    tier: Tier = None,
    tools: Tools = None,
    language: Language = None,
    as_json: AsJson = False,
) -> None:
    """List the skills that you may load: name, version, scope, origin and description.

    The origin is repository and commit of a skill that was taken over from elsewhere, else `-`. Off
    a terminal each skill is one line, with tabs between.

    Examples: `skillctl list -q release`, `skillctl list --agent review --scope team-payments`
    """
    query = SkillQuery(
        agent=agent, tier=tier, tools=tuple(tools) if tools else None, language=language
    )
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        pages = list(client.list_pages(scope or (), limit=500, query=query, words=words))
    if as_json:
        terminal.document(_whole_listing(pages))
        return
    skills = [skill for page in pages for skill in page.skills]
    if not skills:
        terminal.notice("There is no skill that you may load.")
    terminal.table(
        ("name", "version", "scope", "from", "description"),
        [
            (each.name, _tag(each.version), each.scope, _origin(each.answer), each.description)
            for each in skills
        ],
    )
    for page in pages:
        terminal.diagnostics(page.diagnostics)


def view(
    context: typer.Context,
    name: Name,
    path: Annotated[
        str | None,
        typer.Argument(metavar="PATH", help="A file in it; without one, the skill's body."),
    ] = None,
    version: Annotated[
        str | None, typer.Option(metavar="N", help="A version's number, or @ and a label.")
    ] = None,
    scope: ReadScope = None,
    agent: Agent = None,
    tier: Tier = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="The stored bytes: SKILL.md with its frontmatter.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print a skill's body, or one of its files, byte for byte.

    The content goes to stdout. Which version it is of, and where the skill was taken over from,
    goes to stderr.

    Examples: `skillctl view release-notes`, `skillctl view release-notes references/format.md
    --version @stable`
    """
    query = SkillQuery(agent=agent, tier=tier)
    with Session.of(context).asking(as_json=as_json) as (client, terminal):
        seen = client.view_skill(name, path, version, scope, raw, query=query)
    if as_json:
        terminal.document(seen.answer or _document(seen))
        return
    terminal.notice(f"{seen.name} v:{_tag(seen.version)} in {seen.scope}, {seen.path}")
    if upstream := _upstream(seen.metadata):
        said = f"From {upstream['repo']} at {upstream['commit']}, {upstream['path']}."
        digest = next((each for each in _DIGESTS if each in upstream), None)
        terminal.notice(f"{said} {digest}: {upstream[digest]}" if digest else said)
    terminal.data(seen.data)


def _upstream(answer: Mapping[str, Any]) -> dict[str, str] | None:
    """Return where a skill was taken over from, as its frontmatter says; None where it was not."""
    block = answer.get("upstream")
    if not isinstance(block, dict):
        return None
    said = {key: value for key, value in block.items() if isinstance(value, str)}
    return said if said.keys() >= {"repo", "commit", "path"} else None


def _origin(answer: Mapping[str, Any]) -> str:
    upstream = _upstream(answer)
    if upstream is None:
        return "-"
    where = upstream["repo"].removeprefix("https://").removeprefix("github.com/")
    return f"{where}@{upstream['commit'][:12]}"


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
