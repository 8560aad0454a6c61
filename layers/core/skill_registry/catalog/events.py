"""Events: what S3 says that happened, taken as hints only.

They come at least once, in any order, late, or not at all. For each skill that one names the state
is read and brought up to date; what the event claims is never believed.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

from skill_registry.catalog.principal import is_scope
from skill_registry.catalog.publishing import Published
from skill_registry.errors import RegistryError, Unavailable
from skill_registry.store import keys

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skill_registry.catalog.refreshing import Refresher
    from skill_registry.catalog.uploading import Uploader
    from skill_registry.store.keys import SkillId, UploadId

_LOGGER = logging.getLogger(__name__)


@dataclass(slots=True)
class _Batch:
    """What a batch names, each thing once, with the messages that named it."""

    uploads: dict[UploadId, set[str]] = field(default_factory=dict)
    skills: dict[SkillId, set[str]] = field(default_factory=dict)
    scopes: dict[str, set[str]] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)


def event_keys(body: str) -> list[str]:
    """Read the object keys of one S3 notification; none for a test event.

    Keys are form-encoded: a plus is a space (AWS S3, event message structure).

    Raises:
        ValueError: The body is not a notification.
    """
    document = json.loads(body)
    if not isinstance(document, dict):
        raise ValueError("not an S3 notification")
    found = []
    records = document.get("Records", [])
    if not isinstance(records, list):
        raise ValueError("not an S3 notification")
    for record in records:
        try:
            key: Any = record["s3"]["object"]["key"]
        except (KeyError, TypeError) as error:
            raise ValueError("not an S3 notification") from error
        found.append(unquote_plus(str(key)))
    return found


class EventHandler:
    """Works off batches of notifications; each catalog is written at most once a batch."""

    def __init__(self, uploader: Uploader, refresher: Refresher) -> None:
        self._uploader = uploader
        self._refresher = refresher

    def handle(self, messages: Mapping[str, str]) -> set[str]:
        """Work off notifications by message id; return the ids to deliver again.

        A message that is no notification is returned every time, until the queue moves it to the
        dead letters.
        """
        batch = _Batch()
        for message_id, body in messages.items():
            self._read(batch, message_id, body)
        published = self._publish(batch)
        self._settle(batch, published)
        self._refresh(batch)
        return batch.failed

    def _read(self, batch: _Batch, message_id: str, body: str) -> None:
        try:
            named = event_keys(body)
        except ValueError:
            _LOGGER.error("event_unreadable", extra={"message_id": message_id})
            batch.failed.add(message_id)
            return
        for key in named:
            upload = keys.parse_upload(key)
            skill = keys.parse_skill(key)
            scope = keys.parse_catalog(key)
            if upload is not None:
                batch.uploads.setdefault(upload, set()).add(message_id)
            elif skill is not None and is_scope(skill.scope):
                batch.skills.setdefault(skill, set()).add(message_id)
            elif scope is not None and is_scope(scope):
                batch.scopes.setdefault(scope, set()).add(message_id)

    def _publish(self, batch: _Batch) -> dict[SkillId, int]:
        published: dict[SkillId, int] = {}
        for upload, messages in batch.uploads.items():
            try:
                done = self._uploader.publish(upload, follow=False)
            except Unavailable as error:
                _LOGGER.warning("publish_failed", extra={"upload": upload.id, "why": error.code})
                batch.failed |= messages
            except RegistryError as error:
                _LOGGER.info("publish_refused", extra={"upload": upload.id, "why": error.code})
            else:
                if not isinstance(done, Published):
                    continue
                published[done.skill] = max(done.info.number, published.get(done.skill, 0))
                batch.skills.setdefault(done.skill, set()).update(messages)
        return published

    def _settle(self, batch: _Batch, published: Mapping[SkillId, int]) -> None:
        for skill, messages in batch.skills.items():
            try:
                if skill in published:
                    self._refresher.take_over(skill, published[skill])
                projected = self._refresher.settle(skill)
            except RegistryError as error:
                _LOGGER.warning("settle_failed", extra={"skill": str(skill), "why": error.code})
                batch.failed |= messages
                continue
            if projected.drift:
                extra = {"skill": str(skill), "paths": list(projected.drift[:20])}
                _LOGGER.warning("tree_drift", extra=extra)

    def _refresh(self, batch: _Batch) -> None:
        names: dict[str, set[str]] = {scope: set() for scope in batch.scopes}
        messages = {scope: set(named) for scope, named in batch.scopes.items()}
        for skill, named in batch.skills.items():
            names.setdefault(skill.scope, set()).add(skill.name)
            messages.setdefault(skill.scope, set()).update(named)
        for scope in sorted(names):
            try:
                self._refresher.refresh(scope, names[scope])
            except RegistryError as error:
                _LOGGER.warning("refresh_failed", extra={"scope": scope, "why": error.code})
                batch.failed |= messages[scope]
