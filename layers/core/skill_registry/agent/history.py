"""The client's calls about versions: history, going back, copying, deleting."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from skill_registry.agent import reading, requests, versions
from skill_registry.agent.connection import Connection
from skill_registry.agent.requests import NO_PRECONDITION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skill_registry.agent.answers import Published
    from skill_registry.agent.requests import Precondition
    from skill_registry.agent.versions import Deleted, Diff, VersionsPage


class HistoryCalls(Connection):
    """Part of ``RegistryClient``, which says what every method raises."""

    def versions(
        self,
        name: str,
        scope: str | None = None,
        *,
        before: int | None = None,
        limit: int | None = None,
    ) -> VersionsPage:
        """Return a page of versions, newest first; ``before`` is the ``next`` of another page."""
        return self._read(requests.versions(name, scope, before, limit), versions.read_versions)

    def diff(
        self,
        name: str,
        old: int | str | None = None,
        new: int | str | None = None,
        scope: str | None = None,
    ) -> Diff:
        """Return what changed between two versions, each a number or ``@`` and a label.

        Without ``new`` it is the current one, without ``old`` the one before ``new``.
        """
        return self._read(requests.diff(name, old, new, scope), versions.read_diff)

    def rollback(
        self,
        name: str,
        version: int | str,
        *,
        message: str | None = None,
        scope: str | None = None,
        precondition: Precondition = NO_PRECONDITION,
        key: str | None = None,
    ) -> Published:
        """Publish the files of an earlier version again, as the next one, exactly once.

        Args:
            name: The skill; a deleted one comes back.
            version: A number, or ``@`` and a label.
            message: Why.
            scope: Where; without it the caller's default scope.
            precondition: What must hold.
            key: The idempotency key, for a caller that may repeat the whole call; else a new one.
        """
        key = key or uuid.uuid4().hex
        call = requests.rollback(name, version, key, message, scope, precondition)
        return reading.read_published(self._call(call))

    def copy(
        self,
        name: str,
        to: str,
        *,
        version: int | str | None = None,
        scopes: Sequence[str] = (),
        message: str | None = None,
        precondition: Precondition = NO_PRECONDITION,
        key: str | None = None,
    ) -> Published:
        """Publish a skill of one scope in another, exactly once.

        Args:
            name: The skill, in both.
            to: The scope where it is published.
            version: A number, or ``@`` and a label, of the source; without it, the current one.
            scopes: Where the source is looked for, in order; without any, all that the caller
                reads.
            message: Why.
            precondition: What must hold where it is published.
            key: The idempotency key, for a caller that may repeat the whole call; else a new one.
        """
        key = key or uuid.uuid4().hex
        call = requests.copy(name, to, key, version, scopes, message, precondition)
        return reading.read_published(self._call(call))

    def delete(
        self,
        name: str,
        *,
        scope: str | None = None,
        precondition: Precondition = NO_PRECONDITION,
        key: str | None = None,
    ) -> Deleted:
        """Delete a skill, exactly once; its numbers stay taken, and a rollback brings it back."""
        call = requests.delete(name, key or uuid.uuid4().hex, scope, precondition)
        return versions.read_deleted(self._call(call))
