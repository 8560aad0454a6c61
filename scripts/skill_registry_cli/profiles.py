"""What skillctl is configured with: registries by name, and how to prove who calls each of them.

    default = "work"

    [profiles.work]
    url = "https://registry.example.com"
    auth = "iam"              # or "token", with token or token_command; or "none"
    aws_profile = "payments"
    region = "eu-central-1"

Members that this version does not know are kept. No message and no ``repr`` holds a token.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import tomli_w
import typer

from skill_registry.agent.requests import registry_url
from skill_registry.errors import RegistryError, RequestInvalid

if TYPE_CHECKING:
    from collections.abc import Mapping

_HEAD = b"# Kept by skillctl login, logout and profile use, which do not keep comments.\n"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}")


class Auth(StrEnum):
    """How a registry is told who calls."""

    NONE = "none"
    IAM = "iam"
    TOKEN = "token"


_MEMBERS = {
    Auth.NONE: (),
    Auth.IAM: ("aws_profile", "region"),
    Auth.TOKEN: ("token", "token_command"),
}
_CREDENTIALS = tuple(member for members in _MEMBERS.values() for member in members)


@dataclass(frozen=True, slots=True)
class Profile:
    """One registry by name.

    Attributes:
        url: The only address that the credentials are for.
        aws_profile, region: With IAM; else as the environment of the AWS tools has them.
        token: A bearer token.
        token_command: A command line instead, whose output is the token. It is run without a shell.

    Raises:
        RequestInvalid: ``config_invalid``: its parts do not go together.
    """

    name: str
    url: str
    auth: Auth = Auth.NONE
    aws_profile: str | None = None
    region: str | None = None
    token: str | None = field(default=None, repr=False)
    token_command: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.auth is Auth.TOKEN and (self.token is None) == (self.token_command is None):
            raise self._invalid('auth = "token" needs either token or token_command')
        for member in _CREDENTIALS:
            value = getattr(self, member)
            if value is not None and member not in _MEMBERS[self.auth]:
                raise self._invalid(f'{member} does not go with auth = "{self.auth}"')
            if value is not None and not value.strip():
                raise self._invalid(f"{member} is empty")
        if self.token_command is not None and not _splits(self.token_command):
            raise self._invalid("token_command is no command line")

    def _invalid(self, why: str) -> RequestInvalid:
        return RequestInvalid(f'Profile "{self.name}": {why}.', code="config_invalid")

    def program(self) -> str:
        """Return the program that prints the token; what stands behind it may be secret."""
        return shlex.split(self.token_command or "-")[0]

    def to_dict(self) -> dict[str, str]:
        """Return the profile as the file has it, its token too."""
        values = {member: getattr(self, member) for member in _CREDENTIALS}
        known = {member: value for member, value in values.items() if value is not None}
        return {"url": self.url, "auth": self.auth.value, **known}

    def shown(self) -> dict[str, Any]:
        """Return the JSON form for people and programs: where a token is from, and never one."""
        parts: dict[str, Any] = {"name": self.name, "url": self.url, "auth": self.auth.value}
        for member in _MEMBERS[Auth.IAM] if self.auth is Auth.IAM else ():
            parts[member] = getattr(self, member)
        if self.auth is Auth.TOKEN:
            parts["token_from"] = "file" if self.token is not None else "command"
        return parts


@dataclass(frozen=True, slots=True)
class Config:
    """What the file says.

    Attributes:
        default: The name of the profile in use.
        profiles: All of them, in the order of the file.
    """

    default: str | None = None
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    _document: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def profile(self, name: str) -> Profile:
        """Return a profile.

        Raises:
            RequestInvalid: ``profile_unknown``.
        """
        if name not in self.profiles:
            there = ", ".join(self.profiles)
            known = f"There are: {there}." if there else "There is none yet: skillctl login."
            raise RequestInvalid(f'There is no profile "{name}". {known}', code="profile_unknown")
        return self.profiles[name]

    def using(self, name: str) -> Config:
        """Return the config with another profile in use.

        Raises:
            RequestInvalid: ``profile_unknown``.
        """
        return read({**self._document, "default": self.profile(name).name})

    def including(self, profile: Profile) -> Config:
        """Return the config with a profile, which replaces one of the same name and is in use."""
        profiles = {**self._document.get("profiles", {}), profile.name: profile.to_dict()}
        return read({**self._document, "default": profile.name, "profiles": profiles})

    def without(self, name: str) -> Config:
        """Return the config without a profile; where that was in use, none is then.

        Raises:
            RequestInvalid: ``profile_unknown``.
        """
        self.profile(name)
        document = dict(self._document)
        document["profiles"] = {k: v for k, v in document["profiles"].items() if k != name}
        if self.default == name:
            del document["default"]
        return read(document)

    def to_bytes(self) -> bytes:
        """Return the file.

        Raises:
            RequestInvalid: ``config_invalid``: a text has characters that no file can hold.
        """
        try:
            return _HEAD + tomli_w.dumps(self._document).encode()
        except UnicodeEncodeError:
            why = "A name or a value has characters that are no text."
        raise RequestInvalid(why, code="config_invalid")


def named(text: str) -> str:
    """Return the name of a new profile.

    Raises:
        typer.BadParameter: It is none.
    """
    if not _NAME.fullmatch(text):
        raise typer.BadParameter("a profile's name has letters, digits and . _ : - in it.")
    return text


def read(document: Mapping[str, Any]) -> Config:
    """Read a parsed file.

    Raises:
        RequestInvalid: ``config_invalid``; it names the member, and no value.
    """
    default, tables = document.get("default"), document.get("profiles", {})
    if default is not None and not isinstance(default, str):
        raise RequestInvalid("default is no text.", code="config_invalid")
    if not isinstance(tables, dict) or not all(isinstance(each, dict) for each in tables.values()):
        raise RequestInvalid("profiles is no table of tables.", code="config_invalid")
    profiles = {name: _profile(name, table) for name, table in tables.items()}
    return Config(default, profiles, document)


def _profile(name: str, table: Mapping[str, Any]) -> Profile:
    values: dict[str, Any] = {name: table.get(name) for name in ("url", "auth", *_CREDENTIALS)}
    for member, value in values.items():
        if value is not None and not isinstance(value, str):
            raise RequestInvalid(f'Profile "{name}": {member} is no text.', code="config_invalid")
    try:
        # Whose text is wrong is known here, and what it says may be a secret.
        values["url"] = registry_url(values["url"] or "")
    except RegistryError:
        why = f'Profile "{name}": url is no address of a registry.'
    else:
        auth = values.pop("auth") or Auth.NONE.value
        if auth in set(Auth):
            return Profile(name, auth=Auth(auth), **values)
        why = f'Profile "{name}": auth is not one of {", ".join(Auth)}.'
    raise RequestInvalid(why, code="config_invalid")


def _splits(command: str) -> bool:
    try:
        return bool(shlex.split(command))
    except ValueError:
        return False
