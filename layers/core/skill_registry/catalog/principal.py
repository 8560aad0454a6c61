"""Who is asking: subject, scopes, roles. Made in one place of the web ring, used in every use case.

``scope`` is ``system``, ``team-<slug>`` or ``user-<hash of the subject>``: no subject can name
itself into another's scope.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from skill_registry.errors import Forbidden, RequestInvalid, ScopeRequired
from skill_registry.spec.visibility import TIERS, Viewer, lower_tier, may_see

if TYPE_CHECKING:
    from collections.abc import Collection

SYSTEM = "system"
# What each may do besides the one before it is said where a principal is made.
ROLES = ("reader", "author", "maintainer", "admin")

_SCOPE = re.compile(r"system|team-[a-z0-9]+(?:-[a-z0-9]+)*|user-[0-9a-f]{32}")
_MAX_SCOPE = 64


def is_scope(text: str) -> bool:
    """Tell whether ``text`` names a scope."""
    return len(text) <= _MAX_SCOPE and _SCOPE.fullmatch(text) is not None


def subject_hash(subject: str) -> str:
    """Hash of a subject, 32 hex digits: safe in a key, and nobody can choose it."""
    return hashlib.sha256(subject.encode()).hexdigest()[:32]


def user_scope(subject: str) -> str:
    """The scope that belongs to one subject alone."""
    return f"user-{subject_hash(subject)}"


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller that was identified.

    Attributes:
        reads: Scopes that it may read, in its order of precedence.
        writes: Scopes that it may write.
        default_scope: Where a write goes that names no scope.
        agent: The verified agent identity, None where there is none.
        tier: The verified model tier, None where there is none.
        administrator: May read and write every scope.
        roles: What it is: some of ``ROLES``.
        own_scope: The scope that is its alone, None where it has none.
        strict: It sees only skills that name its verified agent.
        relevant_to: An agent that the request names and nobody verified; see ``Viewer``.
        asked_tier: A tier that the request names. It never lifts a verified one.
    """

    subject: str
    reads: tuple[str, ...]
    writes: frozenset[str] = field(default_factory=frozenset)
    default_scope: str | None = None
    agent: str | None = None
    tier: str | None = None
    administrator: bool = False
    roles: frozenset[str] = field(default_factory=frozenset)
    own_scope: str | None = None
    strict: bool = False
    relevant_to: str | None = None
    asked_tier: str | None = None

    @property
    def hash(self) -> str:
        """The principal's folder under ``uploads/``."""
        return subject_hash(self.subject)

    @property
    def viewer(self) -> Viewer:
        """What visibility depends on."""
        return Viewer(self.agent, lower_tier(self.tier, self.asked_tier), self.relevant_to)

    @property
    def agent_name(self) -> str | None:
        """The agent that is asking, verified or not, for logs alone."""
        return self.agent or self.relevant_to

    def sees(self, agents: Collection[str] | None, min_tier: str | None) -> bool:
        """Tell whether a skill for these agents and this tier is for this caller."""
        return may_see(agents=agents, min_tier=min_tier, viewer=self.viewer, strict=self.strict)

    def narrowed(self, *, agent: str | None, tier: str | None) -> Principal:
        """Return the principal as a request narrows it by what it says of itself.

        Raises:
            RequestInvalid: ``filter_invalid`` for a tier that is none.
        """
        if tier is not None and tier not in TIERS:
            raise RequestInvalid(
                f"`tier` is {' or '.join(TIERS)}; without it, {TIERS[0]}.", code="filter_invalid"
            )
        other = agent if agent != self.agent else None
        return replace(self, relevant_to=other, asked_tier=tier)

    def read_scopes(self, asked: tuple[str, ...]) -> tuple[str, ...]:
        """Return the scopes to read, in order; those asked for, or all of the principal's.

        A scope that it may not read answers as an empty one would: it is left out.

        Raises:
            RequestInvalid: ``scope_invalid`` for something that is no scope at all.
        """
        for scope in asked:
            if not is_scope(scope):
                raise RequestInvalid(
                    "A scope is `system`, `team-<slug>` or `user-<hash>`.", code="scope_invalid"
                )
        wanted = dict.fromkeys(asked or self.reads)
        return tuple(s for s in wanted if self.administrator or s in self.reads)

    def may_write(self, scope: str) -> bool:
        """Whether it may write to a scope."""
        return self.administrator or scope in self.writes

    def write_scope(self, asked: str | None) -> str:
        """Return the scope to write.

        Raises:
            ScopeRequired: None was asked for and there is no default.
            RequestInvalid: ``scope_invalid``.
            Forbidden: The principal may not write there.
        """
        if not self.administrator and not self.writes:
            raise Forbidden("You may read, not write.")
        scope = self.default_scope if asked is None else asked
        if scope is None:
            raise ScopeRequired("Name the scope to write with `?scope=`.")
        if not is_scope(scope):
            raise RequestInvalid(
                "A scope is `system`, `team-<slug>` or `user-<hash>`.", code="scope_invalid"
            )
        if not self.may_write(scope):
            raise Forbidden(f"You may not write to the scope `{scope}`.")
        return scope
