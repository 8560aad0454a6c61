"""A skill's log: its numbered revisions and the ``.version`` that makes them visible.

Architecture, section 4, steps 2 to 6. The durable commit is a conditional create of revision h+1,
the visible commit a conditional write of ``.version``. Whoever meets a committed revision that is
not visible yet makes it so before going on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from skill_registry.catalog.revision import Kind, RevisionInfo
from skill_registry.errors import SkillNotFound, TicketStale, Unavailable, VersionConflict
from skill_registry.spec.files import parse_sidecar
from skill_registry.store import keys
from skill_registry.store.base import IfAbsent, IfMatch, StoredObject, Written, list_all
from skill_registry.store.conditional import put_once

if TYPE_CHECKING:
    from skill_registry.catalog.revision import Draft
    from skill_registry.catalog.runtime import Runtime
    from skill_registry.store.base import SkillStore
    from skill_registry.store.keys import SkillId

ATTEMPTS = 60
SCAN_LIMIT = 100


def sidecar_body(number: int) -> bytes:
    """The bytes of a ``.version``."""
    return b"%d\n" % number


@dataclass(frozen=True, slots=True)
class Head:
    """What is visible of a log.

    Attributes:
        number: The head's number, 0 for a skill without a revision.
        stated: What ``.version`` says, None where it is missing or garbage.
        etag: ETag of ``.version``, None where it is missing.
        info: The head revision's metadata, None where ``number`` is 0.
    """

    number: int
    stated: int | None
    etag: str | None
    info: RevisionInfo | None

    @property
    def exists(self) -> bool:
        """Whether there is a skill to read: a head that is no tombstone."""
        return self.info is not None and self.info.kind is not Kind.TOMBSTONE

    @property
    def settled(self) -> bool:
        """Whether ``.version`` says what the log says."""
        return self.stated == self.number


@dataclass(frozen=True, slots=True)
class Precondition:
    """What a writer wants to hold for the head.

    Attributes:
        version: The head is exactly this version.
        create_only: There is no skill: no head, or a tombstone.
        must_exist: There is one.
    """

    version: int | None = None
    create_only: bool = False
    must_exist: bool = False

    def check(self, number: int, *, exists: bool) -> None:
        """Compare with a head.

        Raises:
            SkillNotFound: ``must_exist`` does not hold.
            VersionConflict: Another one does not; it carries the current version.
        """
        current = number or None
        if self.must_exist and not exists:
            raise SkillNotFound("There is no such skill to change.")
        if self.create_only and exists:
            at = f", at version {number}" if number else ""
            raise VersionConflict(f"The skill exists already{at}.", current=current)
        if self.version is not None and self.version != number:
            now = f"the current version is {number}" if number else "there is no such version"
            raise VersionConflict(
                f"You changed version {self.version}; {now}. Read it again and repeat your change.",
                current=current,
            )


NO_PRECONDITION = Precondition()

Adopt = Callable[["SkillId", Head, Precondition], "Precondition | None"]
Admit = Callable[[Head], None]


def unlimited(_head: Head) -> None:
    """Admit everything."""


def _untold(_info: RevisionInfo) -> None:
    """Take note of nothing."""


class RevisionLog:
    """Reads and appends to logs. Holds no state of its own."""

    def __init__(self, store: SkillStore, runtime: Runtime) -> None:
        self._store = store
        self._runtime = runtime

    def numbers(self, skill: SkillId) -> frozenset[int]:
        """Return the numbers of all revisions."""
        listed = list_all(self._store, keys.revisions(skill))
        numbers = (keys.revision_number(each.key) for each in listed)
        return frozenset(number for number in numbers if number is not None)

    def top(self, skill: SkillId) -> int:
        """Return the highest number in the log, 0 for none."""
        return max(self.numbers(skill), default=0)

    def info(self, skill: SkillId, number: int) -> RevisionInfo | None:
        """Return what revision ``number`` says of itself, None where there is none."""
        found = self._store.head(keys.revision(skill, number))
        return RevisionInfo.from_object(number, found) if found else None

    def head(self, skill: SkillId) -> Head:
        """Read the head.

        A sidecar that is missing, garbage, past the log or at a pruned revision yields to the log.
        """
        sidecar = self._store.get(keys.sidecar(skill))
        stated, etag = None, None
        if isinstance(sidecar, StoredObject):
            stated, etag = parse_sidecar(sidecar.body), sidecar.etag
        if stated is not None:
            info = self.info(skill, stated)
            # No head is ever pruned: a sidecar that names a stub is old or was lowered.
            if info is not None and info.kind is not Kind.PRUNED:
                return Head(stated, stated, etag, info)
        number = self.top(skill)
        return Head(number, stated, etag, self.info(skill, number) if number else None)

    def make_visible(self, skill: SkillId, number: int, head: Head) -> None:
        """Bring ``.version`` to at least ``number``, a revision that exists.

        ``head`` is what was read last. The answer of a conditional write is never trusted alone:
        the sidecar is read again.

        Raises:
            Unavailable: Others kept winning, or the store did not answer.
        """
        goal = number
        for attempt in range(ATTEMPTS):
            if head.settled and head.number >= goal:
                return
            if self._write_sidecar(skill, goal, head):
                # Where an outsider had a hand in the sidecar, this may have replaced a newer one.
                top = goal if head.settled else self.top(skill)
                if top <= goal:
                    return
                goal = top
            if attempt:
                self._runtime.pause(attempt)
            head = self.head(skill)
        raise Unavailable(f"Too many writers on {skill}; publish again.")

    def _write_sidecar(self, skill: SkillId, number: int, head: Head) -> bool:
        try:
            result = self._store.put(
                keys.sidecar(skill),
                sidecar_body(number),
                condition=IfAbsent() if head.etag is None else IfMatch(head.etag),
                content_type="text/plain",
            )
        except Unavailable:
            # Unknown outcome: the caller reads the sidecar and decides by its value.
            return False
        return isinstance(result, Written)

    def commit(
        self,
        skill: SkillId,
        draft: Draft,
        *,
        base: int | None,
        precondition: Precondition,
        adopt: Adopt,
        read: Head | None = None,
        admit: Admit = unlimited,
        made: Callable[[RevisionInfo], None] = _untold,
    ) -> RevisionInfo:
        """Append the draft and make it visible, exactly once per upload id.

        Args:
            adopt: Called while the log is empty; commits what the plain tree holds, if anything.
            base: The head when the upload was announced; revisions after it are searched for the
                upload id. None where nothing can have been committed under it.
            read: The head as the caller read it before, to spare reading it once. It may be old.
            admit: Called before each attempt, unless the upload was committed already; what it
                raises ends the commit.
            made: Called once this call, and no earlier one, has made the revision.

        Raises:
            VersionConflict: The precondition does not hold.
            TicketStale: More than 100 revisions came after ``base``.
            Unavailable: The store does not answer, or others kept winning.
        """
        seen = base
        for attempt in range(ATTEMPTS):
            head, read = read or self.head(skill), None
            mine = self._find(skill, draft.upload_id, seen, head)
            if mine is not None:
                self.make_visible(skill, mine.number, head)
                return mine
            admit(head)
            seen = head.number
            if head.number and not head.settled:
                # A revision follows a visible one, so that the log is never ahead by two.
                self.make_visible(skill, head.number, head)
                continue
            if head.info is None and (adopted := adopt(skill, head, precondition)) is not None:
                precondition = adopted
                continue
            if not self._holds(skill, precondition, head):
                continue
            info = draft.info(head.number + 1, self._runtime.now(), head.info)
            found = self._append(skill, info, draft.archive)
            if found is info:
                made(info)
            if found.upload_id == draft.upload_id:
                self.make_visible(skill, found.number, head)
                return found
            self._help(skill, found.number, head, attempt)
            self._runtime.pause(attempt)
        raise Unavailable(f"Too many writers on {skill}; publish again.")

    def _holds(self, skill: SkillId, precondition: Precondition, head: Head) -> bool:
        """Check a precondition; False where the head was not the newest, and now is.

        Raises:
            SkillNotFound, VersionConflict: It does not hold for the newest revision.
        """
        try:
            precondition.check(head.number, exists=head.exists)
        except (SkillNotFound, VersionConflict):
            if head.number == 0 or self.info(skill, head.number + 1) is None:
                raise
            self.make_visible(skill, self.top(skill), head)
            return False
        return True

    def _help(self, skill: SkillId, number: int, head: Head, attempt: int) -> None:
        """Make another's revision visible, which may have been left by a crash.

        A sidecar that somebody lowered is behind by more than one: then the log says how far.
        """
        self.make_visible(skill, number if attempt == 0 else self.top(skill), head)

    def _append(self, skill: SkillId, info: RevisionInfo, archive: bytes) -> RevisionInfo:
        """Create the revision; answer what the log holds at its number, ours or another's."""
        key = keys.revision(skill, info.number)
        result = put_once(
            self._store,
            key,
            archive,
            condition=IfAbsent(),
            metadata=info.to_metadata(),
            content_type="application/zip",
            write_id=self._runtime.new_id(),
        )
        if isinstance(result, Written):
            return info
        if result.current is None:
            raise Unavailable(f"Publishing to {skill} met another write; publish again.")
        return RevisionInfo.from_object(info.number, result.current)

    def _find(
        self, skill: SkillId, upload_id: str, seen: int | None, head: Head
    ) -> RevisionInfo | None:
        """Search the revisions after ``seen``, the newest 100 of them, for an upload id.

        Numbers are dense from the first one on, which may be high: a directory is adopted by the
        number that it states.
        """
        if seen is None or head.number <= seen:
            return None
        if head.info is not None and head.info.upload_id == upload_id:
            return head.info
        numbers = range(max(seen, head.number - SCAN_LIMIT) + 1, head.number)
        infos = self._runtime.parallel([partial(self.info, skill, n) for n in numbers])
        found = next((info for info in infos if info and info.upload_id == upload_id), None)
        if found is None and numbers.start > seen + 1 and infos[0] is not None:
            raise TicketStale(
                f"More than {SCAN_LIMIT} versions were published since this call began, so"
                " the log does not tell whether it was one of them. Look at the versions before you"
                " publish anew."
            )
        return found

    def find(self, skill: SkillId, upload_id: str, base: int) -> RevisionInfo | None:
        """Return the revision that an upload became, None while it is none.

        Raises:
            TicketStale: Too many revisions came since to tell.
        """
        return self._find(skill, upload_id, base, self.head(skill))

    def heal(self, skill: SkillId) -> Head:
        """Roll every committed revision forward to visible; repair a sidecar past the log.

        Returns the head as it was read last. Writes nothing where all is well.
        """
        head = self.head(skill)
        while self.info(skill, head.number + 1) is not None:
            # A sidecar that somebody lowered is behind by more than one.
            self.make_visible(skill, self.top(skill), head)
            head = self.head(skill)
        if head.number and not head.settled:
            # Garbage, missing, or past the log: the only lowering that ever happens.
            self.make_visible(skill, head.number, head)
            head = self.head(skill)
        return head
