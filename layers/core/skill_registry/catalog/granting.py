"""Granting: ``registry/access.json``, changed by compare-and-set, and only by administrators."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from skill_registry.catalog.access import Access, asked_role, read_access, unreadable, write_access
from skill_registry.catalog.changing import change_stored
from skill_registry.catalog.configuring import CHANGES_KEPT
from skill_registry.errors import Forbidden, RequestInvalid
from skill_registry.store import keys
from skill_registry.store.base import StoredObject

if TYPE_CHECKING:
    from collections.abc import Callable

    from skill_registry.catalog.access import AccessCache, Grant
    from skill_registry.catalog.principal import Principal
    from skill_registry.catalog.runtime import Runtime
    from skill_registry.store.base import SkillStore

GRANTS = 1000


class AccessFile:
    """The stored grants. Holds no state of its own."""

    def __init__(self, store: SkillStore, runtime: Runtime) -> None:
        self._store = store
        self._runtime = runtime

    def read(self) -> tuple[Access, str | None]:
        """Return the grants with their ETag, None where nobody granted anything yet.

        Raises:
            AccessUnreadable: They are not ours to understand.
        """
        found = self._store.get(keys.access())
        if not isinstance(found, StoredObject):
            return Access(), None
        access = read_access(found.body)
        if access is None:
            raise unreadable()
        return access, found.etag

    def update(self, change: Callable[[Access], Access]) -> tuple[Access, str | None]:
        """Change the grants: read, change, write if nobody else did, else once more.

        Args:
            change: Called with what is stored now; what it raises ends the update. Answering the
                same grants writes nothing.

        Raises:
            AccessUnreadable: What is stored cannot be read, so it is not replaced.
            Unavailable: Others kept winning, or the store does not answer.
        """
        return change_stored(
            self._store,
            self._runtime,
            keys.access(),
            read=self.read,
            change=change,
            encode=write_access,
            exhausted="Too many changes of who may call; try again.",
        )


class Granter:
    """The use case of administrators: say which IAM role is which principal."""

    def __init__(self, file: AccessFile, cache: AccessCache, runtime: Runtime) -> None:
        self._file = file
        self._cache = cache
        self._runtime = runtime

    def read(self, principal: Principal) -> Access:
        """Return every grant, as it is stored now.

        Raises:
            Forbidden: The principal is no administrator.
            AccessUnreadable: It cannot be read.
        """
        only_administrators(principal)
        access, etag = self._file.read()
        self._cache.remember(access, etag)
        return access

    def change(
        self, principal: Principal, arn: str, grant: Grant | None, reason: str | None = None
    ) -> Access:
        """Put a grant in the place of the one that its role has; note who, when and why.

        It counts at once in this environment, elsewhere when what is known there comes of age.
        Repeating it changes nothing.

        Args:
            principal: Who asks.
            arn: The role's.
            grant: What the role may do from now on; None takes away what it had.
            reason: Why.

        Raises:
            Forbidden: The principal is no administrator.
            RequestInvalid: ``access_invalid``: this is no role's ARN, or there are too many grants.
            AccessUnreadable: What is stored cannot be read, so it is not replaced.
            Unavailable: The store does not answer; send the change again.
        """
        only_administrators(principal)
        role = asked_role(arn)

        def apply(current: Access) -> Access:
            if current.grants.get(role) == grant:
                return current
            grants = {key: known for key, known in current.grants.items() if key != role}
            if grant is not None:
                grants[role] = grant
            if len(grants) > GRANTS:
                raise RequestInvalid(f"There are {GRANTS} grants at most.", code="access_invalid")
            noted = self._noted(principal, role, grant, reason)
            changes = (*current.changes, noted)[-CHANGES_KEPT:]
            return replace(current, grants=grants, changes=changes)

        access, etag = self._file.update(apply)
        self._cache.remember(access, etag)
        return access

    def _noted(
        self, principal: Principal, role: str, grant: Grant | None, reason: str | None
    ) -> dict[str, Any]:
        given = grant.to_dict() if grant else None
        if given is not None:
            del given["role"]
        what = {"role": role, "grant": given}
        change = {"who": principal.subject, "when": self._runtime.now(), "what": what}
        return change | ({"why": reason} if reason else {})


def only_administrators(principal: Principal) -> None:
    """Raise ``Forbidden`` for everybody else."""
    if not principal.administrator:
        raise Forbidden("Only administrators may say who may call.")
