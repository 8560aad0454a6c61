"""Mutants of the visible commit, of healing, and of what readers get."""

from __future__ import annotations

from dataclasses import replace

from simulation.mutant_mixes import (
    CATALOGS,
    CRASHES,
    DELETED_SIDECARS,
    DIRECTORIES,
    I03,
    I04,
    I06,
    I07,
    I12,
    I14,
    I15,
    I17,
    I18,
    ONE_EVENT,
    PINS,
    RACES,
    REMOVED,
    UPLOADS,
)
from simulation.mutating import Edit, Mutant

LOG = "catalog.log:"
VISIBLE = (
    Mutant(
        "blind flip",
        "The sidecar is written without a condition.",
        (
            Edit(
                LOG + "RevisionLog._write_sidecar",
                "condition=IfAbsent() if head.etag is None else IfMatch(head.etag),",
                "",
            ),
        ),
        RACES,
        (I03, I04),
    ),
    Mutant(
        "acknowledged before the flip",
        "A publish is acknowledged when it is durable, not when it is visible.",
        (
            Edit(
                LOG + "RevisionLog.commit",
                "if found.upload_id == draft.upload_id:\n            self.make_visible("
                "skill, found.number, head)",
                "if found.upload_id == draft.upload_id:",
            ),
        ),
        RACES,
        (I04,),
    ),
    Mutant(
        "a retry acknowledged before the flip",
        "A publish that is found in the log is acknowledged, visible or not.",
        (
            Edit(
                LOG + "RevisionLog.commit",
                "self.make_visible(skill, mine.number, head)",
                "...",
            ),
        ),
        replace(CRASHES, history=(0, 0)),
        (I04,),
    ),
    Mutant(
        "no second look at the log",
        "Who makes a missing sidecar does not look whether a newer one was there.",
        (
            Edit(
                LOG + "RevisionLog.make_visible",
                "top = goal if head.settled else self.top(skill)",
                "top = goal",
            ),
        ),
        DELETED_SIDECARS,
        (I04,),
        within=600,
    ),
    Mutant(
        "no climb",
        "Healing leaves a revision invisible that a crash left so.",
        (
            Edit(
                LOG + "RevisionLog.heal",
                "while self.info(skill, head.number + 1) is not None:",
                "while False:",
            ),
        ),
        CRASHES,
        (I03,),
    ),
    Mutant(
        "no repair",
        "Healing leaves a sidecar past the log as it is.",
        (
            Edit(
                LOG + "RevisionLog.heal",
                "if head.number and not head.settled:",
                "if False:",
            ),
        ),
        REMOVED,
        (I03, I12),
    ),
    Mutant(
        "a repair that gives up",
        "Healing tries once to write the sidecar, and calls it done.",
        (
            Edit(
                LOG + "RevisionLog.heal",
                "self.make_visible(skill, head.number, head)",
                "self._write_sidecar(skill, head.number, head)",
            ),
        ),
        ONE_EVENT,
        (I03, I12),
    ),
    Mutant(
        "no settling",
        "The event function projects and refreshes, and never heals.",
        (
            Edit(
                "catalog.refreshing:Refresher.settle",
                "head = self._log.heal(skill)",
                "head = self._log.head(skill)",
            ),
        ),
        CRASHES,
        (I03,),
    ),
)

READS = (
    Mutant(
        "torn read",
        "A view is made from the plain tree.",
        (
            Edit(
                "catalog.resolving:Resolver._head",
                "if loaded is not None:",
                "if loaded is not None:\n"
                "            import dataclasses\n"
                "            files = getattr(self._loader.vendored.read(skill), 'files', {})\n"
                "            loaded = dataclasses.replace(loaded, files=files)",
            ),
        ),
        RACES,
        (I06,),
    ),
    Mutant(
        "remembered sidecar",
        "A warm process does not ask whether the sidecar is still the one it knows.",
        (
            Edit(
                "catalog.loading:Loader.current",
                "known = self._objects.get(key)",
                "known = self._objects.get(key)\n    if known is not None:\n        return known",
            ),
        ),
        RACES,
        (I06,),
    ),
    Mutant(
        "the log read alone",
        "Where there was no sidecar, the log's newest counts, although there is one by now.",
        (
            Edit(
                "catalog.loading:Loader._newest",
                "return stated if usable and stated is not None else max(numbers, default=0)",
                "return max(numbers, default=0)",
            ),
        ),
        replace(RACES, kinds={"publish": 1, "view": 2}, history=(0, 0), actors=(5, 9)),
        (I06,),
        within=800,
    ),
    Mutant(
        "pruned and remembered",
        "A warm process answers a version from memory that was pruned since.",
        (
            Edit(
                "catalog.loading:Loader.content",
                "if 1 <= number < head and not overrides.keeps(number):",
                "if False:",
            ),
        ),
        PINS,
        (I06,),
    ),
    Mutant(
        "remembered listing",
        "A warm process does not ask whether its catalog is still the one.",
        (
            Edit(
                "catalog.cache:CatalogCache.get",
                "now - known.checked < self._age_of(known, at_least)",
                "True",
            ),
        ),
        replace(CATALOGS, kinds={"publish": 2, "list": 4}, warm=1.0),
        (I07,),
    ),
    Mutant(
        "two requests for a listing",
        "A listing asks for its catalog twice.",
        (
            Edit(
                "catalog.cache:CatalogCache._revalidated",
                "etag = known.etag if known else None",
                "etag = known.etag if known else None\n"
                "    self._store.get(keys.catalog(scope), if_none_match=etag)",
            ),
        ),
        CATALOGS,
        (I07,),
    ),
    Mutant(
        "one listing of a directory",
        "A directory's files are answered without a second look.",
        (
            Edit(
                "catalog.vendored:VendoredReader.read",
                "if files is not None and again == listing:",
                "if files is not None:",
            ),
            Edit(
                "catalog.vendored:VendoredReader._files",
                "partial(self._store.get, info.key, if_match=info.etag)",
                "partial(self._store.get, info.key)",
            ),
        ),
        DIRECTORIES,
        (I14,),
    ),
    Mutant(
        "sidecar kept among the files",
        "An archive's .version is stored and shown as a file.",
        (
            Edit("spec.archive:plan", "if not is_sidecar(target)", ""),
            Edit("spec.validation:without_sidecar", "if not is_sidecar(file.path)", ""),
            Edit("spec.archive:without_sidecar", "if not is_sidecar(file.path)", ""),
        ),
        UPLOADS,
        (I17, I18),
    ),
    Mutant(
        "sidecar left to the next layer",
        "An archive's .version passes the layout.",
        (Edit("spec.archive:plan", "if not is_sidecar(target)", ""),),
        UPLOADS,
        (I12, I15, I17, I18),
    ),
)
