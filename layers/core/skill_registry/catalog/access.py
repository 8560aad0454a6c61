"""Access: which IAM role is which principal, as ``registry/access.json`` says.

Roles go by their ARN without a path, since the ARN of a session leaves it out; inside an account
the name alone tells roles apart. What a session is called is its user's choice and never counts.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from skill_registry.catalog.principal import ROLES, is_scope
from skill_registry.errors import AccessUnreadable, RequestInvalid, Unavailable
from skill_registry.spec.visibility import TIERS
from skill_registry.store import keys
from skill_registry.store.base import NotModified, StoredObject

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skill_registry.catalog.runtime import Runtime
    from skill_registry.store.base import SkillStore

SCHEMA = 1
# A listing asks for each scope that its caller reads.
SCOPES = 50
LONGEST_AGENT = 64

# Source: AWS IAM user guide, "IAM identifiers" and "name and character limits".
_NAME = r"[\w+=,.@-]{1,64}"
_ROLE = re.compile(rf"arn:(aws[a-z-]*):iam::(\d{{12}}):role/(?:[!-~]{{1,511}}/)?({_NAME})", re.A)
_SESSION = re.compile(rf"arn:(aws[a-z-]*):sts::(\d{{12}}):assumed-role/({_NAME})/[^/\s]+", re.A)
_MEMBERS = frozenset({"role", "roles", "scopes", "agent", "tier"})


def role_of(arn: str) -> str | None:
    """Return a role's ARN without its path; None for the ARN of anything else."""
    return _plain(_ROLE.fullmatch(arn))


def caller_role(arn: str) -> str | None:
    """Return the role of a caller by its ARN or its session's; None for who is no role.

    Users, federated users and an account's root are none.
    """
    return _plain(_SESSION.fullmatch(arn)) or role_of(arn)


def _plain(match: re.Match[str] | None) -> str | None:
    return f"arn:{match[1]}:iam::{match[2]}:role/{match[3]}" if match else None


@dataclass(frozen=True, slots=True)
class Grant:
    """What one IAM role may do.

    Attributes:
        role: Its ARN, without a path.
        roles: Some of ``ROLES``. A word that is none of them gives nothing.
        scopes: Scopes besides its own, in their order of precedence: whoever has a role here reads
            them, a maintainer writes them.
        agent: The agent that calls with this role, None where it is not one agent's.
        tier: The tier of that agent's model.
    """

    role: str
    roles: tuple[str, ...]
    scopes: tuple[str, ...] = ()
    agent: str | None = None
    tier: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, in the file and in answers alike."""
        document: dict[str, Any] = {
            "role": self.role,
            "roles": list(self.roles),
            "scopes": list(self.scopes),
        }
        named = {"agent": self.agent, "tier": self.tier}
        return document | {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Access:
    """Every grant, by role, and the last changes, newest last: who, when, what, why."""

    grants: Mapping[str, Grant] = field(default_factory=dict)
    changes: tuple[Mapping[str, Any], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, the grants in the order of their roles."""
        return {
            "grants": [self.grants[role].to_dict() for role in sorted(self.grants)],
            "changes": [dict(change) for change in self.changes],
        }


def make_grant(
    arn: str,
    roles: tuple[str, ...],
    scopes: tuple[str, ...] = (),
    agent: str | None = None,
    tier: str | None = None,
) -> Grant:
    """Return the grant that somebody asks for; what is named twice counts once.

    Raises:
        RequestInvalid: ``access_invalid``, naming what is wrong.
    """
    if not roles or not set(roles) <= set(ROLES):
        raise _invalid(f"Give one role at least, of {', '.join(ROLES)}.")
    if not all(map(is_scope, scopes)):
        raise _invalid("A scope is `system`, `team-<slug>` or `user-<hash>`.")
    scopes = tuple(dict.fromkeys(scopes))
    if len(scopes) > SCOPES:
        raise _invalid(f"A grant names at most {SCOPES} scopes.")
    if agent is not None and not _is_agent(agent):
        raise _invalid(f"An agent has 1 to {LONGEST_AGENT} printable characters, no blanks around.")
    if tier is not None and tier not in TIERS:
        raise _invalid(f"A tier is {' or '.join(TIERS)}.")
    known = tuple(word for word in ROLES if word in roles)
    return Grant(asked_role(arn), known, scopes, agent, tier)


def asked_role(arn: str) -> str:
    """Return the role that somebody names, without its path.

    Raises:
        RequestInvalid: ``access_invalid``: it is the ARN of a session, of a user, or none.
    """
    role = role_of(arn)
    if role is None:
        raise _invalid("Name the ARN of an IAM role, like arn:aws:iam::123456789012:role/agents.")
    return role


