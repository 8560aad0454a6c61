"""Invariants of what is written: the log, ``.version``, and who won."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from simulation.bucket import is_conditional
from simulation.content import stored_files
from simulation.facts import (
    Acknowledged,
    Asked,
    Quiet,
    Refused,
    RevisionChanged,
    SettingsChanged,
    SidecarChanged,
    TreeChanged,
    Viewed,
)
from simulation.invariants import invariant
from simulation.ledger import states_since
from simulation.scheduler import current

from skill_registry.catalog.adopting import AUTHOR
from skill_registry.catalog.revision import Kind
from skill_registry.errors import VersionConflict
from skill_registry.spec.archive import content_digest
from skill_registry.spec.files import parse_sidecar
from skill_registry.spec.model import SKILL_MD
from skill_registry.spec.names import is_sidecar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simulation.ledger import SkillLedger
    from simulation.world import World


@invariant(RevisionChanged)
def i01_revisions_never_change_but_into_stubs(world: World, fact: RevisionChanged) -> str | None:
    """A revision is written once; later its content may become a pruned stub, and nothing else."""
    known = world.ledger.of(fact.skill).log.get(fact.number)
    if known is None:
        return None
    if fact.info is None:
        return f"revision {fact.number} of {fact.skill} was removed"
    was = known.info
    same = (fact.info.upload_id, fact.info.digest, fact.info.sha256, fact.info.author)
    if same != (was.upload_id, was.digest, was.sha256, was.author):
        return f"revision {fact.number} of {fact.skill} was rewritten by {fact.info.upload_id}"
    if fact.info.kind is not Kind.PRUNED or was.kind is not Kind.CONTENT:
        return f"revision {fact.number} of {fact.skill} went {was.kind} -> {fact.info.kind}"
    if stored_files(fact.body):
        return f"the stub of revision {fact.number} of {fact.skill} has files"
    return None


@invariant(RevisionChanged)
def i02_numbers_are_dense(world: World, fact: RevisionChanged) -> str | None:
    """The log of a skill is first..M without a gap. The first is 1, or what ``.version`` stated;
    and where there was a directory all the time, the first is that directory.

    Where an outsider changes the ``.version`` of a directory while it is adopted, it may be adopted
    by two numbers; then it is in the log twice.
    """
    known = world.ledger.of(fact.skill)
    if fact.number in known.log or _is_adopted_again(known, fact):
        return None
    task = current()
    if not known.log and task is not None and task.call is not None and fact.info is not None:
        states = states_since(known.trees, task.call.since)
        if fact.info.author != AUTHOR and all(SKILL_MD in state for state in states):
            return f"the directory of {fact.skill} was never adopted"
    allowed = {known.top + 1} if known.log else {1, *known.ever_stated}
    if fact.number in allowed:
        return None
    return f"revision {fact.number} of {fact.skill} came after {known.top}"


def _is_adopted_again(known: SkillLedger, fact: RevisionChanged) -> bool:
    """Tell whether an outsider's hand in ``.version`` made a directory be adopted twice."""
    task = current()
    if not known.log or fact.info is None or fact.info.author != AUTHOR:
        return False
    return task is None or task.call is None or known.touched > task.call.since


@invariant(SidecarChanged, RevisionChanged, Quiet)
def i03_the_sidecar_follows_the_log(
    world: World, fact: SidecarChanged | RevisionChanged | Quiet
) -> str | None:
    """``.version`` never falls but from past the log, lags by one at most, and ends at the top.

    After an outsider wrote or removed it: it names a revision that exists, and ends at the top. A
    number that an outsider made up may be taken back, also where it has come to exist meanwhile.
    """
    if isinstance(fact, Quiet):
        wrong = {
            str(skill): (known.stated, known.top)
            for skill, known in world.ledger.skills.items()
            if known.log and known.stated != known.top
        }
        return f"stated and top at the end: {wrong}" if wrong else None
    known = world.ledger.of(fact.skill)
    trusted = known.trusted(world.step)
    if isinstance(fact, RevisionChanged):
        new = known.log and fact.number not in known.log
        if not new or not trusted or fact.number == (known.stated or 0) + 1:
            return None
        if _is_adopted_again(known, fact):
            return None
        return f"revision {fact.number} of {fact.skill} came while .version was {known.stated}"
    if fact.change.outsider:
        return None
    if fact.stated is None or fact.stated not in known.log:
        return f".version of {fact.skill} became {fact.stated}, and the log ends at {known.top}"
    before = known.stated
    usable = before is not None and before in known.log and not known.log[before].pruned
    if usable and before is not None and fact.stated < before and before not in known.made_up:
        return f".version of {fact.skill} fell from {before} to {fact.stated}"
    return None


