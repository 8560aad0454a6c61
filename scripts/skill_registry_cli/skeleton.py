"""``skillctl new``: a skill to begin with, which a publish would take as it is."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from skill_registry.errors import RegistryError, SkillInvalid
from skill_registry.spec.layout import ArchiveContents
from skill_registry.spec.model import SKILL_MD, SkillFile, has_errors
from skill_registry.spec.names import check_skill_name, shown_path
from skill_registry.spec.text import shown
from skill_registry.spec.validation import check_contents
from skill_registry_cli.failures import exit_code
from skill_registry_cli.options import AsJson, DryRun
from skill_registry_cli.session import Session

REFERENCE = "references/details.md"
SCRIPT = "scripts/run.sh"
# What YAML reads as this very text, whatever stands around it.
_PLAIN = re.compile(r"[A-Za-z][\w.,;()'/-]*(?: [\w.,;()'/-]+)+")
_PLAIN_AGENT = re.compile(r"[a-z][a-z0-9-]*[a-z0-9-]")
_YAML_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off"})
_BODY = """
Write here what an agent should do, step by step. All of this text is read whenever the skill is
loaded, so keep it short, and name only what a capable agent would not do by itself.

1. Say what to look at first.
2. Say what to do with it.
3. Say how to tell that it is done.
"""
_ABOUT_REFERENCE = f"""
Read `{REFERENCE}` when this text is not enough.
"""
_ABOUT_SCRIPT = f"""
Run `{SCRIPT}` for the steps that should go the same way every time.
"""
_REFERENCE = """# Details

What only some tasks need goes here: long lists, formats, examples. An agent reads this file only
where SKILL.md sends it here, so that it costs nothing otherwise.
"""
_SCRIPT = """#!/bin/sh
# What an agent runs instead of writing it anew each time. It prints what the agent should know.
set -eu
echo "Nothing to do yet."
"""


def skeleton(
    name: str,
    description: str | None = None,
    agents: tuple[str, ...] = (),
    *,
    reference: bool = False,
    script: bool = False,
) -> tuple[SkillFile, ...]:
    """Return the files of a skill to begin with.

    Args:
        name: The skill.
        description: What it is for, any text; None takes a sentence to be replaced.
        agents: Whom it is for; none of them: for everybody.
        reference: With a file that is read on demand.
        script: With a script.
    """
    text = description if description is not None else _to_be_replaced(name)
    head = f"---\nname: {name}\ndescription: {_scalar(text)}\n"
    if agents:
        head += f"agents: [{', '.join(_agent(each) for each in agents)}]\n"
    body = f"---\n\n# {name.replace('-', ' ').capitalize()}\n{_BODY}"
    body += _ABOUT_REFERENCE * reference + _ABOUT_SCRIPT * script
    files = [SkillFile(SKILL_MD, (head + body).encode("utf-8", "replace"))]
    if reference:
        files.append(SkillFile(REFERENCE, _REFERENCE.encode()))
    if script:
        files.append(SkillFile(SCRIPT, _SCRIPT.encode(), True))
    return tuple(files)


NewName = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="What to call it: a-z, 0-9 and single hyphens, 64 at most."
    ),
]
Folder = Annotated[
    Path,
    typer.Option(
        "--in",
        metavar="DIR",
        file_okay=False,
        help="Where its directory is to lie; it is made where it is missing.",
    ),
]
Description = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT", help='What it does and when to load it: "Does this. Use when ...".'
    ),
]
Agents = Annotated[
    list[str] | None,
    typer.Option(
        "--agent",
        metavar="AGENT",
        help="Whom it is for; repeat it for several. Without one, for everybody.",
    ),
]
WithReference = Annotated[
    bool, typer.Option("--reference", help=f"With {REFERENCE}, for what only some tasks need.")
]
WithScript = Annotated[bool, typer.Option("--script", help=f"With {SCRIPT}, for an agent to run.")]


def new(
    context: typer.Context,
    name: NewName,
    folder: Folder = Path(),
    description: Description = None,
    agents: Agents = None,
    reference: WithReference = False,
    script: WithScript = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Begin a skill: write the directory DIR/NAME with a SKILL.md that a publish would take.

    Its text says what belongs where; replace it with yours. Nothing is overwritten, and no registry
    is asked.

    Example: skillctl new release-notes --description "Writes release notes. Use when a version is
    cut."
    """
    terminal = Session.of(context).terminal(as_json=as_json)
    files = skeleton(name, description, tuple(agents or ()), reference=reference, script=script)
    path = folder / name
    try:
        _check(name, files)
        if os.path.lexists(path):
            raise _is_there(path)
        if not dry_run:
            _write(path, files)
    except RegistryError as error:
        terminal.refusal(error)
        raise typer.Exit(exit_code(error)) from error
    names = [each.path for each in files]
    # A warning, of a name that others reserve: who chose it should know.
    found = check_skill_name(name)
    if as_json:
        document = {"name": name, "path": str(path), "files": names, "dry_run": dry_run}
        told = {"diagnostics": [each.to_dict() for each in found]} if found else {}
        terminal.document({**document, **told})
        return
    where = shown_path(str(path))
    terminal.say(f"{'Would make' if dry_run else 'Made'} {where} with {', '.join(names)}.")
    terminal.diagnostics(found)
    if not dry_run:
        terminal.notice(f"Write it, then: skillctl validate {where}, skillctl push {where}.")


def _check(name: str, files: tuple[SkillFile, ...]) -> None:
    """Refuse what a publish would.

    Raises:
        SkillInvalid: With every diagnostic.
    """
    found = tuple(check_skill_name(name))
    if has_errors(found):
        elsewhere = " Say where it is to lie with --in." if "/" in name else ""
        raise SkillInvalid(f"{shown(name)} cannot be the name of a skill.{elsewhere}", found)
    report = check_contents(ArchiveContents(files), name=name)
    if not report.ok:
        raise SkillInvalid(f"`{name}` would break rules; nothing was written.", report.diagnostics)


def _write(path: Path, files: tuple[SkillFile, ...]) -> None:
    """Make the directory, whole or not at all.

    Raises:
        RegistryError: ``path_exists``.
        OSError: It cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        made = staging / path.name
        for each in files:
            target = made / each.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(each.data)
            if each.executable:
                # For those who may read it, as the user's umask has it.
                mode = target.stat().st_mode
                target.chmod(mode | (mode & 0o444) >> 2)
        # Before the rename, which takes the place of an empty directory without a word.
        if os.path.lexists(path):
            raise _is_there(path)
        made.rename(path)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _is_there(path: Path) -> RegistryError:
    where = shown_path(str(path))
    return RegistryError(f"{where} is there already; nothing was written.", code="path_exists")


def _to_be_replaced(name: str) -> str:
    return (
        "Replace this sentence with what the skill does for whoever loads it."
        f" Use when a task is about {name.replace('-', ' ')}."
    )


def _scalar(text: str) -> str:
    """Return a text as YAML: as it is where that is plain, else in quotes."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _agent(text: str) -> str:
    plain = _PLAIN_AGENT.fullmatch(text) and text not in _YAML_WORDS
    return text if plain else json.dumps(text, ensure_ascii=False)