def _invalid(message: str) -> RequestInvalid:
    return RequestInvalid(message, code="access_invalid")


def _is_agent(text: str) -> bool:
    return 0 < len(text) <= LONGEST_AGENT and text.isprintable() and text == text.strip()


def read_access(body: bytes) -> Access | None:
    """Read a stored ``access.json``; None for one that is not ours to understand.

    One thing that is wrong or not known makes it so, since it may narrow what stands beside it.
    """
    try:
        raw = json.loads(body)
        # An escaped half of a surrogate pair is JSON, and no text that could be written again.
        json.dumps(raw, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    if not isinstance(raw, dict) or set(raw) != {"schema", "grants", "changes"}:
        return None
    if type(raw["schema"]) is not int or raw["schema"] != SCHEMA:
        return None
    listed, changes = raw["grants"], raw["changes"]
    if not isinstance(listed, list) or not isinstance(changes, list):
        return None
    grants = [_read_grant(each) for each in listed]
    by_role = {grant.role: grant for grant in grants if grant is not None}
    if len(by_role) < len(listed) or not all(map(_is_change, changes)):
        return None
    return Access(by_role, tuple(changes))


def _read_grant(raw: Any) -> Grant | None:
    if not isinstance(raw, dict) or not {"role", "roles", "scopes"} <= set(raw) <= _MEMBERS:
        return None
    role = role_of(raw["role"]) if isinstance(raw["role"], str) else None
    roles, scopes, agent, tier = raw["roles"], raw["scopes"], raw.get("agent"), raw.get("tier")
    if role is None or not (_are_texts(roles) and _are_texts(scopes)):
        return None
    if agent is not None and not (isinstance(agent, str) and _is_agent(agent)):
        return None
    if not all(map(is_scope, scopes)) or tier not in (None, *TIERS):
        return None
    return Grant(role, tuple(roles), tuple(scopes), agent, tier)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_change(raw: Any) -> bool:
    if not isinstance(raw, dict) or not {"who", "when", "what"} <= set(raw):
        return False
    texts = (raw["who"], raw["when"], raw.get("why", ""))
    return all(isinstance(each, str) for each in texts) and isinstance(raw["what"], dict)


def write_access(access: Access) -> bytes:
    """Return the ``access.json`` of these grants."""
    document = {"schema": SCHEMA, **access.to_dict()}
    return json.dumps(document, ensure_ascii=False, indent=2).encode() + b"\n"


def unreadable() -> AccessUnreadable:
    """Return the error of an ``access.json`` that cannot be read."""
    return AccessUnreadable(
        "The registry cannot read who may call. Ask an operator to mend its access.json.",
        retry_after=60,
    )


@dataclass(frozen=True, slots=True)
class _Known:
    """What the store held when it was asked. ``access`` is None for what cannot be read."""

    access: Access | None
    etag: str | None
    checked: float


class AccessCache:
    """What this environment knows of the grants, revalidated by one conditional GET.

    Args:
        max_age: Seconds during which no request is made, for roles that have no grant neither.
        stale_age: Seconds during which it is used while the store does not answer.
    """

    def __init__(
        self, store: SkillStore, runtime: Runtime, *, max_age: float = 60, stale_age: float = 300
    ) -> None:
        self._store = store
        self._runtime = runtime
        self._max_age = max_age
        self._stale_age = stale_age
        self._known: _Known | None = None

    def grant_of(self, role: str) -> Grant | None:
        """Return the grant of a role, by its ARN without a path; None where it has none.

        Raises:
            AccessUnreadable: What is stored cannot be read. What was known before counts no more.
            Unavailable: The store does not answer and nothing recent enough is known.
        """
        known = self._current()
        if known.access is None:
            raise unreadable()
        return known.access.grants.get(role)

    def remember(self, access: Access, etag: str | None) -> None:
        """Take over what was just read or written: it counts at once in this environment."""
        self._known = _Known(access, etag, self._runtime.monotonic())

    def _current(self) -> _Known:
        known, now = self._known, self._runtime.monotonic()
        # What cannot be read is asked for each time, so that a mended one counts at once.
        if known is not None and known.access is not None and now - known.checked < self._max_age:
            return known
        try:
            self._known = self._revalidated(known, now)
        except Unavailable:
            if known is None or now - known.checked > self._stale_age:
                raise
            return known
        return self._known

    def _revalidated(self, known: _Known | None, now: float) -> _Known:
        found = self._store.get(keys.access(), if_none_match=known.etag if known else None)
        if isinstance(found, NotModified) and known is not None:
            return replace(known, checked=now)
        if isinstance(found, StoredObject):
            return _Known(read_access(found.body), found.etag, now)
        return _Known(Access(), None, now)
