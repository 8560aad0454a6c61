"""Mutants of what follows the log: catalog, plain tree, events and schedule."""

from __future__ import annotations

from dataclasses import replace

from simulation.mutant_mixes import (
    CATALOGS,
    CRASHES,
    EDITED,
    I03,
    I07,
    I08,
    I12,
    I13,
    I15,
    ONE_EVENT,
    REPLACED,
    TREES,
    mix_of,
)
from simulation.mutating import Edit, Mutant

LOG = "catalog.log:"
REFRESH = "catalog.refreshing:Refresher."

DERIVED = (
    Mutant(
        "authority first",
        "A refresh reads the skills first and the catalog's ETag second.",
        (
            Edit(
                REFRESH + "_update",
                "known = self.known(scope)",
                "early = {n: self._entries.read(SkillId(scope, n)) for n in names or ()}\n"
                "        known = self.known(scope)",
            ),
            Edit(
                REFRESH + "_update",
                "after = self._renewed(before, stored, names)",
                "after = before.changed(early, floor=int(self._runtime.clock() * 1000))",
            ),
        ),
        CATALOGS,
        (I07,),
    ),
    Mutant(
        "blind catalog",
        "The catalog is written without a condition.",
        (
            Edit(
                REFRESH + "_put",
                "condition=IfMatch(known.etag) if known.etag else IfAbsent(),",
                "",
            ),
        ),
        CATALOGS,
        (I07, I15),
    ),
    Mutant(
        "a change before the catalog",
        "A change of the settings is made first, and the catalog's ETag read after it.",
        (
            Edit(
                "catalog.following:Follower.around",
                "result, entry = write(seen)",
                "result, entry = write(seen)\n"
                "    known = self._attempt(skill, lambda: self._refresher.known(skill.scope))",
            ),
        ),
        mix_of({"switch": 3, "publish": 2, "list": 1}, ("calm",), history=(1, 2)),
        (I07, I15),
        within=400,
    ),
    Mutant(
        "a catalog made anew counts from one",
        "A catalog that was lost starts again at version 1.",
        (
            Edit(
                REFRESH + "_renewed",
                "floor = max(int(self._runtime.clock() * 1000), known.version + 1)",
                "floor = 1",
            ),
        ),
        CATALOGS,
        (I15,),
    ),
    Mutant(
        "a catalog write without a number",
        "A change of the catalog leaves its version as it is.",
        (
            Edit(
                "catalog.snapshot:Catalog.changed",
                "self.version + 1 if self.version else floor",
                "self.version if self.version else floor",
            ),
        ),
        CATALOGS,
        (I15,),
    ),
    Mutant(
        "an entry by its number",
        "An entry whose revision is still the head is taken over as it was.",
        (
            Edit(
                REFRESH + "_renewed",
                "entries = self._runtime.parallel(calls)",
                "entries = [\n"
                "        old if new and (old := before.entries.get(new.name))"
                " and old.revision == new.revision else new\n"
                "        for new in self._runtime.parallel(calls)\n"
                "    ]",
            ),
        ),
        mix_of({"switch": 1, "label": 1, "list": 1}, ("calm",), history=(2, 2)),
        (I15,),
    ),
    Mutant(
        "blind projection",
        "The plain tree is written without conditions.",
        (
            Edit(
                "catalog.projection:Projection._write",
                "condition=IfAbsent() if listed is None else IfMatch(listed.etag),",
                "",
            ),
            Edit(
                "catalog.projection:Projection._mend",
                "partial(self._store.delete, each.listed.key, if_match=etag)",
                "partial(self._store.delete, each.listed.key)",
            ),
        ),
        EDITED,
        (I08,),
        within=400,
    ),
    Mutant(
        "no second look at the sidecar",
        "A projection does not look whether the head moved meanwhile.",
        (
            Edit(
                "catalog.projection:Projection.project",
                "if all(done) and after == number:",
                "if True:",
            ),
        ),
        TREES,
        redundant="Each write of the tree is an event, whose handler compares all of it.",
    ),
    Mutant(
        "what is gone stays",
        "A projection removes nothing.",
        (
            Edit(
                "catalog.projection:Projection._mend",
                "elif each.listed is not None:",
                "elif False:",
            ),
        ),
        TREES,
        (I08,),
    ),
    Mutant(
        "modes forgotten",
        "A projection does not look at modes.",
        (
            Edit(
                "catalog.comparing:TreeComparer._judge",
                'if found.metadata.get("mode", "0644") == file.mode:',
                "if True:",
            ),
        ),
        TREES,
        (I08,),
    ),
    Mutant(
        "events for nothing",
        "The event function takes no notice of what it is told.",
        (
            Edit(
                "catalog.events:EventHandler.handle",
                "batch = _Batch()",
                "return set()",
            ),
        ),
        CRASHES,
        (I03, I07, I08, I13),
    ),
    Mutant(
        "failures forgotten",
        "A message whose skill could not be brought up to date is not delivered again.",
        (
            Edit(
                "catalog.events:EventHandler._settle",
                "batch.failed |= messages",
                "...",
            ),
        ),
        ONE_EVENT,
        (I03, I08),
    ),
    Mutant(
        "pending uploads left",
        "The schedule does not look for uploads that were never published.",
        (
            Edit(
                "catalog.reconciling:Reconciler._all",
                "if not self._publish_pending(run, start):",
                "if False:",
            ),
        ),
        replace(REPLACED, kinds={"upload": 1}, forked=1.0),
        (I13,),
    ),
    Mutant(
        "a reconcile that repeats itself",
        "A refresh writes the catalog although nothing changed.",
        (
            Edit(
                "catalog.snapshot:Catalog.changed",
                "if merged == self.entries and self.version:",
                "if False:",
            ),
        ),
        TREES,
        (I12,),
    ),
    Mutant(
        "projection by ETag alone",
        "An object of the tree is right only if its ETag is the digest of its bytes.",
        (
            Edit(
                "catalog.comparing:TreeComparer._judge",
                "ours = file is not None and (same or written == file.sha256)",
                "ours = file is not None and same",
            ),
        ),
        replace(TREES, opaque=1.0),
        (I12, "l01_everything_ends"),
    ),
)
