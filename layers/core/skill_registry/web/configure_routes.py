"""Route of the upload function that changes what an operator decides about a skill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skill_registry.catalog.configuring import Change, Configurer
from skill_registry.catalog.uploads import check_message
from skill_registry.web.http import Request, Response, json_response
from skill_registry.web.schemas import Configure, read_body
from skill_registry.web.writes import known_skill, own_skill, without_precondition

if TYPE_CHECKING:
    from skill_registry.catalog.overrides import Overrides
    from skill_registry.catalog.principal import Principal
    from skill_registry.store.keys import SkillId
    from skill_registry.web.api import Routes


def configure_routes(configurer: Configurer) -> Routes:
    """Return the route, over the configure use case."""

    def configure(request: Request, principal: Principal) -> Response:
        without_precondition(request)
        body = read_body(Configure, request.json())
        change = _change(body)
        skill = own_skill(request, principal) if _is_for_oneself(change) else None
        skill = skill or known_skill(request, principal)
        overrides = configurer.change(principal, skill, change)
        document = _document(skill, overrides)
        return json_response(document, headers={"cache-control": "no-store"})

    return {"PATCH /skills/{name}": configure}


def _change(body: Configure) -> Change:
    """A member that is null is taken away, one that is missing stays as it is."""
    agents = tuple(body.agents or ()) if "agents" in body.model_fields_set else None
    return Change(
        enabled=body.enabled,
        agents=agents,
        hidden=body.hidden,
        sealed=body.sealed,
        labels=body.labels,
        reason=check_message(body.reason),
    )


def _is_for_oneself(change: Change) -> bool:
    """What a caller hides from itself takes no right to write."""
    return change.hidden is not None and change == Change(
        hidden=change.hidden, reason=change.reason
    )


def _document(skill: SkillId, overrides: Overrides) -> dict[str, Any]:
    return {
        "name": skill.name,
        "scope": skill.scope,
        "enabled": overrides.enabled,
        "agents": None if overrides.agents is None else list(overrides.agents),
        "hidden": overrides.hidden,
        "sealed": overrides.sealed,
        "labels": dict(sorted(overrides.labels.items())),
        "prune_below": overrides.prune_below,
        "purged": sorted(overrides.purged),
        "changes": [dict(change) for change in overrides.changes],
    }
