"""What every command of one run shares: where the registry is, who asks, where output goes."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from skill_registry.agent.client import RegistryClient
from skill_registry.errors import RegistryError
from skill_registry_cli import config_file, credentials
from skill_registry_cli.failures import exit_code
from skill_registry_cli.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx

    from skill_registry_cli.profiles import Config, Profile

DEFAULT_URL = "http://127.0.0.1:8080"


@dataclass(frozen=True, slots=True)
class Session:
    """One run of the command line.

    The config file is read where a client is made, so that it is in nobody's way before.

    Attributes:
        url: The address that an option or the environment names; it comes before every profile.
        as_json: ``--json`` was given before the command.
        profile: The profile that an option or the environment names, else the default one is used.
    """

    url: str | None = None
    claims: dict[str, Any] | None = None
    as_json: bool = False
    profile: str | None = None

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
        """Open a client; close it with ``with``.

        Raises:
            RequestInvalid: The address, the config file or the credentials are of no use.
        """
        url, auth = self.target()
        return RegistryClient(url, auth=auth, claims=self.claims)

    def target(self) -> tuple[str, httpx.Auth | None]:
        """Return the registry's address and what proves who calls it.

        What a profile holds goes to the profile's own address, and what the environment holds to
        the one that came with it: neither ever to the other's.

        Raises:
            RequestInvalid: As ``client``.
        """
        if self.url is not None:
            return self.url, credentials.of_environment(os.environ)
        profile = self.profile_in_use(config_file.load(self.config_path))
        if profile is None:
            return DEFAULT_URL, None
        return profile.url, credentials.of_profile(profile)

    @property
    def config_path(self) -> Path:
        """Where the config file is."""
        return config_file.config_path(os.environ)

    def profile_in_use(self, config: Config) -> Profile | None:
        """Return the profile that is asked for, else the default one, else None.

        Raises:
            RequestInvalid: ``profile_unknown``.
        """
        name = self.profile if self.profile is not None else config.default
        return None if name is None else config.profile(name)


def chosen(context: typer.Context) -> tuple[str | None, str | None]:
    """Return the address and the profile that options and environment name.

    What is typed comes before the environment, and an address before a profile.

    Raises:
        typer.BadParameter: Options name two registries.
    """
    typed = [
        name
        for name in ("url", "profile")
        if (source := context.get_parameter_source(name)) and source.name == "COMMANDLINE"
    ]
    if len(typed) == 2:
        raise typer.BadParameter("--url and --profile both name the registry: choose one.")
    url, profile = context.params.get("url"), context.params.get("profile")
    return (None, profile) if typed == ["profile"] else (url, profile)


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
