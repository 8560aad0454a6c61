"""The client's calls for operators: decisions about a skill, who may call, and maintenance."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from skill_registry.agent import access, maintenance, requests
from skill_registry.agent.connection import Connection
from skill_registry.agent.maintenance import Examined, Reconciled
from skill_registry.agent.problems import AnswerInvalid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from skill_registry.agent.access import Access
    from skill_registry.agent.maintenance import Purged, Rebuilt, SkillSettings

RunT = TypeVar("RunT", Reconciled, Examined)


class OperatorCalls(Connection):
    """Part of ``RegistryClient``, which says what every method raises."""

    def configure(
        self,
        name: str,
        *,
        enabled: bool | None = None,
        agents: Sequence[str] | None = None,
        hidden: bool | None = None,
        sealed: bool | None = None,
        labels: Mapping[str, int | None] | None = None,
        reason: str | None = None,
        scope: str | None = None,
    ) -> SkillSettings:
        """Change what is decided about a skill; what is None stays as it is.

        Args:
            name: The skill.
            enabled: A disabled skill answers as an unknown one.
            agents: Who may see it; an empty one leaves that to its frontmatter again.
            hidden: Whether the caller wants no skill of this name; goes to its own scope.
            sealed: Whether a skill of this name comes from ``system`` or from nowhere; for
                administrators.
            labels: Version by label; None removes a label.
            reason: Why, for those who read the settings later.
            scope: Where; without it the caller's default scope.
        """
        members: dict[str, object] = {
            "enabled": enabled,
            "hidden": hidden,
            "sealed": sealed,
            "reason": reason,
        }
        change = {key: value for key, value in members.items() if value is not None}
        if agents is not None:
            change["agents"] = list(agents) or None
        if labels is not None:
            change["labels"] = dict(labels)
        return maintenance.read_settings(self._call(requests.configure(name, change, scope)))

    def purge(
        self, name: str, version: int, *, reason: str | None = None, scope: str | None = None
    ) -> Purged:
        """Remove the bytes of a version for good, its older object versions included."""
        return maintenance.read_purged(self._call(requests.purge(name, version, reason, scope)))

    def access(self) -> Access:
        """Return which IAM roles may call, and the last changes of that."""
        return self._read(requests.access(), access.read_access)

    def grant(
        self,
        role: str,
        *,
        roles: Sequence[str],
        scopes: Sequence[str] = (),
        agent: str | None = None,
        tier: str | None = None,
        reason: str | None = None,
    ) -> Access:
        """Let an IAM role call; what it was granted before is replaced.

        Args:
            role: Its ARN.
            roles: Some of ``reader``, ``author``, ``maintainer``, ``admin``.
            scopes: Scopes besides its own that it reads, and as a maintainer writes; the order is
                their precedence.
            agent: The agent that calls with this role.
            tier: The tier of that agent's model.
            reason: Why, for those who read the changes later.
        """
        grant: dict[str, object] = {"roles": list(roles), "scopes": list(scopes)}
        members = {"agent": agent, "tier": tier}
        grant |= {name: value for name, value in members.items() if value is not None}
        return access.read_access(self._call(requests.change_access(role, grant, reason)))

    def revoke(self, role: str, *, reason: str | None = None) -> Access:
        """Take away what an IAM role was granted; one without a grant stays without one."""
        return access.read_access(self._call(requests.change_access(role, None, reason)))

    def rebuild(self, scope: str) -> Rebuilt:
        """Make the catalog of a scope anew from what it is derived from."""
        return maintenance.read_rebuilt(self._call(requests.maintain("rebuild", scope=scope)))

    def reconcile(self) -> Iterator[Reconciled]:
        """Repair what is derived and publish what waits, run by run until the end.

        A run is made when the iterator asks for it.
        """

        def run(cursor: str | None) -> Reconciled:
            response = self._call(requests.maintain("reconcile", cursor=cursor))
            return maintenance.read_reconciled(response)

        return _to_the_end(run)

    def doctor(
        self, *, scope: str | None = None, name: str | None = None, fix: bool = False
    ) -> Iterator[Examined]:
        """Find every disagreement, and with ``fix`` repair what can be, run by run until the end.

        Args:
            scope: Only this scope.
            name: Only this skill, of the scope or of the caller's default one.
            fix: Repair.
        """

        def run(cursor: str | None) -> Examined:
            call = requests.maintain("doctor", scope=scope, name=name, fix=fix, cursor=cursor)
            return maintenance.read_examined(self._call(call))

        return _to_the_end(run)


def _to_the_end(run: Callable[[str | None], RunT]) -> Iterator[RunT]:
    """Yield one run after the other, each from where the one before it ended."""
    seen: set[str] = set()
    done = run(None)
    yield done
    while done.next is not None:
        if done.next in seen:
            raise AnswerInvalid("The registry's maintenance does not end: a cursor came twice.")
        seen.add(done.next)
        done = run(done.next)
        yield done
