"""How a skill's directory on this machine stands to the registry, in two requests at most."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skill_registry.agent.local_state import stated_version
from skill_registry.agent.problems import RegistryProblem
from skill_registry.agent.walking import reason
from skill_registry.errors import SkillInvalid
from skill_registry.spec.diagnostics import error
from skill_registry.spec.names import shown_path
from skill_registry_cli.local_copies import (
    State,
    Verdict,
    by_path,
    differences,
    judge,
    listed,
    would_push,
)

if TYPE_CHECKING:
    from pathlib import Path

    from skill_registry.agent.answers import Version, View
    from skill_registry.agent.client import RegistryClient
    from skill_registry.spec.model import Diagnostic
    from skill_registry_cli.local_copies import Files, Pushed

_UNKNOWN = "skill_not_found"
# What a registry says of a version that it does not have, or no more.
_NOT_TO_BE_HAD = (404, 410)


@dataclass(frozen=True, slots=True)
class Checked:
    """A directory that was compared.

    Attributes:
        name: The skill that a push of it would be of.
        here: What its ``.version`` says.
        registry: The registry's version; None also where it was not asked, or knows none.
        diagnostics: Why a push would refuse it.
    """

    name: str
    path: str
    verdict: Verdict
    here: int | None
    registry: Version = None
    scope: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def state(self) -> State:
        """How it stands to the registry."""
        return self.verdict.state

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        document: dict[str, Any] = {
            "name": self.name,
            "path": self.path,
            "state": self.state.value,
            "here": self.here,
            "registry": self.registry,
            "scope": self.scope,
            "files": [each.to_dict() for each in self.verdict.differences],
        }
        if self.diagnostics:
            document["diagnostics"] = [each.to_dict() for each in self.diagnostics]
        return document


class Checker:
    """Compares directories with one registry. May be shared by threads."""

    def __init__(self, client: RegistryClient, scope: str | None = None) -> None:
        self._client = client
        self._scope = scope

    def check(self, directory: Path) -> Checked:
        """Compare a skill's directory.

        Raises:
            RegistryError: The registry does not say.
        """
        path = shown_path(os.path.normpath(directory))
        here = stated_version(directory)
        try:
            pushed = would_push(directory)
        except SkillInvalid as refused:
            return _invalid(directory, path, here, refused.diagnostics)
        except OSError as failure:
            found = error("unreadable", f"It cannot be read: {reason(failure)}.")
            return _invalid(directory, path, here, (found,))
        try:
            view = self._client.view_skill(pushed.name, scope=self._scope)
        except RegistryProblem as problem:
            if problem.code != _UNKNOWN:
                raise
            return Checked(pushed.name, path, Verdict(State.UNKNOWN), here)
        verdict = self._verdict(pushed, here, view)
        return Checked(pushed.name, path, verdict, here, view.version, view.scope)

    def _verdict(self, pushed: Pushed, here: int | None, view: View) -> Verdict:
        files, current = listed(pushed.files), by_path(view.files)
        own: Files | None = None
        if here is not None and here != view.version and differences(current, files):
            own = self._files_of(view, here)
        return judge(files, here, view.version, current, own)

    def _files_of(self, view: View, version: int) -> Files | None:
        try:
            found = self._client.view_skill(view.name, version=version, scope=view.scope)
        except RegistryProblem as problem:
            if problem.status not in _NOT_TO_BE_HAD:
                raise
            return None
        return by_path(found.files)


def _invalid(
    directory: Path, path: str, here: int | None, found: tuple[Diagnostic, ...]
) -> Checked:
    name = shown_path(directory.resolve().name)
    return Checked(name, path, Verdict(State.INVALID), here, diagnostics=found)
