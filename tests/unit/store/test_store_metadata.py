"""User metadata: ASCII on the wire, exact text on both sides of it, bounded."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from skill_registry.errors import RequestInvalid
from skill_registry.store import metadata
from skill_registry.store.limits import METADATA_BYTES

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)


@given(ANY_TEXT)
def test_any_text_comes_back_exactly(text: str) -> None:
    assume(metadata.encoded_size({"k": text}) <= METADATA_BYTES)
    encoded = metadata.encode({"k": text})
    assert encoded["k"].isascii() and encoded["k"].isprintable() and " " not in encoded["k"]
    assert metadata.decode(encoded) == {"k": text}


def test_plain_values_are_readable_in_the_console() -> None:
    plain = {"write-id": "0" * 32, "created": "2026-11-30T17:05:00Z", "skill": "system/pdf-tools"}
    assert metadata.encode(plain) == plain


def test_percent_itself_is_encoded() -> None:
    assert metadata.encode({"k": "100% %41"}) == {"k": "100%25%20%2541"}


@pytest.mark.parametrize("value", ["100% sure", "50%", "%FF", "%zz", "naïve"])
def test_a_value_of_another_program_that_is_no_encoding_stays(value: str) -> None:
    assert metadata.decode({"K": value}) == {"k": value}


def test_the_size_counts_keys_and_encoded_values() -> None:
    assert metadata.encoded_size({"ab": "é", "c": "x y"}) == 2 + 6 + 1 + 5


def test_exactly_two_kilobytes_fit() -> None:
    assert metadata.encode({"kk": "v" * 2046})
    with pytest.raises(RequestInvalid, match="2049 bytes"):
        metadata.encode({"kk": "v" * 2047})


def test_headers_carry_the_prefix_of_s3() -> None:
    assert metadata.headers({"write-id": "1"}) == {"x-amz-meta-write-id": "1"}
