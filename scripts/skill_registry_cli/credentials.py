"""What proves who calls: made of a profile, or of the environment of a CI job."""

from __future__ import annotations

import shlex
import subprocess
import threading
import time
from typing import TYPE_CHECKING

from skill_registry.agent.auth import BearerToken, SigV4
from skill_registry.agent.problems import CredentialsFailed
from skill_registry.errors import RequestInvalid
from skill_registry_cli.profiles import Auth, Profile

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

TOKEN_VARIABLE = "SKILL_REGISTRY_TOKEN"
AUTH_VARIABLE = "SKILL_REGISTRY_AUTH"
# Seconds. A token lives for minutes at least, and a run of few requests should ask once.
_FRESH = 60.0
_PATIENCE = 120.0


class TokenCommand:
    """Returns what a command line prints, and remembers it for a minute.

    May be shared by threads. The command is run without a shell and with nothing on its stdin; what
    it says on stderr is for the user.
    """

    def __init__(self, command: str) -> None:
        self._arguments = shlex.split(command)
        self._lock = threading.Lock()
        self._token = ""
        self._until = 0.0

    def __call__(self) -> str:
        """Return the token.

        Raises:
            CredentialsFailed: The command failed, or printed nothing.
        """
        with self._lock:
            if time.monotonic() >= self._until:
                self._token = self._printed()
                self._until = time.monotonic() + _FRESH
            return self._token

    def _printed(self) -> str:
        program = self._arguments[0]
        try:
            done = subprocess.run(
                self._arguments,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                timeout=_PATIENCE,
                check=False,
            )
        except OSError as error:
            why = f"cannot be run: {error.strerror or 'no such program'}"
        except subprocess.TimeoutExpired:
            why = f"did not end within {_PATIENCE:.0f} seconds"
        else:
            token = done.stdout.decode("ascii", "replace").strip()
            if done.returncode == 0 and token:
                return token
            why = "printed nothing" if done.returncode == 0 else f"ended with {done.returncode}"
        # Outside, since those exceptions hold the whole command line and what it printed.
        raise CredentialsFailed(f"No token could be had: the token command ({program}) {why}.")

    def __repr__(self) -> str:
        return "TokenCommand(...)"


def of_profile(profile: Profile) -> httpx.Auth | None:
    """Return what a profile proves its user with; None where it has no authentication.

    Raises:
        RequestInvalid: ``token_invalid``, ``aws_extra_missing``.
    """
    match profile.auth:
        case Auth.IAM:
            return _signature(profile.region, profile.aws_profile)
        case Auth.TOKEN if profile.token_command is not None:
            return BearerToken(TokenCommand(profile.token_command))
        case Auth.TOKEN:
            return BearerToken(profile.token or "")
        case _:
            return None


def of_environment(environment: Mapping[str, str]) -> httpx.Auth | None:
    """Return what ``SKILL_REGISTRY_TOKEN`` or ``SKILL_REGISTRY_AUTH=iam`` asks for.

    Raises:
        RequestInvalid: ``environment_invalid`` (they are not to be understood), ``token_invalid``.
    """
    token = environment.get(TOKEN_VARIABLE, "")
    auth = environment.get(AUTH_VARIABLE) or (Auth.TOKEN if token else Auth.NONE)
    if auth not in set(Auth):
        why = f"{AUTH_VARIABLE} is not one of {', '.join(Auth)}."
    elif auth != Auth.TOKEN and token:
        why = f"{AUTH_VARIABLE}={auth} does not go with {TOKEN_VARIABLE}: unset one of them."
    elif auth == Auth.TOKEN:
        return BearerToken(token)
    else:
        return _signature(None, None) if auth == Auth.IAM else None
    raise RequestInvalid(why, code="environment_invalid")


def _signature(region: str | None, aws_profile: str | None) -> SigV4:
    if aws_profile is None:
        return SigV4(region)
    try:
        # Here, since it takes longer to load than most commands take.
        from botocore.session import Session
    except ImportError as error:
        raise RequestInvalid(
            "Signing needs botocore: pip install 'skill-registry[cli]'.", code="aws_extra_missing"
        ) from error
    return SigV4(region, session=Session(profile=aws_profile))
