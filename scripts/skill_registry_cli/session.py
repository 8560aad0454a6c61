"""What every command of one run shares: where the registry is, who asks, where output goes."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from skill_registry.agent.client import RegistryClient
from skill_registry.errors import RegistryError
from skill_registry_cli.failures import exit_code
from skill_registry_cli.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULT_URL = "http://127.0.0.1:8080"


@dataclass(frozen=True, slots=True)
class Session:
    """One run of the command line.

    Attributes:
        as_json: ``--json`` was given before the command.
    """

    url: str = DEFAULT_URL
    claims: dict[str, Any] | None = None
    as_json: bool = False

    @classmethod
    def of(cls, context: typer.Context) -> Session:
        """Return the session that the global options made."""
        session: Session = context.obj
        return session

    def terminal(self, *, as_json: bool) -> Terminal:
        """Return this process's output."""
        return Terminal(sys.stdout, sys.stderr, as_json=as_json)

    @contextmanager
    def asking(self, *, as_json: bool) -> Iterator[tuple[RegistryClient, Terminal]]:
        """Give a client and this process's output; a refusal is printed and ends the run."""
        terminal = self.terminal(as_json=as_json)
        try:
            with self.client() as client:
                yield client, terminal
        except RegistryError as error:
            terminal.refusal(error)
            raise typer.Exit(exit_code(error)) from error

    def client(self) -> RegistryClient:
        """Open a client; close it with ``with``."""
        return RegistryClient(self.url, claims=self.claims)


def read_claims(text: str | None) -> dict[str, Any] | None:
    """Read the claims of a local identity.

    Raises:
        typer.BadParameter: They are no JSON object.
    """
    if text is None:
        return None
    try:
        claims = json.loads(text)
    except ValueError:
        claims = None
    if not isinstance(claims, dict):
        raise typer.BadParameter('claims are a JSON object, like {"sub": "alice"}.')
    return claims
