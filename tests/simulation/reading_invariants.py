"""Invariants of what readers get: views, listings, and the catalog that listings come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.facts import CatalogChanged, Listed, Quiet, Viewed
from simulation.invariants import invariant
from simulation.ledger import states_since

from skill_registry.catalog.revision import Kind
from skill_registry.errors import Gone, SkillNotFound, VersionNotFound
from skill_registry.spec.files import parse_sidecar
from skill_registry.spec.model import SKILL_MD
from skill_registry.store.keys import SIDECAR, SkillId

if TYPE_CHECKING:
    from simulation.ledger import Revision, SkillLedger
    from simulation.world import World


@invariant(Viewed)
def i06_a_view_is_one_revision_and_not_an_old_one(world: World, fact: Viewed) -> str | None:
    """All bytes are those of the version that is told; heads never go back, nor behind a publish
    that was acknowledged before the question; what is there is found.

    While an outsider's hand shows in ``.version``, only the first half holds.
    """
    known = world.ledger.of(fact.skill)
    if fact.error is not None:
        return _refusal(known, fact)
    loaded = fact.loaded
    if loaded is None or loaded.revision is None:
        return None
    number = loaded.revision.number
    revision = known.log.get(number)
    if revision is None or loaded.version != number:
        return f"{fact.skill} was shown as {loaded.version}, which is not in the log"
    if revision.info.kind is not Kind.CONTENT or dict(loaded.files) != dict(revision.files):
        return f"{fact.skill} was shown as {number} with other bytes than that revision's"
    if fact.pin is not None:
        return _pinned(known, fact, number)
    if known.trusted(fact.since) and number < max(fact.floor, fact.last):
        return f"{fact.skill} was shown as {number} after {fact.floor} and {fact.last}"
    return None


def _pinned(known: SkillLedger, fact: Viewed, number: int) -> str | None:
    """Check which revision a pin was answered with, and that it was not gone all the time."""
    settings = states_since(known.settings, fact.since)
    if isinstance(fact.pin, str):
        if any(each.labels.get(fact.pin[1:]) == number for each in settings):
            return None
        return f"{fact.pin} of {fact.skill} was answered with {number}"
    if number != fact.pin:
        return f"version {fact.pin} of {fact.skill} was answered with {number}"
    was_head = number in states_since(known.heads, fact.since)
    if was_head or any(each.keeps(number) for each in settings):
        return None
    return f"version {number} of {fact.skill} was shown although it was pruned"


def _refusal(known: SkillLedger, fact: Viewed) -> str | None:
    """Tell where a refusal is wrong: something was there all the time."""
    settings = states_since(known.settings, fact.since)
    heads = states_since(known.heads, fact.since)
    if not known.trusted(fact.since) or not all(each.enabled for each in settings):
        return None
    live = all(n > 0 and _is_readable(known.log[n]) for n in heads)
    if isinstance(fact.error, SkillNotFound):
        return f"{fact.skill} was not found, and its head was {heads}" if live else None
    if fact.pin is None or isinstance(fact.pin, str):
        return None
    kept = all(each.keeps(fact.pin) for each in settings) or heads == [fact.pin]
    pinned = known.log.get(fact.pin)
    there = pinned is not None and pinned.info.kind is Kind.CONTENT and fact.pin <= min(heads)
    if isinstance(fact.error, Gone | VersionNotFound) and there and kept:
        return f"version {fact.pin} of {fact.skill} is there, and was answered: {fact.error}"
    return None


def _is_readable(revision: Revision) -> bool:
    """Tell whether a revision is a skill; an adopted directory need not be one."""
    file = revision.files.get(SKILL_MD)
    return file is not None and file.data.startswith(b"---")


@invariant(CatalogChanged, Listed, Quiet)
def i07_the_catalog_follows_the_head(
    world: World, fact: CatalogChanged | Listed | Quiet
) -> str | None:
    """An entry never falls and never leads the head; a listing costs one request, and is as new as
    the catalog was; at the end every entry is the head.

    After an outsider wrote or removed ``.version``: an entry names a revision that exists, and the
    head at the end. A scope without a readable catalog costs one more request.
    """
    if isinstance(fact, Quiet):
        return _entries_at_the_end(world)
    if isinstance(fact, Listed):
        return _listing(fact)
    if fact.catalog is None or fact.change.outsider:
        return None
    for name, entry in fact.catalog.entries.items():
        known = world.ledger.of(SkillId(fact.scope, name))
        number = entry.revision or 0
        if number and number not in known.log:
            return f"the catalog names {name} {number}, which is not in the log"
        if known.trusted(0) and not known.listed <= number <= known.head:
            return f"the entry of {name} went {known.listed} -> {number}, the head is {known.head}"
    for name in world.ledger.names(fact.scope):
        known = world.ledger.of(SkillId(fact.scope, name))
        if known.listed and known.trusted(0) and name not in fact.catalog.entries:
            return f"the entry of {name}, {known.listed}, was removed"
    return None


def _listing(fact: Listed) -> str | None:
    allowed = 1 if fact.known else 2
    if fact.requests > allowed:
        return f"a listing of one scope took {fact.requests} requests"
    if fact.stale or not fact.known:
        return None
    old = {
        name: (floor, fact.versions[name])
        for name, floor in fact.floor.items()
        if name in fact.versions and (fact.versions[name] or 0) < floor
    }
    return f"a listing is older than the catalog was: {old}" if old else None


def _entries_at_the_end(world: World) -> str | None:
    for skill, known in world.ledger.skills.items():
        catalog = world.ledger.catalogs.get(skill.scope)
        entry = catalog.entries.get(skill.name) if catalog else None
        number = entry.revision if entry else None
        if known.log and number != known.top:
            return f"the entry of {skill} is {number} at the end, the head is {known.top}"
    return None


@invariant(Viewed)
def i14_a_vendored_answer_is_one_state(world: World, fact: Viewed) -> str | None:
    """All files of a vendored skill's answer, and the number that its ``.version`` stated, lay in
    the bucket together at one moment while it was asked for.
    """
    if fact.loaded is None or fact.loaded.directory is None:
        return None
    shown = {path: file.data for path, file in fact.loaded.files.items()}
    stated = fact.loaded.directory.stated
    for state in states_since(world.ledger.of(fact.skill).trees, fact.since):
        number = parse_sidecar(state.get(SIDECAR, b""))
        if number == stated and {p: b for p, b in state.items() if p != SIDECAR} == shown:
            return None
    return f"{fact.skill} was shown with files that never lay together: {sorted(shown)}"
