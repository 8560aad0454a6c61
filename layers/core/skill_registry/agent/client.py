"""The client of the registry's HTTP API.

Requests, retries and reading are pure and live in modules of their own; what is here, in
``reading_calls.py``, ``history.py`` and ``operating.py``, is the order of the calls, and nothing
else. ``async_client.py`` has those that read for async agents.
"""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

from skill_registry.agent import reading, requests, transfers
from skill_registry.agent.history import HistoryCalls
from skill_registry.agent.operating import OperatorCalls
from skill_registry.agent.reading_calls import ReadingCalls, follow
from skill_registry.agent.requests import NO_PRECONDITION, ListFilters, Precondition
from skill_registry.agent.source import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from skill_registry.agent.answers import (
        Bundle,
        CheckedSkill,
        Listing,
        Published,
        UploadState,
        UploadTicket,
        Validation,
        Version,
        View,
    )
    from skill_registry.agent.source import SkillCopy, SkillList, SkillQuery
    from skill_registry.agent.transfers import Progress


class RegistryClient(ReadingCalls, HistoryCalls, OperatorCalls):
    """One registry, over HTTP: a ``SkillSource``, and all that can be done with one.

    May be shared by threads; close it, or use it in ``with``.

    ``Connection`` says what it is made from. Every method raises ``RegistryProblem`` when the
    registry refuses, ``RegistryUnreachable`` when nothing answers, ``AnswerInvalid`` when something
    else than a registry answers, and ``CredentialsFailed`` when ``auth`` has nothing to show.
    """

    def list_skills(
        self,
        scopes: Sequence[str] = (),
        *,
        limit: int | None = None,
        cursor: str | None = None,
        query: SkillQuery = EVERYTHING,
        words: str | None = None,
        at_least: Mapping[str, int] | None = None,
    ) -> Listing:
        """Return one page of the listing; an unchanged one costs a 304 and is not read again.

        Args:
            scopes: Where to look, in order of precedence; else those of ``query``.
            limit: Skills on the page.
            cursor: The ``next`` of another page.
            query: Who asks.
            words: Beginnings of words that a skill must have; the best come first.
            at_least: Versions of scopes' catalogs that the listing must not be older than.
        """
        filters = ListFilters(words, at_least or {}, limit, cursor)
        return self._take(self._page(query.within(scopes), filters))

    def list_pages(
        self,
        scopes: Sequence[str] = (),
        *,
        limit: int | None = None,
        query: SkillQuery = EVERYTHING,
        words: str | None = None,
        at_least: Mapping[str, int] | None = None,
    ) -> Iterator[Listing]:
        """Yield the listing page by page; arguments as ``list_skills``."""
        seen: set[str] = set()
        filters = ListFilters(words, at_least or {}, limit)
        while True:
            page = self._take(self._page(query.within(scopes), filters))
            yield page
            if page.next is None:
                return
            follow(page.next, seen)
            filters = replace(filters, cursor=page.next)

    def list_all(self, query: SkillQuery = EVERYTHING) -> SkillList:
        """Return the whole listing; an unchanged one costs one 304, however many pages it has.

        It is of one moment, but where the registry changes again and again while it is read: then
        each page is as it was when it was read.
        """
        return self._take(self._whole_listing(query))

    def view_skill(
        self,
        name: str,
        path: str | None = None,
        version: int | str | None = None,
        scope: str | None = None,
        raw: bool = False,
        *,
        query: SkillQuery = EVERYTHING,
    ) -> View:
        """Return a skill's body, or the file at ``path``, or with ``raw`` the stored bytes.

        ``version`` is a number or a label (``@stable``); without it, the head. ``scope`` counts
        instead of the scopes of ``query``. A file that is too large for one answer is taken out of
        the bundle.

        Raises:
            TransferFailed: That bundle could not be had.
        """
        return self._take(self._view(name, path, version, query.within(scope), raw))

    def load_skill(
        self,
        name: str,
        version: int | str | None = None,
        *,
        query: SkillQuery = EVERYTHING,
        known: str | None = None,
    ) -> SkillCopy | None:
        """Return all files of a skill, with one download; None where ``known`` is its tag.

        Raises:
            TransferFailed: The bundle could not be had.
        """
        return self._take(self._copy(name, version, query, known))

    def check(
        self, loaded: Mapping[str, Version], *, query: SkillQuery = EVERYTHING
    ) -> Mapping[str, CheckedSkill]:
        """Return what became of each skill since the given version was loaded."""
        return self._take(self._checked(loaded, query))

    def bundle(
        self,
        name: str,
        version: int | str | None = None,
        scope: str | None = None,
        *,
        query: SkillQuery = EVERYTHING,
    ) -> Bundle:
        """Return where the whole skill can be read for a while."""
        return self._take(self._bundle(name, version, query.within(scope)))

    def download(self, bundle: Bundle) -> bytes:
        """Read a bundle and return its bytes once their digest is right.

        Raises:
            TransferFailed: The store refused, or the digest is wrong.
        """
        return self._take(self._downloaded(bundle))

    def create_upload(
        self,
        name: str,
        *,
        size: int | None = None,
        sha256: str | None = None,
        message: str | None = None,
        scope: str | None = None,
        precondition: Precondition = NO_PRECONDITION,
        dry_run: bool = False,
    ) -> UploadTicket:
        """Ask for leave to upload. With ``size`` (bytes) and ``sha256`` it binds those bytes."""
        call = requests.create_upload(name, size, sha256, message, scope, precondition, dry_run)
        return reading.read_ticket(self._call(call))

    def send_upload(
        self, ticket: UploadTicket, data: bytes, progress: Progress | None = None
    ) -> None:
        """Send the archive straight to the store, without any credential of the registry.

        Args:
            ticket: The leave.
            data: The archive.
            progress: Called with the bytes sent and the bytes in all.

        Raises:
            TransferFailed: The store refused.
        """
        response = self._take(
            self._transferring(lambda: transfers.upload_request(ticket, data, progress))
        )
        transfers.check_upload(ticket, response)

    def complete(self, upload_id: str) -> Published:
        """Publish an upload now. Repeating it returns the same version."""
        return reading.read_published(self._call(requests.complete(upload_id)))

    def upload_state(self, upload_id: str) -> UploadState:
        """Return what became of an upload."""
        return reading.read_upload_state(self._call(requests.upload_state(upload_id)))

    def publish(
        self,
        name: str,
        data: bytes,
        *,
        message: str | None = None,
        scope: str | None = None,
        precondition: Precondition = NO_PRECONDITION,
        progress: Progress | None = None,
    ) -> Published:
        """Ticket, upload and completion in one: publish an archive exactly once."""
        ticket = self.create_upload(
            name,
            size=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
            message=message,
            scope=scope,
            precondition=precondition,
        )
        self.send_upload(ticket, data, progress)
        return self.complete(ticket.upload_id)

    def publish_inline(
        self,
        name: str,
        skill: bytes | Mapping[str, str],
        *,
        message: str | None = None,
        scope: str | None = None,
        precondition: Precondition = NO_PRECONDITION,
        key: str | None = None,
    ) -> Published:
        """Publish a small skill (at most 4 MiB) in one request, exactly once.

        Args:
            name: The skill.
            skill: A zip archive, or text files by their paths.
            message: Why.
            scope: Where to; without it the caller's default scope.
            precondition: What must hold.
            key: The idempotency key, for a caller that may repeat the whole call; else a new one.
        """
        key = key or uuid.uuid4().hex
        call = requests.publish_inline(name, skill, key, message, scope, precondition)
        return reading.read_published(self._call(call))

    def validate_upload(
        self,
        name: str,
        data: bytes,
        *,
        scope: str | None = None,
        precondition: Precondition = NO_PRECONDITION,
        progress: Progress | None = None,
    ) -> Validation:
        """Return the diagnostics that a publish of an archive would have, however large it is.

        It is uploaded, looked at, and dropped after a day. The caller may write to the scope.
        """
        ticket = self.create_upload(
            name,
            size=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
            scope=scope,
            precondition=precondition,
            dry_run=True,
        )
        self.send_upload(ticket, data, progress)
        return reading.read_validation(self._call(requests.complete(ticket.upload_id)))

    def validate(self, skill: bytes | Mapping[str, str], name: str | None = None) -> Validation:
        """Return the diagnostics that a publish would have; nothing is stored. At most 4 MiB."""
        return reading.read_validation(self._call(requests.validate(name, skill)))
