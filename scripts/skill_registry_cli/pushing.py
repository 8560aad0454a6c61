"""One directory or archive of this machine becomes the next version of a skill, or is refused."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from skill_registry.agent.packing import pack
from skill_registry.agent.problems import (
    AnswerInvalid,
    CredentialsFailed,
    RegistryProblem,
    RegistryUnreachable,
    TransferFailed,
)
from skill_registry.agent.requests import NO_PRECONDITION
from skill_registry.agent.walking import reason
from skill_registry.errors import RegistryError, RequestInvalid, SkillInvalid
from skill_registry_cli.failures import document_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from skill_registry.agent.client import RegistryClient
    from skill_registry.agent.packing import Packed
    from skill_registry.agent.requests import Precondition
    from skill_registry.agent.transfers import Progress
    from skill_registry.spec.model import Diagnostic
    from skill_registry_cli.skill_paths import Item

    Sending = Callable[[str, int], AbstractContextManager[Progress | None]]

# So many failures on end, and it is the registry that is ill, not a skill.
_MOST_FAILURES = 3


class State(StrEnum):
    """What became of an item."""

    PUBLISHED = "published"
    SENT = "sent"
    VALIDATED = "validated"
    REFUSED = "refused"
    NOT_TRIED = "not_tried"


@dataclass(frozen=True, slots=True)
class Terms:
    """How items are pushed: ``wait`` is for the publish, ``dry_run`` asks what it would say."""

    scope: str | None = None
    message: str | None = None
    precondition: Precondition = NO_PRECONDITION
    dry_run: bool = False
    wait: bool = True


@dataclass(frozen=True, slots=True)
class Pushed:
    """What came of one item.

    Attributes:
        sentence: What to say of it where nothing went wrong.
        answer: The registry's, as far as there is one.
        diagnostics: What was found here; then, unless ``error`` has it, what the registry found.
        error: Why it is refused.
    """

    item: Item
    state: State
    sentence: str = ""
    answer: Mapping[str, Any] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()
    error: RegistryError | None = None

    def document(self) -> dict[str, Any]:
        """Return the JSON form of what the registry said, or of the refusal."""
        found = [*self.diagnostics, *getattr(self.error, "diagnostics", ())]
        if self.answer:
            return {**self.answer, "diagnostics": [each.to_dict() for each in found]}
        return document_of(self.error, self.diagnostics) if self.error is not None else {}

    def result(self) -> dict[str, Any]:
        """Return the JSON form as one of several."""
        return {"path": self.item.shown, "state": self.state.value, **self.document()}


class Pusher:
    """Pushes items to one registry, and stops where that is of no use. May be shared by threads.

    Args:
        client: The registry.
        terms: What holds for every item.
        refused: Items that are refused whatever is in them.
        sending: Called with a skill's name and bytes; its context gives what draws a bar.
    """

    def __init__(
        self,
        client: RegistryClient,
        terms: Terms,
        refused: Mapping[Item, RegistryError],
        sending: Sending,
    ) -> None:
        self._client = client
        self._terms = terms
        self._refused = refused
        self._sending = sending
        self._lock = threading.Lock()
        self._failures = 0
        self._useless = False

    def push(self, item: Item) -> Pushed:
        """Push an item, all of it or nothing; what it is refused for is in the result."""
        if item in self._refused:
            return Pushed(item, State.REFUSED, error=self._refused[item])
        if self._useless:
            return Pushed(item, State.NOT_TRIED)
        try:
            packed = pack(item.path)
        except SkillInvalid as refused:
            return Pushed(item, State.REFUSED, error=refused)
        except OSError as failure:
            why = f"{failure.filename or item.path}: {reason(failure)}."
            error = RequestInvalid(why, code="file_unreadable")
            return Pushed(item, State.REFUSED, error=error)
        try:
            done = self._send(item, packed)
        except RegistryError as error:
            self._judge(error)
            found = packed.diagnostics
            return Pushed(item, State.REFUSED, diagnostics=found, error=error)
        with self._lock:
            self._failures = 0
        return done

    def _send(self, item: Item, packed: Packed) -> Pushed:
        with self._sending(packed.name, len(packed.archive)) as progress:
            if self._terms.dry_run:
                return self._validated(item, packed, progress)
            if not self._terms.wait:
                return self._sent(item, packed, progress)
            done = self._client.publish(
                packed.name,
                packed.archive,
                message=self._terms.message,
                scope=self._terms.scope,
                precondition=self._terms.precondition,
                progress=progress,
            )
        same = " (the same files as the version before)" if done.unchanged else ""
        sentence = f"Published {done.name} v:{done.version} in {done.scope}{same}."
        found = (*packed.diagnostics, *done.diagnostics)
        return Pushed(item, State.PUBLISHED, sentence, done.answer, found)

    def _validated(self, item: Item, packed: Packed, progress: Progress | None) -> Pushed:
        found = self._client.validate_upload(
            packed.name,
            packed.archive,
            scope=self._terms.scope,
            precondition=self._terms.precondition,
            progress=progress,
        )
        if not found.valid:
            error = SkillInvalid(f"`{packed.name}` breaks rules.", found.diagnostics)
            here = packed.diagnostics
            return Pushed(item, State.REFUSED, "", found.answer, here, error)
        sentence = f"{packed.name} would be published in {found.answer.get('scope')} as it is."
        said = (*packed.diagnostics, *found.diagnostics)
        return Pushed(item, State.VALIDATED, sentence, found.answer, said)

    def _sent(self, item: Item, packed: Packed, progress: Progress | None) -> Pushed:
        ticket = self._client.create_upload(
            packed.name,
            size=len(packed.archive),
            sha256=hashlib.sha256(packed.archive).hexdigest(),
            message=self._terms.message,
            scope=self._terms.scope,
            precondition=self._terms.precondition,
        )
        self._client.send_upload(ticket, packed.archive, progress)
        answer = {"state": "sent", "upload_id": ticket.upload_id, "name": packed.name}
        sentence = f"Sent {packed.name} as upload {ticket.upload_id}; the registry publishes it."
        return Pushed(item, State.SENT, sentence, answer, packed.diagnostics)

    def _judge(self, error: RegistryError) -> None:
        """Note whether what an item failed by would be in the way of every other one too."""
        status = error.status if isinstance(error, RegistryProblem | TransferFailed) else None
        failing = status is not None and (status >= 500 or status == 429)
        with self._lock:
            self._failures = self._failures + 1 if failing else 0
            if _is_useless(error) or self._failures >= _MOST_FAILURES:
                self._useless = True


def _is_useless(error: RegistryError) -> bool:
    """Tell whether there is no registry to talk to, or none that takes anything of this caller."""
    if isinstance(error, RegistryProblem):
        return error.status in (401, 403)
    kinds = RegistryUnreachable | AnswerInvalid | CredentialsFailed | RequestInvalid
    return isinstance(error, kinds)