@invariant(Acknowledged, Quiet)
def i04_an_acknowledged_publish_is_there(world: World, fact: Acknowledged | Quiet) -> str | None:
    """Its number holds its upload and its bytes, it is visible, and it is never lost.

    After an outsider wrote or removed ``.version``: it is in the log, and visible in the end. Who
    made a missing ``.version`` anew while publishing leaves what was acknowledged before visible.
    """
    if isinstance(fact, Quiet):
        lost = [
            upload
            for upload, number in world.ledger.acknowledged.items()
            if _upload_at(world, upload, number) != upload
        ]
        return f"acknowledged and not in the log: {lost}" if lost else None
    known = world.ledger.of(fact.skill)
    revision = known.log.get(fact.info.number)
    if revision is None or revision.info.upload_id != fact.upload:
        return f"{fact.upload} was acknowledged as {fact.info.number}, which is another's"
    if revision.info.digest != fact.info.digest:
        return f"{fact.upload} was acknowledged with other bytes than are stored"
    # What became of an upload is told by the head that readers see; a publish by the sidecar.
    visible = (known.stated or 0) if fact.call else known.head
    if known.trusted(world.step) and visible < fact.info.number:
        return f"{fact.upload} was acknowledged as {fact.info.number}, and {visible} is visible"
    made = fact.call.made.get(fact.skill) if fact.call else None
    if made is not None and made >= known.touched and (known.stated or 0) < known.floor:
        return f"{known.floor} was acknowledged, and .version was made anew as {known.stated}"
    return None


def _upload_at(world: World, upload: str, number: int) -> str | None:
    promise = world.ledger.promises[upload]
    revision = world.ledger.of(promise.skill).log.get(number)
    return revision.info.upload_id if revision else None


@invariant(RevisionChanged, Acknowledged, Refused)
def i05_one_revision_per_upload_id(
    world: World, fact: RevisionChanged | Acknowledged | Refused
) -> str | None:
    """Whatever is retried, an upload becomes one revision, is acknowledged with its number, and is
    not refused once it is one.

    While an outsider's hand shows in ``.version``, it may be refused; and so may an upload whose
    object was replaced since.
    """
    if isinstance(fact, Refused):
        return _refused(world, fact)
    if isinstance(fact, Acknowledged):
        before = world.ledger.acknowledged.get(fact.upload, fact.info.number)
        if before == fact.info.number:
            return None
        return f"{fact.upload} was acknowledged as {before} and as {fact.info.number}"
    known = world.ledger.of(fact.skill)
    if fact.number in known.log or fact.info is None or _is_adopted_again(known, fact):
        return None
    for number, revision in known.log.items():
        if revision.info.upload_id == fact.info.upload_id:
            return f"{fact.info.upload_id} became revision {number} and {fact.number}"
    return None


def _refused(world: World, fact: Refused) -> str | None:
    known = world.ledger.of(fact.promise.skill)
    if not known.trusted(fact.since) or fact.promise.replaced:
        return None
    for number, revision in known.log.items():
        if revision.info.upload_id == fact.upload and revision.step <= fact.since:
            return f"{fact.upload} is revision {number}, and was refused: {fact.error!r}"
    return None


@invariant(RevisionChanged, SettingsChanged)
def i09_head_and_labelled_keep_their_bytes(
    world: World, fact: RevisionChanged | SettingsChanged
) -> str | None:
    """Neither is ever pruned, also when a label races the pruning, nor is what retention keeps; the
    floor rises before bytes go.

    After an outsider wrote or removed ``.version``: the newest revision takes the head's place.
    """
    known = world.ledger.of(fact.skill)
    overrides = known.overrides
    if isinstance(fact, SettingsChanged):
        labels = fact.overrides.labels
        gone = {label: n for label, n in labels.items() if n in known.log and known.log[n].pruned}
        if gone:
            return f"labels of {fact.skill} name pruned revisions: {gone}"
        floor, kept = fact.overrides.prune_below, world.settings.keep_versions
        if floor < overrides.prune_below or floor > max(0, known.top - kept + 1):
            return f"prune_below of {fact.skill} went {overrides.prune_below} -> {floor}"
        return None
    if fact.info is None or fact.info.kind is not Kind.PRUNED:
        return None
    head = known.head if known.trusted(world.step) else known.top
    if fact.number >= head:
        return f"the head of {fact.skill}, {fact.number}, was pruned"
    if fact.number in overrides.labels.values():
        return f"revision {fact.number} of {fact.skill} was pruned and is labelled"
    if overrides.keeps(fact.number):
        return f"revision {fact.number} of {fact.skill} was pruned before the floor rose"
    return None


