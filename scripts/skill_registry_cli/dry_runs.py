"""What a change would do, found out by reading alone: what ``--dry-run`` says, and what it refuses.

Whether the caller may make the change is told by the change only; the registry has no read for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skill_registry.agent.problems import RegistryProblem
from skill_registry.errors import (
    Gone,
    RegistryError,
    SkillNotFound,
    VersionConflict,
    VersionInUse,
    VersionNotFound,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skill_registry.agent.access import Grant
    from skill_registry.agent.client import RegistryClient
    from skill_registry.agent.versions import VersionInfo, VersionsPage
    from skill_registry_cli.terminal import Terminal

DELETED = "deleted"
PRUNED = "pruned"
_OWN = "user-"


def place(client: RegistryClient, terminal: Terminal, name: str, scope: str | None) -> VersionsPage:
    """Return the newest version of a skill where a change would find it.

    Without a scope a change goes to the caller's default one, which is mostly the first that it
    reads. Where the skill was found in another, a notice says so.

    Raises:
        RegistryError: It is not there, or the registry does not say.
    """
    page = client.versions(name, scope, limit=1)
    if scope is None and page.scope != first_scope(client):
        terminal.notice(
            f"{name} is found in {page.scope}. A change goes to your default scope, unless you add"
            f" --scope {page.scope}."
        )
    return page


def first_scope(client: RegistryClient) -> str | None:
    """Return the scope that comes before all others for the caller."""
    return next(iter(client.list_skills(limit=1).catalog_version), None)


def no_own_scope(client: RegistryClient) -> bool:
    """Tell whether the caller has no scope of its own to hide skills in."""
    return not (first_scope(client) or "").startswith(_OWN)


def found_in(client: RegistryClient, name: str, scope: str | None) -> VersionsPage | None:
    """Return the newest version of a skill in a scope, or in any; None where there is none."""
    try:
        return client.versions(name, scope, limit=1)
    except RegistryProblem as problem:
        if problem.code != SkillNotFound.code:
            raise
        return None


def is_deleted(page: VersionsPage) -> bool:
    """Tell whether the newest version is the mark of a deletion."""
    return any(each.state == DELETED for each in page.versions)


def expect(wanted: int | None, current: int | None) -> None:
    """Hold ``--if-version`` against the current version.

    Raises:
        VersionConflict: It is another one.
    """
    if wanted is not None and wanted != current:
        now = "there is no such version" if current is None else f"the current one is {current}"
        raise VersionConflict(f"You asked for version {wanted}; {now}.", current=current)


def next_number(page: VersionsPage | None) -> int | None:
    """Return the number that a publish would take; None for a skill that none was made of."""
    if page is None:
        return 1
    return None if page.current is None else page.current + 1


def that_is(number: int | None) -> str:
    """Return the number as the end of a sentence."""
    return "." if number is None else f"; that would be v:{number}."


def version_with_files(client: RegistryClient, page: VersionsPage, pin: int | str) -> VersionInfo:
    """Return a version whose files can be had, by its number or label.

    Raises:
        VersionNotFound: There is none, or it is a deletion.
        Gone: It has lost its files.
    """
    found = version(client, page, pin)
    if found.state == PRUNED:
        raise Gone(f"Version {found.version} of `{page.name}` was pruned.")
    return found


def version(client: RegistryClient, page: VersionsPage, pin: int | str) -> VersionInfo:
    """Return a version that has, or had, files.

    Raises:
        VersionNotFound: There is none, or it is a deletion.
    """
    if isinstance(pin, str):
        found = labelled(client, page, pin.removeprefix("@"))
    else:
        before = client.versions(page.name, page.scope, before=pin + 1, limit=1).versions
        found = next((each for each in before if each.version == pin), None)
    if found is None or found.state == DELETED:
        raise VersionNotFound(f"`{page.name}` has no version {pin} with files.")
    return found


def labelled(client: RegistryClient, page: VersionsPage, label: str) -> VersionInfo | None:
    """Return the version that has a label, None where none has it."""
    return next((each for each in _all(client, page) if label in each.labels), None)


def check_purge(page: VersionsPage, found: VersionInfo) -> None:
    """Refuse what a purge would.

    Raises:
        VersionInUse: It is the current version, or has a label.
    """
    if found.version == page.current:
        raise VersionInUse(f"Version {found.version} is the current one: publish another first.")
    if found.labels:
        raise VersionInUse(f"Version {found.version} has the label `{found.labels[0]}`.")


def grant_of(client: RegistryClient, role: str) -> Grant | None:
    """Return what a role is granted now. The registry keeps ARNs without their path."""
    head, _, path = role.partition(":role/")
    bare = f"{head}:role/{path.rsplit('/', 1)[-1]}" if path else role
    return next((each for each in client.access().grants if each.role == bare), None)


def check_grant(role: str, roles: tuple[str, ...], tier: str | None) -> None:
    """Refuse words of a grant that the registry does not know.

    Raises:
        RegistryError: ``access_invalid``.
    """
    known = ("reader", "author", "maintainer", "admin")
    odd = [each for each in roles if each not in known]
    if odd or tier not in (None, "lite", "ultra"):
        what = f"{odd[0]} is no role" if odd else f"{tier} is no tier"
        raise RegistryError(f"{what}; nothing would be granted to {role}.", code="access_invalid")


def granted(grant: Grant | None) -> str:
    """Return what a role may do, in words."""
    if grant is None:
        return "no grant"
    parts = [" and ".join(grant.roles)]
    if grant.scopes:
        parts.append(f"scopes {', '.join(grant.scopes)}")
    named = (("agent", grant.agent), ("tier", grant.tier))
    return "; ".join([*parts, *(f"{what} {value}" for what, value in named if value)])


def as_document(grant: Grant | None) -> dict[str, object] | None:
    """Return a grant as the registry writes it, without what is empty."""
    if grant is None:
        return None
    members = {"agent": grant.agent, "tier": grant.tier}
    said = {name: value for name, value in members.items() if value is not None}
    return {"roles": list(grant.roles), "scopes": list(grant.scopes), **said}


def _all(client: RegistryClient, page: VersionsPage) -> Iterator[VersionInfo]:
    before: int | None = None
    while True:
        found = client.versions(page.name, page.scope, before=before)
        yield from found.versions
        # Numbers go down, so that a registry which answers in circles is left.
        if found.next is None or (before is not None and found.next >= before):
            return
        before = found.next
