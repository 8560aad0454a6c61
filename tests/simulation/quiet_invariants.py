"""Invariants of the end: nothing is under way any more, and all that is derived has to agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.facts import CatalogChanged, Quiet, TreeChanged
from simulation.forks import canonical, fork_of, pending, registry_over
from simulation.invariants import invariant
from simulation.ledger import states_since

from skill_registry.catalog.entries import EntryReader
from skill_registry.catalog.snapshot import decode
from skill_registry.store import keys
from skill_registry.store.gate import Counter, Request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simulation.ledger import SkillLedger
    from simulation.world import World

    from skill_registry.spec.model import SkillFile
    from skill_registry.store.keys import SkillId


@invariant(TreeChanged, Quiet)
def i08_the_tree_is_the_head(world: World, fact: TreeChanged | Quiet) -> str | None:
    """The plain tree of a managed skill is its head in bytes and modes, at the end.

    Objects that an outsider wrote after the last publish stay, and are reported as drift; and what
    an outsider wrote since the tree was listed is never written over.
    """
    if isinstance(fact, TreeChanged):
        return _written_over(world, fact)
    registry = registry_over(world, world.bucket.copy())
    for skill, known in world.ledger.skills.items():
        if not known.log:
            continue
        wrong = _differences(world, skill, known, known.log[known.top].files)
        drift = set(registry.refresher.settle(skill).drift)
        if wrong != drift:
            return f"the tree of {skill} differs from {known.top} in {wrong}; drift: {drift}"
        if not drift <= known.foreign:
            return f"{drift - known.foreign} of {skill} is drift that nobody made"
    return None


def _written_over(world: World, fact: TreeChanged) -> str | None:
    known = world.ledger.of(fact.skill)
    if fact.call is None or fact.path not in known.foreign or fact.change.before is None:
        return None
    looked = fact.call.listed.get(keys.tree(fact.skill), fact.call.since)
    seen = states_since(known.trees, looked)[-1].get(fact.path)
    if seen == fact.change.before.body:
        return None
    return f"{fact.path} of {fact.skill} was written over, which was another when it was listed"


def _differences(
    world: World, skill: SkillId, known: SkillLedger, files: Mapping[str, SkillFile]
) -> set[str]:
    """Return the paths where the tree is not the head, in bytes or mode."""
    tree = known.tree
    wrong = {path for path in {*tree, *files} if tree.get(path) != _data(files.get(path))}
    for path in set(files) - wrong:
        stored = world.bucket.stored(keys.tree_file(skill, path))
        mode = stored.info.metadata.get("mode", "0644") if stored else None
        if mode != files[path].mode:
            wrong.add(path)
    return wrong


def _data(file: SkillFile | None) -> bytes | None:
    return file.data if file else None


@invariant(Quiet)
def i12_a_second_run_writes_nothing(world: World, _: Quiet) -> str | None:
    """Heal, project and refresh have nothing left to do; nor has a reconcile after a reconcile."""
    counter = Counter()
    registry = registry_over(world, world.bucket.copy(), counter)
    there = [skill for skill, known in world.ledger.skills.items() if known.log or known.tree]
    for skill in there:
        registry.refresher.settle(skill)
    for scope in {skill.scope for skill in there}:
        registry.refresher.refresh(scope, world.ledger.names(scope))
    if wrote := _writes(counter):
        return f"a second heal, project and refresh wrote {wrote}"
    registry.reconciler.run()
    counter.reset()
    registry.reconciler.run()
    wrote = _writes(counter)
    return f"a second reconcile wrote {wrote}" if wrote else None


def _writes(counter: Counter) -> list[Request]:
    return [request for request in counter.requests if request.op in ("PUT", "DELETE")]


@invariant(Quiet)
def i13_events_in_any_order_end_alike(world: World, _: Quiet) -> str | None:
    """Any permutation, duplication or subset of the events and a reconcile end in one bucket.

    Where two uploads to one skill wait, their order is the events' own, and nothing is compared.
    Objects that an outsider wrote are left out: a publish replaces them, a refresh does not, and it
    tells them from earlier versions by what is left of these.
    """
    fork = fork_of(world)
    if fork is None or any(count > 1 for count in pending(fork.bucket).values()):
        return None
    registry = registry_over(world, fork.bucket)
    for batch in fork.batches(world.rng):
        registry.events.handle(batch)
    here = world.bucket.copy()
    for bucket in (here, fork.bucket):
        registry_over(world, bucket).reconciler.run()
    one, other = canonical(world, here), canonical(world, fork.bucket)
    different = sorted(key for key in {*one, *other} if one.get(key) != other.get(key))
    return f"the order of events decided over {different}" if different else None


@invariant(CatalogChanged, Quiet)
def i15_a_rebuilt_catalog_is_the_same(world: World, fact: CatalogChanged | Quiet) -> str | None:
    """Entries read anew are those that grew one by one; ``catalog_version`` rises with each write,
    that of a catalog made anew included.
    """
    if isinstance(fact, Quiet):
        return _rebuilt(world)
    before = world.ledger.catalog_versions.get(fact.scope, 0)
    if fact.catalog is None or fact.change.outsider or fact.catalog.version > before:
        return None
    return f"catalog_version of {fact.scope} went {before} -> {fact.catalog.version}"


def _rebuilt(world: World) -> str | None:
    registry = registry_over(world, world.bucket.copy())
    reader = EntryReader(
        registry.store, registry.runtime, registry.loader, registry.settings.limits
    )
    for scope in sorted({skill.scope for skill in world.ledger.skills}):
        stored = world.bucket.stored(keys.catalog(scope))
        catalog = decode(scope, stored.body) if stored else None
        entries = dict(catalog.entries) if catalog else {}
        read = {
            skill.name: reader.read(skill) for skill in world.ledger.skills if skill.scope == scope
        }
        anew = {name: entry for name, entry in read.items() if entry is not None}
        if entries != anew:
            names = [n for n in {*entries, *anew} if entries.get(n) != anew.get(n)]
            return f"the entries of {names} differ from those of a rebuild"
    return None
