"""Who, where, what: roles, scopes and states of skills, and what each role may do where.

Every name of a skill is a state, and every scope that holds anything holds each of them. What the
words mean is in the README and in architecture, section 8; nothing here asks the code.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from local_stack.http_events import ACCOUNT
from skill_registry.catalog.principal import user_scope

ZOE = "zoe"
AGENT = "review"


class Scope(StrEnum):
    """The scope that a call names, as its caller stands to it."""

    OWN = "own"
    TEAM = "team"
    SYSTEM = "system"
    FOREIGN_TEAM = "foreign-team"
    FOREIGN_USER = "foreign-user"
    UNKNOWN = "unknown"
    MALFORMED = "malformed"
    NONE = "none"


# Names that no sentence of the registry says by accident.
NAMES = {
    Scope.TEAM: "team-azure",
    Scope.SYSTEM: "system",
    Scope.FOREIGN_TEAM: "team-crimson",
    Scope.FOREIGN_USER: user_scope(ZOE),
    Scope.UNKNOWN: "team-nowhere",
    Scope.MALFORMED: "Team_Azure",
}
SHARED = (Scope.TEAM, Scope.SYSTEM, Scope.FOREIGN_TEAM, Scope.FOREIGN_USER)


class State(StrEnum):
    """What became of a skill; also its name."""

    ENABLED = "enabled"
    DISABLED = "disabled"
    DELETED = "deleted"
    # For another agent, by its frontmatter; and by an override, while its frontmatter names ours.
    OTHERS = "others"
    ASSIGNED = "assigned"
    ULTRA = "ultra"
    # ``disable-model-invocation``: in no listing, loadable by name.
    MANUAL = "manual"
    # Its caller hid the name; an administrator sealed it.
    MASKED = "masked"
    SEALED = "sealed"
    # A directory that was never published.
    VENDORED = "vendored"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Role:
    """A kind of caller.

    Attributes:
        kind: How it is identified: ``iam``, ``jwt`` or not at all.
        words: The roles that its claims or its grant say.
        scopes: Those that its claims or its grant name.
        refused: What every call answers, for a caller without a right to any.
        parameter: It is one of the deployment's first administrators.
    """

    name: str
    kind: str
    words: tuple[str, ...] = ()
    scopes: tuple[Scope, ...] = (Scope.TEAM,)
    refused: tuple[int, str] | None = None
    parameter: bool = False

    @property
    def arn(self) -> str:
        """The ARN of its IAM role."""
        return f"arn:aws:iam::{ACCOUNT}:role/{self.name}"

    @property
    def session(self) -> str:
        """The ARN of its session, whose name is the caller's choice."""
        return f"arn:aws:sts::{ACCOUNT}:assumed-role/{self.name}/local-administrator"

    @property
    def subject(self) -> str:
        """Who it is."""
        return self.arn if self.kind == "iam" else f"subject-{self.name}"

    @property
    def agent(self) -> str | None:
        """The agent that it was verified to be. A parameter cannot name one."""
        return None if self.parameter else AGENT

    @property
    def is_admin(self) -> bool:
        """Whether it may do everything."""
        return "admin" in self.words

    @property
    def own(self) -> bool:
        """Whether it has a scope of its own."""
        return self.refused is None and not self.parameter

    @property
    def reads(self) -> tuple[Scope, ...]:
        """The scopes that it reads without naming any, in order."""
        if self.parameter:
            return (Scope.SYSTEM,)
        return tuple(dict.fromkeys((Scope.OWN, *self.scopes, Scope.SYSTEM)))

    @property
    def default(self) -> Scope:
        """Where it writes without naming a scope, if anywhere."""
        return Scope.SYSTEM if self.is_admin and self.kind == "iam" else Scope.OWN

    def may_read(self, scope: Scope) -> bool:
        """Whether it may read a scope that it names."""
        return self.is_admin or scope in self.reads

    def may_write(self, scope: Scope) -> bool:
        """Whether it may write a scope."""
        if self.is_admin:
            return True
        mine = {Scope.OWN} if set(self.words) & {"author", "maintainer"} else set()
        return scope in mine | (set(self.scopes) if "maintainer" in self.words else set())

    def scope_name(self, scope: Scope) -> str | None:
        """Return what it says in a request."""
        return user_scope(self.subject) if scope is Scope.OWN else NAMES.get(scope)


UNAUTHENTICATED = (401, "unauthenticated")
FORBIDDEN = (403, "forbidden")

ROLES = (
    Role("nobody", "none", refused=UNAUTHENTICATED),
    Role("stranger", "iam", refused=UNAUTHENTICATED),
    # The token is good, and names no role that the registry has.
    Role("roleless", "jwt", ("owner",), refused=FORBIDDEN),
    Role("reader-jwt", "jwt", ("reader",)),
    Role("reader-iam", "iam", ("reader",)),
    Role("author-jwt", "jwt", ("author",)),
    Role("author-iam", "iam", ("author",)),
    Role("maintainer-jwt", "jwt", ("maintainer",)),
    Role("maintainer-iam", "iam", ("maintainer",)),
    # A grant may name any scope, claims only teams; and their order is the order of reading.
    Role("curator", "iam", ("maintainer",), (Scope.SYSTEM, Scope.TEAM)),
    Role("admin-jwt", "jwt", ("admin",)),
    Role("admin-iam", "iam", ("admin",)),
    Role("local-administrator", "iam", ("admin",), (), parameter=True),
)
# Those whose grant says what the claims of another one say.
TWINS = ("reader-iam", "author-iam", "maintainer-iam", "admin-iam")
BY_NAME = {role.name: role for role in ROLES}


def asked(role: Role, scope: Scope) -> tuple[Scope, ...]:
    """Return the scopes in which a read looks: one that may not be read is as good as empty."""
    wanted = role.reads if scope is Scope.NONE else (scope,)
    return tuple(each for each in wanted if role.may_read(each))


def holds(role: Role, scope: Scope) -> bool:
    """Whether a scope holds anything at all, in a bucket that was made for this role."""
    return scope in SHARED or (scope is Scope.OWN and role.own)


def source(role: Role, scope: Scope, state: State) -> Scope | None:
    """Return the scope that gives this role a skill of this state, None where none does."""
    looked = asked(role, scope)
    if state in (State.UNKNOWN, State.DISABLED, State.DELETED, State.ULTRA):
        return None
    if state in (State.OTHERS, State.ASSIGNED) and role.agent is not None:
        return None
    if state is State.MASKED and role.own and Scope.OWN in looked:
        return None
    if state is State.SEALED and Scope.SYSTEM in looked:
        return Scope.SYSTEM
    return next((each for each in looked if holds(role, each)), None)


def listed(role: Role, scope: Scope) -> dict[str, Scope]:
    """Return what a listing shows: the names, and the scope that gives each."""
    found = {state: source(role, scope, state) for state in State if state is not State.MANUAL}
    return {state.value: given for state, given in sorted(found.items()) if given is not None}


def exists(role: Role, scope: Scope, state: State) -> bool:
    """Whether there is, or was, a skill of this state in a scope."""
    return state is not State.UNKNOWN and holds(role, scope)


def is_managed(role: Role, scope: Scope, state: State) -> bool:
    """Whether a skill has versions."""
    return state is not State.VENDORED and exists(role, scope, state)
