"""Catalog entries, read from the authority: log, tree and settings.

The only place that turns a skill's state into an entry, so that an incremental catalog and a
rebuilt one are equal (invariant I15).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from skill_registry.catalog.overrides import overrides_of
from skill_registry.catalog.revision import Kind
from skill_registry.catalog.snapshot import Entry, State, content_fingerprint
from skill_registry.errors import RevisionDamaged
from skill_registry.spec.diagnostics import Place, error
from skill_registry.spec.files import parse_sidecar
from skill_registry.spec.model import SKILL_MD, Report
from skill_registry.spec.names import is_skill_name
from skill_registry.spec.validation import read_skill
from skill_registry.store import keys
from skill_registry.store.base import StoredObject

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skill_registry.catalog.loading import Loaded, Loader
    from skill_registry.catalog.overrides import Overrides
    from skill_registry.catalog.runtime import Runtime
    from skill_registry.catalog.vendored import Listing
    from skill_registry.spec.model import Diagnostic, Limits, SkillMeta
    from skill_registry.store.base import SkillStore
    from skill_registry.store.keys import SkillId


class EntryReader:
    """Reads the entry that a skill has now."""

    def __init__(self, store: SkillStore, runtime: Runtime, loader: Loader, limits: Limits) -> None:
        self._store = store
        self._runtime = runtime
        self._loader = loader
        self._limits = limits

    def read(self, skill: SkillId, head: int | None = None) -> Entry | None:
        """Return the skill's entry, None where there is no skill and never was one.

        Args:
            head: Its number, where the caller knows better than ``.version``.
        """
        sidecar, settings = self._runtime.parallel(
            [
                partial(self._store.get, keys.sidecar(skill)),
                partial(self._store.get, keys.settings(skill)),
            ]
        )
        body = settings.body if isinstance(settings, StoredObject) else None
        etag = settings.etag if isinstance(settings, StoredObject) else None
        entry = self._undecided(skill, head, _stated(sidecar))
        return decided(skill.name, entry, overrides_of(body), etag)

    def undecided(self, skill: SkillId) -> Entry | None:
        """Return the entry that the skill would have if nobody had decided anything about it."""
        return self._undecided(skill, None, _stated(self._store.get(keys.sidecar(skill))))

    def _undecided(self, skill: SkillId, head: int | None, stated: int | None) -> Entry | None:
        """Read log and tree.

        A revision that this environment published or loaded before is not read again. A head whose
        bytes are damaged makes an invalid entry: it costs no other skill its own.
        """
        try:
            loaded = self._loader.visible_revision(skill, head or stated)
        except RevisionDamaged as damage:
            return _damaged(skill, damage)
        return _managed(loaded) if loaded is not None else self._vendored(skill, stated)

    def _vendored(self, skill: SkillId, stated: int | None) -> Entry | None:
        listing, text = self._loader.vendored.skill_md(skill)
        if text is not None:
            report = read_skill(text, directory=skill.name, limits=self._limits)
        elif (fault := _fault_of(listing, self._limits)) is not None:
            report = Report(None, (fault,))
        else:
            return None
        base = Entry(
            skill.name,
            version=stated or (report.meta.version if report.meta else None),
            files=len(listing.objects),
            bytes=listing.size,
            tree=listing.fingerprint,
        )
        return _described(base, report.meta, (*report.diagnostics, *listing.left_out))


def decided(
    name: str, entry: Entry | None, overrides: Overrides, settings: str | None
) -> Entry | None:
    """Return an entry with what was decided about the skill, or about its name alone.

    Args:
        settings: ETag of what the decisions were read from, None where there is none.
    """
    if entry is None:
        if not (overrides.hidden or overrides.sealed):
            return None
        # Code that knows of no such decision lists nothing.
        entry = Entry(name, state=State.DELETED)
    entry = replace(entry, settings=settings, masked=overrides.hidden, sealed=overrides.sealed)
    if entry.state is State.DELETED:
        return entry
    agents = overrides.agents if overrides.agents is not None else entry.agents
    return replace(entry, enabled=overrides.enabled, agents=agents)


def _stated(sidecar: object) -> int | None:
    return parse_sidecar(sidecar.body) if isinstance(sidecar, StoredObject) else None


def _fault_of(listing: Listing, limits: Limits) -> Diagnostic | None:
    """Say why a directory's SKILL.md was not read, None where there is none by any spelling."""
    listed = listing.objects.get(SKILL_MD)
    limit = limits.skill_md_bytes
    if listed is not None:
        message = f"{SKILL_MD} has {listed.size} bytes; at most {limit} are allowed."
        place = Place(SKILL_MD)
        return error("skill_md_too_large", message, place=place, limit=limit, actual=listed.size)
    spelled = next((path for path in listing.objects if path.lower() == SKILL_MD.lower()), None)
    if spelled is None:
        return None
    message = f"There is no {SKILL_MD}, only `{spelled}`: names are case-sensitive."
    hint = f"Rename it to {SKILL_MD}."
    return error("skill_md_misspelt", message, place=Place(spelled), hint=hint)


def _damaged(skill: SkillId, damage: RevisionDamaged) -> Entry:
    """The entry of a head that cannot be read: nobody knows any more whom it was for."""
    hint = "Publish the skill again." if is_skill_name(skill.name) else None
    told = error("skill_unreadable", damage.message, hint=hint)
    return Entry(
        skill.name, damage.number, damage.number, State.INVALID, diagnostics=(told.to_dict(),)
    )


def _managed(loaded: Loaded) -> Entry:
    info = loaded.revision
    assert info is not None
    name = loaded.skill.name
    if info.kind is Kind.TOMBSTONE:
        none = content_fingerprint({})
        return Entry(name, info.number, info.number, State.DELETED, tree=none)
    contents = {path: file.data for path, file in loaded.files.items()}
    base = Entry(
        name,
        info.number,
        info.number,
        files=len(contents),
        bytes=sum(map(len, contents.values())),
        sha256=info.sha256,
        tree=content_fingerprint(contents),
    )
    return _described(base, loaded.meta, loaded.diagnostics)


def _described(base: Entry, meta: SkillMeta | None, diagnostics: Iterable[Diagnostic]) -> Entry:
    """Add what the frontmatter says."""
    told = tuple(diagnostic.to_dict() for diagnostic in diagnostics)
    if meta is None:
        return replace(base, state=State.INVALID, diagnostics=told)
    return replace(
        base,
        description=meta.description,
        descriptions=dict(meta.descriptions),
        agents=meta.agents,
        min_tier=meta.min_tier,
        hidden=meta.disable_model_invocation,
        allowed_tools=meta.allowed_tools,
        license=meta.license,
        compatibility=meta.compatibility,
        source=meta.source,
        upstream=dict(meta.upstream) if meta.upstream else None,
        tags=meta.tags,
        diagnostics=told,
    )
