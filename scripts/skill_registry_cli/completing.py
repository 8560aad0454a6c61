"""What a shell offers behind a command: the names of the registry's skills."""

from __future__ import annotations

from typing import cast

import typer

from skill_registry.agent.client import RegistryClient
from skill_registry.agent.retries import RetryPolicy
from skill_registry_cli.session import Session, chosen

# Seconds. Who presses the tab key waits for no registry.
_PATIENCE = 1.0
_MOST = 500


def skill_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names that begin so; none where the registry does not answer at once."""
    try:
        # The callback that makes a session is not called while a line is being typed.
        url, profile = chosen(cast("typer.Context", context.find_root()))
        url, auth = Session(url, profile=profile).target()
        once = RetryPolicy(attempts=1)
        with RegistryClient(url, auth=auth, timeout=_PATIENCE, retry=once) as client:
            listing = client.list_skills(limit=_MOST)
    except Exception:
        # Whatever it is, a message would come into the middle of what is being typed.
        return []
    return [each.name for each in listing.skills if each.name.startswith(incomplete)]
