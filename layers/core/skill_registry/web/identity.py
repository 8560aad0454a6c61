"""Identity: the one place that turns API Gateway's authorizer context into a ``Principal``.

IAM contexts hold ARNs only; the role counts, never the session name that its user chose. JWT
contexts hold claims, whose names are settings. No match, no access.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from skill_registry.catalog.access import caller_role, role_of
from skill_registry.catalog.principal import ROLES, SYSTEM, Principal, is_scope, user_scope
from skill_registry.errors import Forbidden, Unauthenticated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from skill_registry.catalog.access import AccessCache
    from skill_registry.web.http import Event
    from skill_registry.web.settings import Settings

_SEPARATORS = re.compile(r"[\s,]+")


class Identity:
    """What a deployment makes of an authorizer's context.

    Args:
        settings: Name the first administrators, the claims and the strict mode.
        access: Knows what further IAM roles were granted; without it nothing was.
    """

    def __init__(self, settings: Settings, access: AccessCache | None = None) -> None:
        self._settings = settings
        self._access = access
        named = map(role_of, settings.registry_administrators)
        self._administrators = frozenset(role for role in named if role is not None)

    def principal_of(self, event: Event) -> Principal:
        """Return who is asking. Only a role that no setting names costs a request to the store.

        Raises:
            Unauthenticated: The event carries no identity that this deployment knows.
            Forbidden: It is known and has no role that the registry knows.
            AccessUnreadable: Nobody can tell what the role was granted.
            Unavailable: The store does not answer, and nothing recent enough is known.
        """
        authorizer = _object(_object(event.get("requestContext")).get("authorizer"))
        claims = _object(_object(authorizer.get("jwt")).get("claims"))
        arn = _word(_object(authorizer.get("iam")).get("userArn"))
        if claims and arn:
            raise Unauthenticated("The request carries two identities. Keep one.")
        if claims:
            return self._of_claims(claims)
        if arn is None:
            raise Unauthenticated("The request carries no identity. Sign it, or send a token.")
        role = caller_role(arn)
        if role is None:
            raise Unauthenticated("The registry knows IAM roles only. Assume one.")
        return self._of_role(role)

    def _of_role(self, role: str) -> Principal:
        if role in self._administrators:
            return Principal(
                role,
                reads=(SYSTEM,),
                default_scope=SYSTEM,
                administrator=True,
                roles=frozenset({"admin"}),
            )
        grant = self._access.grant_of(role) if self._access else None
        if grant is None:
            raise Unauthenticated("This role is not known to the registry. Ask an administrator.")
        return self._principal(
            role, grant.roles, grant.scopes, grant.agent, grant.tier, admin_default=SYSTEM
        )

    def _of_claims(self, claims: Mapping[str, Any]) -> Principal:
        settings = self._settings
        subject = _word(claims.get(settings.claim_subject))
        # Blanks around it would make two people one.
        if not subject or not subject.isprintable() or subject != claims[settings.claim_subject]:
            raise Unauthenticated(f"The token has no usable claim `{settings.claim_subject}`.")
        named = (f"team-{team}" for team in _words(claims.get(settings.claim_teams)))
        return self._principal(
            subject,
            _words(claims[settings.claim_roles]) if settings.claim_roles in claims else ("author",),
            [scope for scope in named if is_scope(scope)],
            _said(claims, settings.claim_agent),
            _said(claims, settings.claim_tier),
        )

    def _principal(
        self,
        subject: str,
        words: Sequence[str],
        scopes: Sequence[str],
        agent: str | None,
        tier: str | None,
        *,
        admin_default: str | None = None,
    ) -> Principal:
        """Make a principal with a scope of its own; a word that is no role gives nothing."""
        roles = frozenset(words) & frozenset(ROLES)
        if not roles:
            raise Forbidden(f"You have no role that the registry knows: {', '.join(ROLES)}.")
        own = user_scope(subject)
        administrator = "admin" in roles
        writes = {own} if roles - {"reader"} else set()
        if administrator or "maintainer" in roles:
            writes.update(scopes)
        default = own if writes else None
        return Principal(
            subject,
            reads=tuple(dict.fromkeys((own, *scopes, SYSTEM))),
            writes=frozenset(writes),
            default_scope=(admin_default or own) if administrator else default,
            agent=agent,
            tier=tier,
            administrator=administrator,
            roles=roles,
            own_scope=own,
            strict=self._settings.strict_agents and not (administrator and agent is None),
        )


def _said(claims: Mapping[str, Any], name: str) -> str | None:
    """Return a claim; a blank one is no agent and no tier, and not that there is no claim."""
    return (_word(claims[name]) or "") if name in claims else None


def _object(value: Any) -> Mapping[str, Any]:
    """Return a JSON object; nothing is in anything else."""
    return value if isinstance(value, dict) else {}


def _words(claim: Any) -> list[str]:
    """Read a claim of several values: a list, or text; API Gateway writes lists as ``[a b]``."""
    if isinstance(claim, list | tuple):
        return [str(item) for item in claim]
    text = (_word(claim) or "").removeprefix("[").removesuffix("]")
    return [word for word in _SEPARATORS.split(text) if word]


def _word(value: Any) -> str | None:
    """Return a text without blanks around it; None for a blank one and for what is none."""
    return (value.strip() or None) if isinstance(value, str) else None
