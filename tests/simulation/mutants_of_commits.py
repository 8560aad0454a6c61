"""Mutants of the durable commit: scan, precondition, create, read-back, adoption."""

from __future__ import annotations

from dataclasses import replace

from simulation.mutant_mixes import (
    ANSWERED,
    CRASHES,
    DELETES,
    DIRECTORIES,
    EDITORS,
    I01,
    I02,
    I03,
    I04,
    I05,
    I06,
    I07,
    I11,
    I16,
    I17,
    RACES,
    REPLACED,
    RETRIES,
)
from simulation.mutating import Edit, Mutant

LOG = "catalog.log:"
NO_SCAN = Edit(LOG + "RevisionLog._find", "if seen is None or", "if True or")
NO_READ_BACK = (
    Edit(LOG + "put_once", "if current is not None and", "if False and"),
    Edit(LOG + "RevisionLog.commit", "if found.upload_id == draft.upload_id:", "if found is info:"),
)

COMMIT = (
    Mutant(
        "no scan",
        "A retry does not search the log for its upload id.",
        (NO_SCAN,),
        RETRIES,
        (I05,),
    ),
    Mutant(
        "no read-back",
        "A create that was refused counts as another's, also where only the reply was lost.",
        NO_READ_BACK,
        RETRIES,
        redundant="The next attempt searches what came since the last one, and finds its upload.",
    ),
    Mutant(
        "no read-back and no scan",
        "Neither of the two ways to find an own revision.",
        (*NO_READ_BACK, NO_SCAN),
        RETRIES,
        (I05,),
    ),
    Mutant(
        "no help",
        "A revision that a crash left invisible stays so, and nobody gets past it.",
        (
            Edit(
                LOG + "RevisionLog.commit", "self._help(skill, found.number, head, attempt)", "..."
            ),
        ),
        replace(CRASHES, events=("all lost",)),
        (ANSWERED,),
    ),
    Mutant(
        "no precondition",
        "If-Match and If-None-Match are not looked at.",
        (Edit(LOG + "RevisionLog._holds", "precondition.check(", "(lambda *_, **__: None)("),),
        EDITORS,
        (I11,),
    ),
    Mutant(
        "precondition before the scan",
        "A retry is refused for what it has committed itself.",
        (
            Edit(
                LOG + "RevisionLog.commit",
                "mine = self._find(skill, draft.upload_id, seen, head)",
                "precondition.check(head.number, exists=head.exists)\n"
                "        mine = self._find(skill, draft.upload_id, seen, head)",
            ),
        ),
        replace(EDITORS, weather=("crashes", "outages")),
        (I05,),
    ),
    Mutant(
        "blind create",
        "A revision is written whether or not its number is taken.",
        (Edit(LOG + "RevisionLog._append", "condition=IfAbsent(),", "condition=None,"),),
        RACES,
        (I01,),
    ),
    Mutant(
        "no step behind the visible",
        "A publish that finds no sidecar goes ahead of the one that is making it.",
        (
            Edit(
                LOG + "RevisionLog.commit",
                "if head.number and not head.settled:",
                "if False:",
            ),
        ),
        replace(RACES, history=(0, 0), actors=(4, 8)),
        (I03, I06, I07),
    ),
    Mutant(
        "base of now",
        "A retry searches from the head of today, not from the one when it was announced.",
        (Edit("catalog.publishing:Publisher.commit", "base=base,", "base=None,"),),
        RETRIES,
        (I05,),
    ),
    Mutant(
        "no idempotency record",
        "An inline call does not write down from where a retry has to search.",
        (
            Edit(
                "catalog.uploads:Outcomes.announce",
                "for _ in range(ATTEMPTS):",
                "return ticket.base\n    for _ in range(ATTEMPTS):",
            ),
        ),
        RETRIES,
        (I05,),
    ),
    Mutant(
        "upload read twice",
        "What is committed is read again after it was validated.",
        (
            Edit(
                "catalog.uploading:Uploader._commit",
                "made = draft(",
                "again = self._store.get(keys.upload(upload))\n"
                "    contents = read_archive(again.body, limits=self._limits)\n"
                "    made = draft(",
            ),
        ),
        REPLACED,
        (I17,),
    ),
    Mutant(
        "no adoption",
        "The first publish on a directory does not keep it as a revision.",
        (
            Edit(
                "catalog.adopting:Adopter.adopt",
                "if not listing.objects:",
                "if True:",
            ),
        ),
        DIRECTORIES,
        (I02,),
    ),
    Mutant(
        "adoption unread",
        "A refused create of the adopted revision counts as done.",
        (
            Edit(
                "catalog.adopting:Adopter.adopt",
                "if isinstance(result, Taken) and result.current is None:",
                "if False:",
            ),
        ),
        replace(DIRECTORIES, weather=("conflicts",)),
        (I03,),
    ),
    Mutant(
        "adopted and deleted is new",
        "A directory that is gone counts as never adopted.",
        (
            Edit(
                "catalog.adopting:Adopter._without_directory",
                "return precondition if there_was and self._log.top(skill) else None",
                "return None",
            ),
        ),
        replace(DIRECTORIES, kinds={"delete": 1, "publish": 1}, actors=(4, 8)),
        (I02,),
        within=400,
    ),
    Mutant(
        "a deletion that removes",
        "A deletion takes the sidecar away, in place of a tombstone.",
        (
            Edit(
                "catalog.publishing:Publisher.commit",
                "info = self._log.commit(",
                "if made.kind is Kind.TOMBSTONE:\n"
                "        self._log._store.delete(f'skills/{skill}/.version')\n"
                "    info = self._log.commit(",
            ),
        ),
        DELETES,
        (I03, I04, I06),
    ),
    Mutant(
        "repeated unread",
        "A conditional write that was refused is sent again at once.",
        (
            Edit(
                LOG + "put_once",
                "current = store.head(key)",
                "store.put(key, body, condition=condition, metadata=stamped)\n"
                "    current = store.head(key)",
            ),
        ),
        EDITORS,
        (I16,),
    ),
)
