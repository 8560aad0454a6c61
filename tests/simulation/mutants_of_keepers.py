"""Mutants of what keeps and lets go: pruning, labels, settings, purge, deletion."""

from __future__ import annotations

from dataclasses import replace

from simulation.mutant_mixes import (
    ANEW,
    FLOORS,
    I01,
    I04,
    I09,
    I10,
    LABELS,
    PURGES,
    SURPRISE,
)
from simulation.mutating import Edit, Mutant

LOG = "catalog.log:"
PRUNE = "catalog.pruning:"

KEEPING = (
    Mutant(
        "pruned by removal",
        "An old revision is deleted, and its number is free.",
        (
            Edit(
                PRUNE + "Pruner.stub",
                "result = self._store.put(",
                "return self._store.delete(key, if_match=etag)\n    result = self._store.put(",
            ),
        ),
        LABELS,
        (I01,),
    ),
    Mutant(
        "no floor",
        "Revisions are pruned before that is written down.",
        (
            Edit(
                PRUNE + "Pruner._raise_floor",
                "return self._files.update(skill, raised)",
                "return raised(self._files.read(skill)[0])",
            ),
        ),
        LABELS,
        (I09,),
    ),
    Mutant(
        "labels overlooked",
        "Pruning does not look at labels.",
        (
            Edit(
                PRUNE + "_is_doomed",
                "not overrides.keeps(number)",
                "number < overrides.prune_below",
            ),
        ),
        LABELS,
        (I09,),
    ),
    Mutant(
        "a label below the floor",
        "A label may name what is about to be pruned.",
        (
            Edit(
                "catalog.configuring:Configurer._check_version",
                "if info.kind is Kind.PRUNED or not current.keeps(number):",
                "if info.kind is Kind.PRUNED:",
            ),
        ),
        LABELS,
        (I09,),
        within=400,
    ),
    Mutant(
        "a label on nothing",
        "A label may name what is pruned.",
        (
            Edit(
                "catalog.configuring:Configurer._check_version",
                "if info.kind is Kind.PRUNED or not current.keeps(number):",
                "if False:",
            ),
        ),
        LABELS,
        (I09,),
    ),
    Mutant(
        "blind settings",
        "Settings are written without a condition.",
        (
            Edit(
                "catalog.configuring:change_stored",
                "condition=IfAbsent() if etag is None else IfMatch(etag),",
                "condition=None,",
            ),
        ),
        LABELS,
        (I09,),
        within=400,
    ),
    Mutant(
        "no look at the head",
        "Pruning does not look whether a revision is the head.",
        (Edit(PRUNE + "_is_doomed", "number < head and", ""),),
        LABELS,
        redundant="The floor is never above the head: retention keeps one version at least.",
    ),
    Mutant(
        "retention of nothing",
        "Retention counts the head among what may go.",
        (
            Edit(
                PRUNE + "Pruner._floor",
                "number <= head - self._retention.versions and",
                "number <= head and",
            ),
        ),
        LABELS,
        (I09,),
    ),
    Mutant(
        "a newer floor is a fault",
        "Pruning takes a floor that another run raised for somebody's mistake.",
        (
            Edit(
                PRUNE + "Pruner.prune",
                "head = self._log.head(skill).number\n    if overrides.prune_below > head:",
                "...\n    if overrides.prune_below > head:",
            ),
        ),
        FLOORS,
        (SURPRISE,),
    ),
    Mutant(
        "blind stub",
        "A stub is written without a condition.",
        (Edit(PRUNE + "Pruner.stub", "condition=IfMatch(etag),", ""),),
        LABELS,
        redundant="Below the floor nothing but this very stub is ever written.",
    ),
    Mutant(
        "a stub without a name",
        "A stub forgets which upload its revision was.",
        (
            Edit(
                PRUNE + "Pruner.stub",
                "metadata=stub.to_metadata(),",
                'metadata={**stub.to_metadata(), "upload-id": ""},',
            ),
        ),
        LABELS,
        (I01,),
    ),
    Mutant(
        "purged by removal",
        "A purge deletes the revision, and its number is free.",
        (
            Edit(
                "catalog.purging:Purger._stub",
                "if self._pruner.stub(skill, number, found.etag, message=False):",
                "if self._store.delete(found.key):",
            ),
        ),
        PURGES,
        (I01,),
    ),
    Mutant(
        "purge of the head",
        "A purge does not look whether the version is the head.",
        (
            Edit(
                "catalog.purging:Purger._check",
                "if number >= head.number:",
                "if False:",
            ),
        ),
        PURGES,
        (I09,),
    ),
    Mutant(
        "purge of a label",
        "A purge does not look at labels.",
        (
            Edit(
                "catalog.purging:Purger.purge",
                "if labels := current.labels_of(number):",
                "if labels := ():",
            ),
        ),
        replace(PURGES, kinds={"purge": 2, "label": 2}),
        (I09,),
    ),
    Mutant(
        "a publish swallowed by a deletion",
        "A publish after a deletion is acknowledged with the deletion's number.",
        (
            Edit(
                LOG + "RevisionLog.commit",
                "if not self._holds(skill, precondition, head):",
                "if head.info is not None and not head.exists and draft.files:\n"
                "            return draft.info(head.number, self._runtime.now(), None)\n"
                "        if not self._holds(skill, precondition, head):",
            ),
        ),
        ANEW,
        (I04, I10),
    ),
)
