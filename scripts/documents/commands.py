"""The table of skillctl's commands, from the program itself."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer.main

from skill_registry_cli.main import app

if TYPE_CHECKING:
    from collections.abc import Iterator

_SENTENCE = re.compile(r".+?[.](?=\s|$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Command:
    """One command of the program.

    Attributes:
        path: Its words, like ``("access", "grant")``.
        usage: What is typed, without options.
        first: The first sentence of its help.
        command: What the library made of it.
    """

    path: tuple[str, ...]
    usage: str
    first: str
    command: Any


def commands() -> tuple[Command, ...]:
    """Return every command that does something, in the order of the help."""
    return tuple(_below(typer.main.get_command(app), ()))


def commands_table() -> str:
    """Return the commands as a Markdown table."""
    rows = "".join(f"| `{each.usage}` | {each.first} |\n" for each in commands())
    return f"| command | what it does |\n|---|---|\n{rows}"


def _below(command: Any, path: tuple[str, ...]) -> Iterator[Command]:
    inner = getattr(command, "commands", None)
    if inner is not None:
        for name, each in inner.items():
            yield from _below(each, (*path, name))
        return
    words = [each for each in map(_argument, command.params) if each]
    usage = " ".join(("skillctl", *path, *words))
    yield Command(path, usage, first_sentence(command.help or ""), command)


def _argument(parameter: Any) -> str:
    """Return an argument, or an option that has to be given, as it is typed."""
    if parameter.param_type_name == "argument":
        name: str = parameter.metavar or parameter.name.upper()
        typed = name if parameter.required or name.startswith("[") else f"[{name}]"
        return f"{typed}..." if parameter.nargs == -1 else typed
    if parameter.required:
        value: str = parameter.metavar or parameter.name.upper()
        return f"{parameter.opts[0]} {value}"
    return ""


def first_sentence(text: str) -> str:
    """Return the first sentence of a help, in one line."""
    first = inspect.cleandoc(text).split("\n\n")[0]
    found = _SENTENCE.match(first)
    return " ".join((found[0] if found else first).split())
