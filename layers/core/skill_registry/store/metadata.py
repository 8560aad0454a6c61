"""User metadata as S3 carries it: header values, so ASCII only, and 2 KB together.

Values are percent-encoded, ``%`` and every other character that a header or a signature may
alter included. What comes back is exactly the text that went in, for any text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes

from skill_registry.errors import RequestInvalid
from skill_registry.store.limits import METADATA_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "x-amz-meta-"

_KEY = re.compile(r"[a-z0-9][a-z0-9_-]*")
# Space is not among them: proxies trim it and SigV4 folds runs of it.
_PLAIN = "!$&'()*+,/:;=@"


def encode(metadata: Mapping[str, str]) -> dict[str, str]:
    """Return metadata fit for headers and form fields.

    Shortening a text that does not fit is the caller's job: only it knows which one may lose its
    end. ``encoded_size`` measures.

    Raises:
        RequestInvalid: ``metadata_invalid``, a key is not lower-case ASCII of a header name;
            ``metadata_too_large``, keys and encoded values exceed 2,048 bytes together.
    """
    for key in metadata:
        if not _KEY.fullmatch(key):
            raise RequestInvalid(
                f"Metadata key {key!r} is not made of a-z, 0-9, '-' and '_'.",
                code="metadata_invalid",
            )
    encoded = {key: _encode_value(value) for key, value in metadata.items()}
    size = sum(len(key) + len(value) for key, value in encoded.items())
    if size > METADATA_BYTES:
        raise RequestInvalid(
            f"The metadata takes {size} bytes once encoded; shorten it to {METADATA_BYTES}.",
            code="metadata_too_large",
        )
    return encoded


def encoded_size(metadata: Mapping[str, str]) -> int:
    """Measure what metadata counts against the limit of 2,048 bytes."""
    return sum(len(key) + len(_encode_value(value)) for key, value in metadata.items())


def decode(headers: Mapping[str, str]) -> dict[str, str]:
    """Read metadata back. A value that another program wrote and that is no encoding stays."""
    return {key.lower(): _decode_value(value) for key, value in headers.items()}


def headers(metadata: Mapping[str, str]) -> dict[str, str]:
    """Return metadata as the headers or form fields that a client sends with an upload.

    Raises:
        RequestInvalid: As ``encode``.
    """
    return {PREFIX + key: value for key, value in encode(metadata).items()}


def _encode_value(value: str) -> str:
    # A JSON body may carry a lone surrogate; it must not make a publish fail.
    return quote(value, safe=_PLAIN, errors="surrogatepass")


def _decode_value(value: str) -> str:
    try:
        return unquote_to_bytes(value).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return value
