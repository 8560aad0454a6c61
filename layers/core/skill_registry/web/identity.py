"""Identity: the one place that turns API Gateway's authorizer context into a ``Principal``.

IAM contexts hold ARNs only; the role counts, never the session name that its user chose. JWT
contexts hold claims, whose names are settings. No match, no access.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from skill_registry.catalog.principal import SYSTEM, Principal, is_scope, user_scope
from skill_registry.errors import Unauthenticated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skill_registry.web.http import Event
    from skill_registry.web.settings import Settings

_ASSUMED = re.compile(r"arn:(aws[a-z-]*):sts::(\d{12}):assumed-role/([^/]+)/.+")
_SEPARATORS = re.compile(r"[\s,]+")


def principal_of(event: Event, settings: Settings) -> Principal:
    """Return who is asking.

    Raises:
        Unauthenticated: The event carries no identity that this deployment knows.
    """
    authorizer: Mapping[str, Any] = event.get("requestContext", {}).get("authorizer") or {}
    jwt = authorizer.get("jwt") or {}
    if jwt.get("claims"):
        return _from_claims(jwt["claims"], settings)
    iam = authorizer.get("iam") or {}
    if iam.get("userArn"):
        return _from_role(role_arn(str(iam["userArn"])), settings)
    raise Unauthenticated("The request carries no identity. Sign it, or send a bearer token.")


def role_arn(arn: str) -> str:
    """Return the ARN of the role behind a session; any other ARN as it is."""
    match = _ASSUMED.fullmatch(arn)
    return f"arn:{match[1]}:iam::{match[2]}:role/{match[3]}" if match else arn


def _from_role(arn: str, settings: Settings) -> Principal:
    if arn not in {_without_path(known) for known in settings.registry_administrators} | set(
        settings.registry_administrators
    ):
        raise Unauthenticated("This role is not known to the registry. Ask an administrator.")
    return Principal(arn, reads=(SYSTEM,), default_scope=SYSTEM, administrator=True)


def _without_path(arn: str) -> str:
    """Session ARNs leave out a role's path, so that configured ones must match without it."""
    head, _, name = arn.rpartition("/")
    return f"{head.split('/', 1)[0]}/{name}" if head else arn


def _from_claims(claims: Mapping[str, Any], settings: Settings) -> Principal:
    subject = str(claims.get(settings.claim_subject) or "").strip()
    if not subject or not subject.isprintable():
        raise Unauthenticated(f"The token has no usable claim `{settings.claim_subject}`.")
    roles = set(_words(claims.get(settings.claim_roles))) or {"author"}
    own = user_scope(subject)
    named = (f"team-{team}" for team in _words(claims.get(settings.claim_teams)))
    teams = tuple(scope for scope in named if is_scope(scope))
    writes: set[str] = set()
    if roles & {"author", "maintainer", "admin"}:
        writes.add(own)
    if roles & {"maintainer", "admin"}:
        writes.update(teams)
    return Principal(
        subject=subject,
        reads=(own, *teams, SYSTEM),
        writes=frozenset(writes),
        default_scope=own if writes else None,
        agent=_word(claims.get(settings.claim_agent)),
        tier=_word(claims.get(settings.claim_tier)),
        administrator="admin" in roles,
    )


def _words(claim: Any) -> list[str]:
    """Read a claim of several values: a list, or text; API Gateway writes lists as ``[a b]``."""
    if isinstance(claim, list | tuple):
        return [str(item) for item in claim]
    text = str(claim or "").strip().removeprefix("[").removesuffix("]")
    return [word for word in _SEPARATORS.split(text) if word]


def _word(claim: Any) -> str | None:
    text = str(claim or "").strip()
    return text or None
