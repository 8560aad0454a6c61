"""Bytes to and from the object store, past the registry: requests as values, and their answers.

A presigned URL is a credential. It is shown in no message, and ``hide_signatures`` keeps it out of
the HTTP library's own log lines.
"""

from __future__ import annotations

import io
import logging
import re
from typing import TYPE_CHECKING

import httpx

from skill_registry.agent.problems import AnswerInvalid, TransferFailed
from skill_registry.agent.requests import http_url

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from skill_registry.agent.answers import Bundle, UploadTicket

    # Called with the bytes sent so far and the bytes in all; a retry starts again from 0.
    Progress = Callable[[int, int], None]

CHUNK = 64 * 1024
# A URL ends with the credentials that signed it; for these S3 answers 400 and not 403.
_TOKEN_EXPIRED = "ExpiredToken"
_STORE_CODE = re.compile(rb"<Code>([A-Za-z0-9.]{1,64})</Code>")


def upload_request(ticket: UploadTicket, data: bytes, progress: Progress | None) -> httpx.Request:
    """Build the upload that a ticket allows: its headers or its form fields, and nothing else.

    Raises:
        TransferFailed: The archive is larger than the ticket allows.
        AnswerInvalid: The ticket's URL is none.
    """
    if ticket.max_size is not None and len(data) > ticket.max_size:
        raise TransferFailed(
            f"The archive is {len(data)} bytes long; the registry takes {ticket.max_size}."
        )
    url = _store_url(ticket.url)
    if ticket.method == "POST":
        # S3 reads no field behind the file, so it comes last. Source: AWS S3 API, "POST Object".
        file = ("skill.zip", _MeteredFile(data, progress), "application/zip")
        return httpx.Request("POST", url, data=dict(ticket.fields), files={"file": file})
    headers = httpx.Headers(dict(ticket.headers))
    # S3 takes no chunked body, so the length must stand there before the first byte.
    headers.setdefault("Content-Length", str(len(data)))
    request = httpx.Request("PUT", url, headers=headers)
    request.stream = _MeteredStream(data, progress)
    return request


def check_upload(ticket: UploadTicket, response: httpx.Response) -> None:
    """Return when the store holds the bytes.

    Raises:
        TransferFailed: The store refused them.
    """
    # A single-use PUT is bound to these very bytes: 412 says that an earlier attempt stored them.
    if response.is_success or (ticket.method == "PUT" and response.status_code == 412):
        return
    raise _refused(response, "upload")


def bundle_request(bundle: Bundle) -> httpx.Request:
    """Build the download of a bundle."""
    return httpx.Request("GET", _store_url(bundle.url))


def check_download(response: httpx.Response) -> bytes:
    """Return the bytes that the store served.

    Raises:
        TransferFailed: The store refused.
    """
    if not response.is_success:
        raise _refused(response, "download")
    return response.content


def hide_signatures() -> None:
    """Keep the query of signed URLs out of httpx's log lines, in this process, from now on."""
    logging.getLogger("httpx").addFilter(_SIGNATURES)


def _refused(response: httpx.Response, noun: str) -> TransferFailed:
    found = _STORE_CODE.search(response.content[:4096])
    reason = found[1].decode() if found else ""
    told, hint = f" ({reason})" if reason else "", ""
    expired = response.status_code in {401, 403} or reason == _TOKEN_EXPIRED
    if expired:
        hint = " The leave for it may have expired: start again, and check this machine's clock."
    return TransferFailed(
        f"The object store refused the {noun} with {response.status_code}{told}.{hint}",
        status=response.status_code,
        passing=expired or response.status_code == 404,
    )


def _store_url(url: str) -> httpx.URL:
    parsed = http_url(url)
    if parsed is None:
        raise AnswerInvalid("The registry named a place in the object store that is no URL.")
    return parsed


class _MeteredStream(httpx.SyncByteStream, httpx.AsyncByteStream):
    """Yields bytes in chunks and tells how many went out, to a sync and to an async client."""

    def __init__(self, data: bytes, progress: Progress | None) -> None:
        self._data = data
        self._progress = progress

    def __iter__(self) -> Iterator[bytes]:
        total = len(self._data)
        for start in range(0, total, CHUNK):
            yield self._data[start : start + CHUNK]
            # After the yield: the client comes back for more once it sent what it had.
            if self._progress is not None:
                self._progress(min(start + CHUNK, total), total)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self:
            yield chunk


class _MeteredFile(io.BytesIO):
    """The same for a form, whose encoder reads a file."""

    def __init__(self, data: bytes, progress: Progress | None) -> None:
        super().__init__(data)
        self._total = len(data)
        self._progress = progress

    def read(self, size: int | None = -1, /) -> bytes:
        chunk = super().read(size)
        if self._progress is not None:
            self._progress(self.tell(), self._total)
        return chunk


class _SignatureFilter(logging.Filter):
    """Drops the query of every URL that carries a signature; it lets all records pass."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                arg.copy_with(query=None)
                if isinstance(arg, httpx.URL) and b"signature" in arg.query.lower()
                else arg
                for arg in record.args
            )
        return True


_SIGNATURES = _SignatureFilter()
