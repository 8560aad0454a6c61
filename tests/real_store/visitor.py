"""One client of a crowd: what it was told so far, and whether the next answer goes back behind it.

Views, histories and publishes tell the truth of the moment; listings and checks may follow a little
later, so each of the two has a memory of its own, and what a listing said binds the views too.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Skill = tuple[str, str]


@dataclass(slots=True)
class Told:
    """What all answers to one client add up to.

    Attributes:
        statuses: Answers by call and status.
        violations: Answers that must not be: a status from 500 on, one that the call does not have,
            a version that went backwards.
    """

    statuses: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    seen: dict[Skill, int] = field(default_factory=dict)
    listed: dict[Skill, int] = field(default_factory=dict)
    catalogs: dict[str, int] = field(default_factory=dict)

    def of_authority(self, skill: Skill, version: Any, what: str) -> None:
        """Take in a version that a view, a history or a write told."""
        self._grows(self.seen, skill, version, what)

    def of_listing(self, skill: Skill, version: Any, what: str) -> None:
        """Take in a version that a listing or a check told; no later view may be older."""
        self._grows(self.listed, skill, version, what)
        if isinstance(version, int):
            self.seen[skill] = max(version, self.seen.get(skill, 0))

    def of_catalogs(self, versions: Mapping[str, int]) -> None:
        """Take in the versions of catalogs."""
        for scope, version in versions.items():
            self._grows(self.catalogs, scope, version, "catalog_version")

    def _grows(self, memory: dict[Any, int], of: Any, version: Any, what: str) -> None:
        if not isinstance(version, int):
            return
        if version < memory.get(of, 0):
            self.violations.append(f"{what}: {of} is {version}, and was {memory[of]}")
        memory[of] = max(version, memory.get(of, 0))


@dataclass(slots=True)
class Visitor:
    """A client that calls several servers of one registry in turn, and never comes again.

    Attributes:
        claims: Who it is, as ``X-Local-Claims``; empty for the local administrator.
    """

    clients: Sequence[httpx.Client]
    claims: str = ""
    told: Told = field(default_factory=Told)
    _turn: int = 0

    def call(
        self, method: str, path: str, expected: Sequence[int] = (200,), **more: Any
    ) -> httpx.Response:
        """Make one call of the registry and note its status."""
        self._turn += 1
        headers = {"X-Local-Claims": self.claims} if self.claims else {}
        client = self.clients[self._turn % len(self.clients)]
        answer = client.request(
            method, path, **{**more, "headers": {**headers, **more.get("headers", {})}}
        )
        call = f"{method} {path.partition('?')[0]}"
        self.told.statuses[f"{method} {answer.status_code}"] += 1
        if answer.status_code >= 500 or answer.status_code not in expected:
            text = f"{call}: {answer.status_code} {answer.text[:300]}"
            self.told.violations.append(text)
        return answer