@invariant(Acknowledged)
def i10_numbers_grow_past_a_deletion(world: World, fact: Acknowledged) -> str | None:
    """What is asked for after a deletion was acknowledged gets a larger number than it."""
    since = world.ledger.promises[fact.upload].since
    for upload, number in world.ledger.acknowledged.items():
        other = world.ledger.promises[upload]
        if (other.skill, other.kind) != (fact.skill, Kind.TOMBSTONE) or upload == fact.upload:
            continue
        if world.ledger.acknowledged_at[upload] <= since and number >= fact.info.number:
            return f"{fact.upload} is {fact.info.number} after the deletion {number}"
    return None


@invariant(RevisionChanged, Refused)
def i11_one_winner_per_base(world: World, fact: RevisionChanged | Refused) -> str | None:
    """A conditional publish is committed directly after its base, a create-only one after none;
    and it is refused only where another one won.

    While an outsider's hand shows in ``.version``, the state before a deletion may count as there
    or not, and a refusal is nobody's fault.
    """
    if isinstance(fact, Refused):
        return _lost_to_nobody(world, fact)
    known = world.ledger.of(fact.skill)
    promise = world.ledger.promises.get(fact.info.upload_id) if fact.info else None
    if promise is None or fact.number in known.log:
        return None
    wanted = promise.precondition
    if wanted.version is not None and fact.number != wanted.version + 1:
        return f"a publish over version {wanted.version} was committed as {fact.number}"
    if not known.trusted(world.step):
        return None
    before = known.log.get(fact.number - 1)
    exists = before is not None and SKILL_MD in before.files
    if wanted.create_only and exists:
        return f"a create-only publish was committed as {fact.number}, over a skill"
    if wanted.must_exist and (before is None or before.info.kind is Kind.TOMBSTONE):
        return f"a deletion was committed as {fact.number}, of nothing"
    return None


def _lost_to_nobody(world: World, fact: Refused) -> str | None:
    known = world.ledger.of(fact.promise.skill)
    wanted = fact.promise.precondition.version
    if not isinstance(fact.error, VersionConflict) or wanted is None:
        return None
    if not known.trusted(fact.since) or {*states_since(known.heads, fact.since)} != {wanted}:
        return None
    return f"{fact.upload} over {wanted} was refused, and the head was {wanted} all the time"


@invariant(Asked)
def i16_no_conditional_write_is_repeated_unread(_: World, fact: Asked) -> str | None:
    """A conditional write that was lost is followed by a read before the next one to its key."""
    if is_conditional(fact.request) and fact.request.key in fact.call.unread:
        return f"{fact.call.name} wrote {fact.request.key} again without a read"
    return None


@invariant(RevisionChanged)
def i17_validated_bytes_are_the_committed_ones(world: World, fact: RevisionChanged) -> str | None:
    """What is committed is one valid archive that its client sent, whole, as its metadata says."""
    known = world.ledger.of(fact.skill)
    info = fact.info
    if info is None or fact.number in known.log:
        return None
    if hashlib.sha256(fact.body).hexdigest() != info.sha256:
        return f"revision {fact.number} has other bytes than its sha256"
    digest = content_digest(stored_files(fact.body))
    if digest != info.digest:
        return f"revision {fact.number} has other files than its digest"
    promise = world.ledger.promises.get(info.upload_id)
    if promise is None:
        adopted = info.author == AUTHOR and (not known.log or _is_adopted_again(known, fact))
        return None if adopted else f"nobody asked for {info.upload_id}"
    if promise.kind is not info.kind or digest not in promise.digests:
        return f"revision {fact.number} is nothing that the client of {info.upload_id} sent"
    return _restored(known, info.restores, digest)


def _restored(known: SkillLedger, restores: int | None, digest: str) -> str | None:
    if restores is None or known.log[restores].info.digest == digest:
        return None
    return f"a rollback to {restores} has other bytes than it"


@invariant(RevisionChanged, TreeChanged, SidecarChanged, Viewed)
def i18_the_sidecar_is_no_file(
    world: World, fact: RevisionChanged | TreeChanged | SidecarChanged | Viewed
) -> str | None:
    """No archive, no view and no projection holds ``.version``; only an integer is written there.

    Args:
        world: Unused.
        fact: Anything that has paths. A bundle is the archive itself, and a mount unpacks it.
    """
    del world
    paths: Iterable[str] = ()
    if isinstance(fact, RevisionChanged) and fact.info is not None:
        paths = [file.path for file in stored_files(fact.body)]
    elif isinstance(fact, TreeChanged) and not fact.change.outsider:
        paths = [fact.path]
    elif isinstance(fact, Viewed) and fact.loaded is not None:
        paths = fact.loaded.files
    elif isinstance(fact, SidecarChanged):
        after = fact.change.after
        if after is not None and not fact.change.outsider and parse_sidecar(after.body) is None:
            return f".version of {fact.skill} became {after.body!r}"
    found = [path for path in paths if is_sidecar(path)]
    return f"{found} among the files" if found else None
