"""Copy: what one scope holds, published in another. Promotion, and taking a skill for oneself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skill_registry.catalog.log import NO_PRECONDITION, Precondition
from skill_registry.catalog.revision import Source
from skill_registry.errors import Gone, NotFound, RequestInvalid, UploadAlreadyUsed
from skill_registry.spec.layout import ArchiveContents

if TYPE_CHECKING:
    from skill_registry.catalog.loading import Loaded
    from skill_registry.catalog.principal import Principal
    from skill_registry.catalog.publishing import Published, Publisher
    from skill_registry.catalog.resolving import Pin
    from skill_registry.catalog.viewing import ViewSkill
    from skill_registry.store.keys import SkillId


class Copier:
    """The copy use case: reads as a view does, and writes as a publish does."""

    def __init__(self, viewing: ViewSkill, publisher: Publisher) -> None:
        self._viewing = viewing
        self._publisher = publisher

    def copy(
        self,
        principal: Principal,
        target: SkillId,
        *,
        scopes: tuple[str, ...] = (),
        pin: Pin = None,
        precondition: Precondition = NO_PRECONDITION,
        message: str | None = None,
        idempotency_key: str | None = None,
    ) -> Published:
        """Publish the skill that this caller sees by the target's name, in the target's scope.

        Args:
            target: Where to. The caller was found to have the right to write there.
            scopes: Where the source is looked for, in order; all that the caller reads without any.
            pin: A revision number or ``@label`` of the source instead of its head.
            precondition: What has to hold for the target.
            idempotency_key: As for a publish. The call that is repeated gets its first answer, also
                where the source is another one by then.

        Raises:
            SkillNotFound, VersionNotFound, Gone: There is no such source for this caller.
            RequestInvalid: The source is the target itself.
            SkillInvalid: The source breaks rules, as a vendored one may; nothing was changed.
            ScopeFull, VersionConflict, UploadAlreadyUsed, Unavailable: As for a publish.
        """
        try:
            loaded = self._viewing.load(principal, target.name, scopes, pin)
            if loaded.skill == target:
                raise RequestInvalid(
                    f"`{target.name}` would be copied onto itself. Name another scope with"
                    " `?scope=`, or roll back to an older version."
                )
            return self._publisher.publish_inline(
                principal,
                target,
                _contents(loaded),
                precondition=precondition,
                message=message,
                idempotency_key=idempotency_key,
                copied_from=Source(loaded.skill, loaded.version),
            )
        except (NotFound, Gone, UploadAlreadyUsed):
            asked = principal.read_scopes(scopes)
            done = self._publisher.earlier(principal, target, idempotency_key)
            if done is None or not _is_answer(done, asked, pin):
                raise
            return done


def _contents(loaded: Loaded) -> ArchiveContents:
    left_out = loaded.directory.left_out if loaded.directory is not None else ()
    return ArchiveContents(tuple(loaded.files.values()), left_out)


def _is_answer(done: Published, asked: tuple[str, ...], pin: Pin) -> bool:
    """Whether an earlier copy is one that this call asks for, as far as it says."""
    source = done.info.copied_from
    if source is None or source.skill.scope not in asked:
        return False
    return not isinstance(pin, int) or source.version == pin
